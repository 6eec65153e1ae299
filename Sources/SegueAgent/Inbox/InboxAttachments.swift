import SegueEngine
import SegueModel
import SegueRuntime
import SegueStore
import SegueTransport
import SegueWire

/// The attachments of what waits: fetched from origins for the inbox, and read from there for the apps that fetch them
/// (R3.8, R7.6). On the way they are in files without names in the state folder. For the loop.
final class InboxAttachments {
  /// Continuations whose attachments are fetched at a time, one after the other; others wait. A process that slow
  /// origins keep waiting has a quarter of them.
  private static let collectionLimit = 8
  /// The most attachments that are sent at a time, and a quarter of it to one app.
  private static let uploadLimit = 32

  /// The attachments of a continuation.
  private struct Collection {
    let continuation: Identifier
    /// Of the process that wants it continued; nil: it is not counted.
    let account: Account?
    /// Those that were not begun.
    var rest: [Attachment]
    var found: [Attachment] = []
    var download: InboxDownload?
  }

  /// An attachment of what waits.
  private struct Key {
    let continuation: Identifier
    let name: String

    func isSame(as other: Key) -> Bool {
      continuation == other.continuation && Text.isSame(name, other.name)
    }
  }

  private struct Upload {
    let key: Key
    let app: Identifier
    let file: SourceFile
    let upload: AttachmentUpload
  }

  private struct Reading {
    let key: Key
    var requests: [(request: StreamRequest, socket: Int32)]
  }

  private let folder: String
  private let thread: InboxThread
  private let loop: Loop
  private let perform: ((AgentEngine, Instant) -> Void) -> Void
  private var collections: [Collection] = []
  /// The streams that origins have not answered.
  private var asked: [(id: Identifier, download: InboxDownload)] = []
  private var uploads: [Upload] = []
  /// What apps fetch that is read from the disk, each once for all that want it.
  private var readings: [Reading] = []
  private var isOpen = true

  /// - Parameter perform: calls the engine.
  init(
    in folder: String, _ thread: InboxThread, on loop: Loop,
    _ perform: @escaping ((AgentEngine, Instant) -> Void) -> Void
  ) {
    self.folder = folder
    self.thread = thread
    self.loop = loop
    self.perform = perform
  }

  /// Ends all transfers.
  func close() {
    isOpen = false
    for collection in collections {
      collection.download?.stop(SegueError(.cancelled, "the agent ends"))
      collection.download?.join()
    }
    collections = []
    asked = []
    for upload in uploads { upload.upload.stop() }
    for upload in uploads { upload.upload.join() }
    uploads = []
    for reading in readings {
      for (_, socket) in reading.requests { Descriptors.closeUntrusted(socket) }
    }
    readings = []
  }

  // MARK: Fetching

  func collect(_ attachments: [Attachment], of continuation: Identifier, for account: Account?) {
    collections.append(Collection(continuation: continuation, account: account, rest: attachments))
    loop.post { [self] in beginNext() }
  }

  func stop(_ continuation: Identifier) {
    guard let index = index(of: continuation) else { return }
    collections[index].rest = []
    collections[index].download?.stop(SegueError(.remoteApplicationTimedOut, "the time is up"))
    loop.post { [self] in beginNext() }
  }

  /// Begins the next download of each continuation, and ends those of which nothing is left to do.
  private func beginNext() {
    guard isOpen else { return }
    while let index = collections.firstIndex(where: { $0.download == nil && $0.rest.isEmpty }) {
      let collection = collections.remove(at: index)
      perform { engine, _ in engine.collected(collection.continuation, collection.found) }
    }
    for index in collections.indices where collections[index].download == nil && hasRoom(for: collections[index]) {
      begin(collections[index].rest.removeFirst(), at: index)
    }
    if collections.contains(where: { $0.download == nil && $0.rest.isEmpty }) { loop.post { [self] in beginNext() } }
  }

  private func hasRoom(for collection: Collection) -> Bool {
    let running = collections.filter { $0.download != nil }
    guard running.count < Self.collectionLimit else { return false }
    guard let account = collection.account else { return true }
    return running.count { $0.account == account } < Self.collectionLimit / Account.share
  }

  private func begin(_ attachment: Attachment, at index: Int) {
    do throws(SegueError) {
      let download = try InboxDownload(
        attachment, in: folder, on: loop,
        ask: { [self] download, part, otherEnd, timeout in
          ask(download, part, otherEnd: otherEnd, timeout: timeout)
        },
        ended: { [self] download, error in ended(download, error) })
      try download.start()
      collections[index].download = download
    } catch {
      Log.write(.error, "\(attachment.name) stays with its origin: \(error.message)")
      collections[index].rest = []
    }
  }

  private func ask(_ download: InboxDownload, _ part: Message.AttachmentPart, otherEnd: OwnedDescriptor, timeout: Int64)
  {
    guard isOpen, let index = collections.firstIndex(where: { $0.download === download }) else { return }
    let continuation = collections[index].continuation
    do throws(SegueError) {
      let id = try Randomness.identifier()
      asked.append((id, download))
      perform { $0.ask(id, of: continuation, part, otherEnd: otherEnd, timeout: timeout, $1) }
    } catch {
      download.answered(error)
    }
  }

  func answered(_ id: Identifier, _ error: SegueError?) {
    guard let index = asked.firstIndex(where: { $0.id == id }) else { return }
    asked.remove(at: index).download.answered(error)
  }

  private func ended(_ download: InboxDownload, _ error: SegueError?) {
    download.join()
    asked.removeAll { $0.download === download }
    guard let index = collections.firstIndex(where: { $0.download === download }) else { return }
    collections[index].download = nil
    if let whole = download.whole, error == nil {
      collections[index].found.append(whole)
    } else if let error {
      Log.write(.info, "\(download.attachment.name) stays with its origin: \(error.message)")
      // It is gone: the others would be waited for in vain.
      if error.status == .connectionUnavailable { collections[index].rest = [] }
    }
    beginNext()
  }

  private func index(of continuation: Identifier) -> Int? {
    collections.firstIndex { $0.continuation == continuation }
  }

  // MARK: Sending

  /// An app fetches an attachment of what it gets.
  func serve(_ request: StreamRequest) {
    guard let part = request.attachment else { return }
    let fd = request.descriptor.owned.take()
    while let index = uploads.firstIndex(where: { $0.upload.hasEnded }) { uploads.remove(at: index).upload.join() }
    let key = Key(continuation: request.continuationID.ofDelivery, name: part.name)
    guard StreamSocket(fd) != nil, hasRoom(for: request.app) else {
      Descriptors.closeUntrusted(fd)
      return answer(request, SegueError(.limitExceeded, "the agent sends as many attachments as it may"))
    }
    if let upload = uploads.first(where: { $0.key.isSame(as: key) }) {
      return send(upload.file, key, to: fd, request)
    }
    if let index = readings.firstIndex(where: { $0.key.isSame(as: key) }) {
      return readings[index].requests.append((request, fd))
    }
    readings.append(Reading(key: key, requests: [(request, fd)]))
    let folder = folder
    thread.use(on: loop) { inbox throws(SegueError) in
      try Self.file(with: key.name, of: key.continuation, inbox, in: folder)
    } _: { [self] result in
      guard let index = readings.firstIndex(where: { $0.key.isSame(as: key) }) else { return }
      for (request, fd) in readings.remove(at: index).requests {
        switch result {
        case .success(let file): send(file, key, to: fd, request)
        case .failure(let error):
          Descriptors.closeUntrusted(fd)
          answer(request, error)
        }
      }
    }
  }

  private func hasRoom(for app: Identifier) -> Bool {
    let waiting = readings.flatMap { $0.requests }
    let used = uploads.count { $0.app == app } + waiting.count { $0.request.app == app }
    return uploads.count + waiting.count < Self.uploadLimit && used < Self.uploadLimit / Account.share
  }

  /// Writes a stored attachment to a file. On the inbox's thread. Throws NOT_FOUND, SYSTEM.
  private static func file(
    with name: String, of continuation: Identifier, _ inbox: Inbox, in folder: String
  ) throws(SegueError) -> SourceFile {
    let stored = try inbox.entry(continuation)?.payload.attachments.first { Text.isSame($0.name, name) }
    guard let stored else { throw SegueError(.notFound, "attachment \(name): what has waited has none of that name") }
    let file = try TargetFile.unnamed(in: folder)
    try file.begin()
    try inbox.copy(stored, to: file.descriptor)
    try file.finish()
    guard let source = file.source else { throw SegueError(.system, "attachment \(name): cannot be read again") }
    return source
  }

  private func send(_ file: SourceFile, _ key: Key, to fd: Int32, _ request: StreamRequest) {
    let upload = AttachmentUpload(
      file, from: request.attachment?.offset ?? 0, to: fd, of: request.account, crossesLink: request.crossesLink,
      patience: Limits().transferResume)
    answer(request, nil)
    do throws(SegueError) {
      try upload.start()
      uploads.append(Upload(key: key, app: request.app, file: file, upload: upload))
    } catch {
      // The app sees a broken stream, and retries.
      Log.write(.error, "\(error.message)")
    }
  }

  private func answer(_ request: StreamRequest, _ error: SegueError?) {
    loop.post { [self] in perform { engine, _ in engine.answer(request, error) } }
  }
}
