import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// Attachments of an app's activities, and of those that it has continued (R7.6).
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

  /// Asks for a stream on which the attachment comes; the answer goes to the transfer. On the transfer's thread.
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

  /// Milliseconds for which a transfer that has stopped on its way is asked for again.
  var transferResume: Int64 {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.limits.transferResume ?? 0
  }

  /// Something new of a transfer. On the transfer's thread.
  /// - Parameter change: called with the lock; gives whether the host is to be told.
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

  /// Another app fetches an attachment. Called with the lock; the descriptor is its.
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
      // The other side sees the stream break, and asks again.
      logs.append((.error, "\(error.message)"))
    }
  }

  /// Whether another attachment may go to that app.
  /// - Parameter receivers: whom those go to that are under way.
  func maySend(to app: Identifier, _ receivers: [Identifier]) -> Bool {
    receivers.count < Limits.sentTransfers && receivers.count { $0 == app } < Limits.transfers
  }

  /// What is attached under the name that is asked for; nil: nothing.
  func source(of part: Message.AttachmentPart, _ request: StreamRequest) -> SourceFile? {
    // There are no other sources.
    (try? activities[request.activity]?.attachment(part.name))?.source.map {
      unsafeDowncast($0, to: SourceFile.self)
    }
  }

  /// Their threads are waited for, which takes no time.
  private func forgetDoneSendings() {
    while let index = sendings.firstIndex(where: { $0.hasEnded }) { sendings.remove(at: index).join() }
  }

  /// The app closes: nothing of them happens when this returns. Called without the lock, in a state in which no others begin.
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
