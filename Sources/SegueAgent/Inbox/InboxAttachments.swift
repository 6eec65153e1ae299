import SegueApp
import SegueEngine
import SegueAgentCore
import SegueModel
import SegueRuntime
import SegueStore
import SegueSystem
import SegueTransport
import SegueWire

/// The attachments of what waits, and of what apps have left: fetched from origins, or copied, for the inbox, and read
/// from there for those that fetch them (R2.5, R3.8, R7.6). On the way they are in files without names in the state
/// folder. For the loop.
final class InboxAttachments: InboxTransfers {
  /// Continuations whose attachments are fetched at a time, one after the other; others wait. A process that slow
  /// origins keep waiting has a quarter of them.
  private static let collectionLimit = 8
  /// The most attachments that are sent at a time, and a quarter of it to one app, or to one principal.
  private static let uploadLimit = 32

  /// The attachments of a continuation, or of what an app has left.
  private struct Collection {
    let continuation: Identifier
    /// The principal of the process that wants it continued, or has left it; nil: it is not counted.
    let principal: Identifier?
    /// Whether the files were handed over.
    let isCopied: Bool
    /// Those that were not begun.
    var rest: [Attachment]
    var found: [Attachment] = []
    var download: InboxDownload?
  }

  /// An attachment of what waits, or of what an app has left.
  private struct Key {
    /// The continuation, or who offers what was left, which differs for each state of it.
    let id: Identifier
    /// The activity of what was left.
    let kept: Identifier?
    let name: String

    func isSame(as other: Key) -> Bool { id == other.id && Text.isSame(name, other.name) }
  }

  /// The request of an app for an attachment, with the socket on which it gets the bytes.
  private struct Fetch {
    let request: StreamRequest
    let socket: Int32
    /// The participant that offers what an app has left; nil: the attachment is of what waits.
    let offer: KeptParticipant?
  }

  private struct Upload {
    let key: Key
    let principal: Identifier
    let file: SourceFile
    let upload: AttachmentUpload
  }

  private struct Reading {
    let key: Key
    var fetches: [Fetch]
  }

  private let folder: String
  private let thread: InboxThread
  private let loop: Loop
  private let perform: ((AgentEngine, Instant) -> Void) -> Void
  private let performKept: (KeptParticipant, () -> Void) -> Void
  private var collections: [Collection] = []
  /// The streams that origins have not answered.
  private var asked: [(id: Identifier, download: InboxDownload)] = []
  private var uploads: [Upload] = []
  /// The attachments that are read from the disk for apps, each once for all that fetch it.
  private var readings: [Reading] = []
  private var isOpen = true

  /// - Parameters:
  ///   - perform: calls the engine.
  ///   - performKept: calls what is offered for an app that has gone, while it is.
  init(
    in folder: String, _ thread: InboxThread, on loop: Loop,
    _ perform: @escaping ((AgentEngine, Instant) -> Void) -> Void,
    _ performKept: @escaping (KeptParticipant, () -> Void) -> Void
  ) {
    self.folder = folder
    self.thread = thread
    self.loop = loop
    self.perform = perform
    self.performKept = performKept
  }

  /// Ends all transfers. Attachments of what apps have left are handed over if they have been copied.
  func close() {
    isOpen = false
    for collection in collections { collection.download?.stop(SegueError(.cancelled, "the agent ends")) }
    for collection in collections {
      collection.download?.join()
      guard collection.isCopied else { continue }
      let last = collection.download?.whole
      perform { $0.collected(collection.continuation, collection.found + (last.map { [$0] } ?? []), $1) }
    }
    collections = []
    asked = []
    for upload in uploads { upload.upload.stop() }
    let deadline = Clock.uptime + AttachmentUpload.joinTime
    for upload in uploads { upload.upload.join(until: deadline) }
    uploads = []
    for reading in readings {
      for fetch in reading.fetches { Descriptors.closeUntrusted(fetch.socket) }
    }
    readings = []
  }

  // MARK: Fetching

  func collect(_ attachments: [Attachment], of continuation: Identifier, for principal: Identifier?) {
    let isCopied = attachments.contains { $0.source != nil }
    collections.append(
      Collection(continuation: continuation, principal: principal, isCopied: isCopied, rest: attachments))
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
      perform { $0.collected(collection.continuation, collection.found, $1) }
    }
    for index in collections.indices where collections[index].download == nil && hasRoom(for: collections[index]) {
      begin(collections[index].rest.removeFirst(), at: index)
    }
    if collections.contains(where: { $0.download == nil && $0.rest.isEmpty }) { loop.post { [self] in beginNext() } }
  }

  private func hasRoom(for collection: Collection) -> Bool {
    let running = collections.filter { $0.download != nil }
    guard running.count < Self.collectionLimit else { return false }
    guard let principal = collection.principal else { return true }
    return running.count { $0.principal == principal } < Self.collectionLimit / Principal.share
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
      logLoss(of: attachment, .error, error)
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
      logLoss(of: download.attachment, .info, error)
      // It is gone: the others would be waited for in vain.
      if error.status == .connectionUnavailable { collections[index].rest = [] }
    }
    beginNext()
  }

  private func logLoss(of attachment: Attachment, _ severity: Severity, _ error: SegueError) {
    guard attachment.source == nil else {
      // The engine logs it, as often as it may for one app.
      return Log.write(.debug, "\(attachment.name) is not kept: \(error.message)")
    }
    Log.write(severity, "\(attachment.name) stays with its origin: \(error.message)")
  }

  private func index(of continuation: Identifier) -> Int? {
    collections.firstIndex { $0.continuation == continuation }
  }

  // MARK: Sending

  /// An app fetches an attachment of what it gets, or of what is offered for an app that has gone.
  func serve(_ request: StreamRequest, of offer: KeptParticipant?) {
    guard let part = request.attachment else { return }
    let fetch = Fetch(request: request, socket: request.descriptor.owned.take(), offer: offer)
    let id = offer?.engine.identity.id ?? request.continuationID.ofDelivery
    let key = Key(id: id, kept: offer?.activity, name: part.name)
    guard StreamSocket(fetch.socket) != nil else {
      return refuse(fetch, SegueError(.invalidArgument, "attachment: the descriptor is no stream socket"))
    }
    guard hasRoom(for: request.principal) else {
      return refuse(fetch, SegueError(.limitExceeded, "the agent sends as many attachments as it may"))
    }
    if let upload = uploads.first(where: { $0.key.isSame(as: key) }) { return send(upload.file, key, to: fetch) }
    if let index = readings.firstIndex(where: { $0.key.isSame(as: key) }) {
      return readings[index].fetches.append(fetch)
    }
    readings.append(Reading(key: key, fetches: [fetch]))
    let folder = folder
    thread.use(on: loop) { inbox throws(SegueError) in
      try Self.file(of: key, inbox, in: folder)
    } _: { [self] result in
      guard let index = readings.firstIndex(where: { $0.key.isSame(as: key) }) else { return }
      for fetch in readings.remove(at: index).fetches {
        switch result {
        case .success(let file): send(file, key, to: fetch)
        case .failure(let error): refuse(fetch, error)
        }
      }
    }
  }

  private func hasRoom(for principal: Identifier) -> Bool {
    let waiting = readings.flatMap { $0.fetches }
    let used = uploads.count { $0.principal == principal } + waiting.count { $0.request.principal == principal }
    return uploads.count + waiting.count < Self.uploadLimit && used < Self.uploadLimit / Principal.share
  }

  /// Writes a stored attachment to a file. On the inbox's thread. Throws NOT_FOUND, SYSTEM.
  private static func file(of key: Key, _ inbox: Inbox, in folder: String) throws(SegueError) -> SourceFile {
    let payload: StoredPayload?
    if let activity = key.kept {
      payload = try inbox.keptOffer(activity)?.payload
    } else {
      payload = try inbox.entry(key.id)?.payload
    }
    let stored = payload?.attachments.first { Text.isSame($0.name, key.name) }
    guard let stored else { throw SegueError(.notFound, "attachment \(key.name): the agent has none of that name") }
    let file = try TargetFile.unnamed(in: folder)
    try file.begin()
    try inbox.copy(stored, to: file.descriptor)
    try file.finish()
    guard let source = file.source else { throw SegueError(.system, "attachment \(key.name): cannot be read again") }
    return source
  }

  private func send(_ file: SourceFile, _ key: Key, to fetch: Fetch) {
    let request = fetch.request
    let upload = AttachmentUpload(
      file, from: request.attachment?.offset ?? 0, to: fetch.socket, of: request.principal,
      crossesLink: request.crossesLink, patience: Limits().transferResume,
      ended: { [self] in loop.post { [self] in removeEnded() } })
    answer(fetch, nil)
    do throws(SegueError) {
      try upload.start()
      uploads.append(Upload(key: key, principal: request.principal, file: file, upload: upload))
    } catch {
      // The app sees a broken stream, and retries.
      Log.write(.error, "\(error.message)")
    }
  }

  /// Lets go of the files of uploads that have ended.
  private func removeEnded() {
    while let index = uploads.firstIndex(where: { $0.upload.hasEnded }) { uploads.remove(at: index).upload.join() }
  }

  private func refuse(_ fetch: Fetch, _ error: SegueError) {
    Descriptors.closeUntrusted(fetch.socket)
    answer(fetch, error)
  }

  private func answer(_ fetch: Fetch, _ error: SegueError?) {
    loop.post { [self] in
      guard let offer = fetch.offer else { return perform { engine, _ in engine.answer(fetch.request, error) } }
      performKept(offer) { offer.answer(fetch.request, error) }
    }
  }
}
