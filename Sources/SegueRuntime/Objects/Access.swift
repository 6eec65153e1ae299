// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueModel
import SegueSystem
import SegueTransport

/// An open file of a container (R5.4). Its descriptor is closed when the access ends.
public final class Access: HandleObject {
  private let lock = Lock()
  private var file: Int32

  private init(_ file: Int32) { self.file = file }

  /// Opens the file of a URL. Blocks as long as the file system does; holds no lock meanwhile. Throws INVALID_URL,
  /// INVALID_STATE, NOT_FOUND, NOT_THERE_YET, NOT_ALLOWED, SYSTEM.
  public convenience init(_ activity: LiveActivity, _ url: String, forWriting: Bool) throws(SegueError) {
    guard let app = activity.app else {
      throw SegueError(.invalidState, "activity: was made without an app, so it has no containers")
    }
    let place = try app.currentContainers.requirePlace(of: url)
    self.init(
      try ContainerFolder.open(
        place.path, beneath: place.container.realFolder ?? place.container.folder, forWriting: forWriting))
  }

  /// Throws INVALID_STATE once the access has ended.
  public func descriptor() throws(SegueError) -> Int32 {
    let file = lock.withLock { self.file }
    guard file >= 0 else { throw SegueError(.invalidState, "access: has ended") }
    return file
  }

  /// Closes the descriptor; a second call has no effect.
  public func end() {
    let file = lock.withLock {
      defer { self.file = -1 }
      return self.file
    }
    if file >= 0 { ContainerFolder.close(file) }
  }

  public override func lastHandleReleased() { end() }

  deinit { end() }
}
