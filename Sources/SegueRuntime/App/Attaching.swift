import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// The attachments of an app's activities, and of those that it has continued (R7.6).
extension App {
  static var notAttached: SegueError { SegueError(.notFound, "it is not attached any more") }
  static var sendsTooMany: SegueError {
    SegueError(.limitExceeded, "the app where it is attached sends as many as it may")
  }
  static var fetchesTooMany: SegueError {
    SegueError(.limitExceeded, "app: fetches 64 attachments, which is the most")
  }
  private static var closed: SegueError { SegueError(.cancelled, "the app was closed") }

  // MARK: Fetching

  func fetch(_ transfer: Transfer) throws(SegueError) {
    if let app = asFleetApp { return try app.fetchHere(transfer) }
    monitor.lock()
    defer { monitor.unlock() }
    guard case .open = state else { throw notOpen }
    guard transfers.count < Limits.transfers else { throw Self.fetchesTooMany }
    // Its thread waits for the lock.
    try transfer.start(self)
    transfers.append(transfer)
  }

  /// Asks for the stream of an attachment; the answer goes to the transfer. On the transfer's thread.
  func ask(
    _ ask: StreamAsk, _ part: Message.AttachmentPart, otherEnd: OwnedDescriptor, timeout: Int64
  ) throws(SegueError) {
    guard let from = ask.activity.continuedFrom else { return }
    do throws(SegueError) {
      try self.ask(ask, try newIdentifier(), from, part, otherEnd: otherEnd, timeout: timeout)
    } catch {
      // It was open when the transfer began.
      throw Self.closed
    }
  }

  /// Milliseconds for which a stopped transfer is retried.
  var transferResume: Int64 {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.limits.transferResume ?? 0
  }

  /// A transfer has news. On the transfer's thread.
  /// - Parameter change: called with the lock; returns whether a callback is due.
  func transferChanged(_ transfer: Transfer, _ change: () -> Bool) {
    monitor.lock()
    if change() {
      due.append(.transfer(transfer))
      signalDue()
    }
    monitor.unlock()
  }

  func turn(of transfer: Transfer) -> Turn {
    let (tell, isEnd) = transfer.takeNews()
    if isEnd, let index = transfers.firstIndex(where: { $0 === transfer }) { transfers.remove(at: index) }
    return {
      tell()
      return true
    }
  }

  // MARK: Sending

  /// Another app fetches an attachment. Called with the lock; owns the descriptor.
  func send(_ part: Message.AttachmentPart, _ request: StreamRequest, over fd: Int32, _ engine: AppEngine) {
    forgetDoneSendings()
    let file = source(of: part, request)
    guard case .open = state, let file, maySend(to: request.app, sendings.map { $0.receiver }) else {
      let error = file == nil ? Self.notAttached : Self.sendsTooMany
      Descriptors.closeUntrusted(fd)
      return engine.refuse(request, engine.objection(to: request) ?? error)
    }
    guard engine.take(request) else { return Descriptors.closeUntrusted(fd) }
    let sending = Sending(
      file, from: part.offset, to: fd, of: request.app, crossesLink: request.crossesLink,
      patience: engine.limits.transferResume)
    do throws(SegueError) {
      try sending.start()
      sendings.append(sending)
    } catch {
      // The other side sees a broken stream, and retries.
      logs.append((.error, "\(error.message)"))
    }
  }

  /// Whether one more attachment may be sent to that app.
  /// - Parameter receivers: the receivers of the current transfers.
  func maySend(to app: Identifier, _ receivers: [Identifier]) -> Bool {
    receivers.count < Limits.sentTransfers && receivers.count { $0 == app } < Limits.transfers
  }

  /// The attachment of that name, or nil.
  func source(of part: Message.AttachmentPart, _ request: StreamRequest) -> SourceFile? {
    // There are no other sources.
    (try? activities[request.activity]?.attachment(part.name))?.source.map {
      unsafeDowncast($0, to: SourceFile.self)
    }
  }

  /// Waits for their threads, which end at once.
  private func forgetDoneSendings() {
    while let index = sendings.firstIndex(where: { $0.hasEnded }) { sendings.remove(at: index).join() }
  }

  /// Ends all transfers when the app closes. Called without the lock, in a state in which no others begin.
  func endTransfers() {
    monitor.lock()
    let (transfers, sendings) = (self.transfers, self.sendings)
    self.sendings = []
    monitor.unlock()
    for sending in sendings { sending.stop() }
    for transfer in transfers { transfer.stop(Self.closed) }
    for sending in sendings { sending.join() }
    for transfer in transfers { transfer.join() }
  }
}
