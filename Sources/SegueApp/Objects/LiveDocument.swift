// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// A file that the user has open (R5.1). It has a responder, which ends with it.
open class LiveDocument: HandleObject {
  public let responder: LiveResponder
  /// Content type and role, as `AppSettings.addDocumentType` has them.
  let typeAndRole: String
  /// Guards a change of its place. Comes before the locks of the app and of its activities.
  let moveLock = Lock()

  // Guarded by the app's lock.
  var url: String
  /// The URL of the file's real path, looked up when the document was created or moved; nil if there was none.
  var realURL: String?
  var isClosed = false
  /// In the order in which they began.
  var observers: [DocumentObserver] = []
  /// The title that it has given to its activity: the name of its file.
  var title: String?
  /// The continuation whose activity it has, unless another document is handed over.
  var awaitedOpening: Identifier?
  /// The activity that it let go when it left its container.
  var leftActivity: Identifier?

  public var app: App { responder.app }

  public init(_ responder: LiveResponder, _ url: String, _ typeAndRole: String) {
    self.responder = responder
    self.url = url
    self.typeAndRole = typeAndRole
    responder.isOfDocument = true
  }

  /// Throws INVALID_URL unless it is the URL of a file.
  public static func check(_ url: String) throws(SegueError) {
    try Text.check(url, "url", atMost: Limits.url)
    guard AbsoluteURL(url) != nil, AbsoluteURL.isFile(Text.bytes(url)) else {
      throw SegueError(.invalidURL, "url: must be an absolute file: URL (RFC 8089)")
    }
    if AbsoluteURL.isFileWithMore(url) { throw SegueError(.invalidURL, "url: \(AbsoluteURL.more)") }
  }

  /// Ends the observation, with the app's lock.
  final func endObservation(_ released: ReleasedObjects) {
    for observer in observers {
      released.add(observer)
      if let told = observer.told.take() { released.add(told) }
    }
    observers = []
  }

  public override func lastHandleReleased() { app.close(self) }
}
