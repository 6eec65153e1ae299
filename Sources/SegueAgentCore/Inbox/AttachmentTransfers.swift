// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The attachments of what waits, and of what apps have left: fetched from origins, or copied, for the inbox, and read
/// from there for those that fetch them (R2.5, R3.8, R7.6). No I/O: an `AttachmentMover` moves the bytes. For one
/// thread.
final class AttachmentTransfers {
  /// Continuations whose attachments are fetched at a time, one after the other; others wait. A process that slow
  /// origins keep waiting has a quarter of them.
  private static let collectionLimit = 8
  /// The most attachments that are sent at a time, and a quarter of it to one app, or to one principal.
  private static let uploadLimit = 32
  /// Milliseconds to wait for the end of uploads when the agent ends.
  private static let closingTime: Int64 = 2_000

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
    var download: (number: UInt64, handle: any AttachmentDownloadHandle)?
  }

  /// The request of an app for an attachment.
  private struct Fetch {
    let request: StreamRequest
    /// The participant that offers what an app has left; nil: the attachment is of what waits.
    let offer: KeptParticipant?
  }

  private struct Upload {
    let number: UInt64
    let key: StoredAttachmentKey
    let principal: Identifier
    let source: AttachmentSource
    let handle: any AttachmentUploadHandle
  }

  private struct Reading {
    let key: StoredAttachmentKey
    var fetches: [Fetch]
  }

  private let environment: any AgentEnvironment
  private let mover: any AttachmentMover
  private let perform: ((AgentEngine, Instant) -> Void) -> Void
  private let performKept: (KeptParticipant, () -> Void) -> Void
  private var collections: [Collection] = []
  /// The streams that origins have not answered, with the numbers of their downloads.
  private var asked: [(id: Identifier, download: UInt64)] = []
  private var uploads: [Upload] = []
  /// The attachments that are read from the disk for apps, each once for all that fetch it.
  private var readings: [Reading] = []
  private var lastNumber: UInt64 = 0
  private var isOpen = true

  /// - Parameters:
  ///   - perform: calls the engine.
  ///   - performKept: calls what is offered for an app that has gone, while it is.
  init(
    in environment: any AgentEnvironment, _ mover: any AttachmentMover,
    _ perform: @escaping ((AgentEngine, Instant) -> Void) -> Void,
    _ performKept: @escaping (KeptParticipant, () -> Void) -> Void
  ) {
    self.environment = environment
    self.mover = mover
    self.perform = perform
    self.performKept = performKept
  }

  /// Ends all transfers. Attachments of what apps have left are handed over if they have been copied.
  func close() {
    isOpen = false
    for collection in collections { collection.download?.handle.stop(SegueError(.cancelled, "the agent ends")) }
    for collection in collections {
      collection.download?.handle.join()
      guard collection.isCopied else { continue }
      let last = collection.download?.handle.whole
      perform { $0.collected(collection.continuation, collection.found + (last.map { [$0] } ?? []), $1) }
    }
    collections = []
    asked = []
    for upload in uploads { upload.handle.stop() }
    let deadline = environment.uptime + Self.closingTime
    for upload in uploads { upload.handle.join(until: deadline) }
    uploads = []
    for fetch in readings.flatMap({ $0.fetches }) { mover.drop(fetch.request) }
    readings = []
  }

  // MARK: Fetching

  /// Collects attachments for a continuation, or for what an app has left; `AgentEngine.collected` follows.
  /// - Parameter principal: the one that is charged; nil: it is not counted.
  func collect(_ attachments: [Attachment], of continuation: Identifier, for principal: Identifier?) {
    let isCopied = attachments.contains { $0.source != nil }
    collections.append(
      Collection(continuation: continuation, principal: principal, isCopied: isCopied, rest: attachments))
    environment.post { [self] in beginNext() }
  }

  func stop(_ continuation: Identifier) {
    guard let index = collections.firstIndex(where: { $0.continuation == continuation }) else { return }
    collections[index].rest = []
    collections[index].download?.handle.stop(SegueError(.remoteApplicationTimedOut, "the time is up"))
    environment.post { [self] in beginNext() }
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
    if collections.contains(where: { $0.download == nil && $0.rest.isEmpty }) {
      environment.post { [self] in beginNext() }
    }
  }

  private func hasRoom(for collection: Collection) -> Bool {
    let running = collections.filter { $0.download != nil }
    guard running.count < Self.collectionLimit else { return false }
    guard let principal = collection.principal else { return true }
    return running.count { $0.principal == principal } < Self.collectionLimit / Principal.share
  }

  private func takeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  private func begin(_ attachment: Attachment, at index: Int) {
    let number = takeNumber()
    do throws(SegueError) {
      let handle = try mover.download(
        attachment,
        ask: { [self] part, otherEnd, timeout in ask(number, part, otherEnd: otherEnd, timeout: timeout) },
        ended: { [self] error in ended(number, attachment, error) })
      collections[index].download = (number, handle)
    } catch {
      logLoss(of: attachment, .error, error)
      collections[index].rest = []
    }
  }

  private func index(ofDownload number: UInt64) -> Int? {
    collections.firstIndex { $0.download?.number == number }
  }

  /// - Returns: the identifier of the stream; nil if nothing is asked.
  private func ask(
    _ number: UInt64, _ part: Message.AttachmentPart, otherEnd: PassedDescriptor, timeout: Int64
  ) -> Identifier? {
    guard isOpen, let index = index(ofDownload: number) else { return nil }
    let continuation = collections[index].continuation
    do throws(SegueError) {
      let id = try environment.drawIdentifier()
      asked.append((id, number))
      perform { $0.ask(id, of: continuation, part, otherEnd: otherEnd, timeout: timeout, $1) }
      return id
    } catch {
      collections[index].download?.handle.answered(error)
      return nil
    }
  }

  /// The origin has answered the question for a stream.
  func answered(_ id: Identifier, _ error: SegueError?) {
    guard let place = asked.firstIndex(where: { $0.id == id }) else { return }
    let number = asked.remove(at: place).download
    guard let index = index(ofDownload: number) else { return }
    collections[index].download?.handle.answered(error)
  }

  private func ended(_ number: UInt64, _ attachment: Attachment, _ error: SegueError?) {
    asked.removeAll { $0.download == number }
    guard let index = index(ofDownload: number), let handle = collections[index].download?.handle else { return }
    handle.join()
    collections[index].download = nil
    if let whole = handle.whole, error == nil {
      collections[index].found.append(whole)
    } else if let error {
      logLoss(of: attachment, .info, error)
      // The origin is gone: the others would be waited for in vain.
      if error.status == .connectionUnavailable { collections[index].rest = [] }
    }
    beginNext()
  }

  private func logLoss(of attachment: Attachment, _ severity: Severity, _ error: SegueError) {
    guard attachment.source == nil else {
      // The engine logs it, as often as it may for one app.
      return environment.log(.debug, "\(attachment.name) is not kept: \(error.message)")
    }
    environment.log(severity, "\(attachment.name) stays with its origin: \(error.message)")
  }

  // MARK: Sending

  /// An app fetches an attachment of what it gets, or of what is offered for an app that has gone.
  func serve(_ request: StreamRequest, of offer: KeptParticipant?) {
    guard let part = request.attachment else { return }
    let fetch = Fetch(request: request, offer: offer)
    let id = offer?.engine.identity.id ?? request.continuationID.ofDelivery
    let key = StoredAttachmentKey(id: id, kept: offer?.activity, name: part.name)
    guard mover.canSend(request) else {
      return refuse(fetch, SegueError(.invalidArgument, "attachment: the descriptor is no stream socket"))
    }
    guard hasRoom(for: request.principal) else {
      return refuse(fetch, SegueError(.limitExceeded, "the agent sends as many attachments as it may"))
    }
    if let upload = uploads.first(where: { $0.key.isSame(as: key) }) { return send(upload.source, key, to: fetch) }
    if let index = readings.firstIndex(where: { $0.key.isSame(as: key) }) {
      return readings[index].fetches.append(fetch)
    }
    // The mover may answer at once.
    readings.append(Reading(key: key, fetches: [fetch]))
    mover.read(key) { [self] result in
      guard let index = readings.firstIndex(where: { $0.key.isSame(as: key) }) else { return }
      for fetch in readings.remove(at: index).fetches {
        switch result {
        case .success(let source): send(source, key, to: fetch)
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

  private func send(_ source: AttachmentSource, _ key: StoredAttachmentKey, to fetch: Fetch) {
    let number = takeNumber()
    answer(fetch, nil)
    do throws(SegueError) {
      let handle = try mover.upload(source, for: fetch.request) { [self] in uploadEnded(number) }
      uploads.append(
        Upload(number: number, key: key, principal: fetch.request.principal, source: source, handle: handle))
    } catch {
      // The app sees a broken stream, and retries.
      environment.log(.error, "\(error.message)")
    }
  }

  /// Lets go of the file of an upload that has ended.
  private func uploadEnded(_ number: UInt64) {
    guard let index = uploads.firstIndex(where: { $0.number == number }) else { return }
    uploads.remove(at: index).handle.join(until: environment.uptime + Self.closingTime)
  }

  private func refuse(_ fetch: Fetch, _ error: SegueError) {
    mover.drop(fetch.request)
    answer(fetch, error)
  }

  private func answer(_ fetch: Fetch, _ error: SegueError?) {
    environment.post { [self] in
      guard let offer = fetch.offer else { return perform { engine, _ in engine.answer(fetch.request, error) } }
      performKept(offer) { offer.answer(fetch.request, error) }
    }
  }
}
