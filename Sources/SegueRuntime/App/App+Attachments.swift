import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// The attachments of an app's activities, and of those that it has continued (R7.6).
extension App {
  private static var closed: SegueError { SegueError(.cancelled, "the app was closed") }

  // MARK: Fetching

  func fetch(_ download: AttachmentDownload) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    try checkIsOpen()
    guard downloads.count < Limits.transfers else {
      throw SegueError(.limitExceeded, "app: fetches 64 attachments, which is the most")
    }
    try environment.start(download, of: self)
    downloads.append(download)
  }

  /// Asks for the stream of an attachment; the answer goes to the download. On the download's thread.
  func ask(
    _ ask: StreamRequestCallback, _ part: Message.AttachmentPart, otherEnd: OwnedDescriptor, timeout: Int64
  ) throws(SegueError) {
    guard let from = ask.activity.continuedFrom else { return }
    do throws(SegueError) {
      try self.ask(ask, try newIdentifier(), from, part, otherEnd: otherEnd, timeout: timeout)
    } catch {
      // It was open when the download began.
      throw Self.closed
    }
  }

  /// Milliseconds for which a stopped download is retried.
  var transferResume: Int64 {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.limits.transferResume ?? 0
  }

  /// A download has news. On the download's thread.
  /// - Parameter change: called with the lock; returns whether a callback is due.
  func downloadChanged(_ download: AttachmentDownload, _ change: () -> Bool) {
    monitor.lock()
    if change() {
      due.append(.download(download))
      environment.signalDue()
    }
    monitor.unlock()
  }

  func turn(of download: AttachmentDownload) -> CallbackInvocation {
    let (tell, isEnd) = download.takeNews()
    if isEnd, let index = downloads.firstIndex(where: { $0 === download }) { downloads.remove(at: index) }
    return {
      tell()
      return true
    }
  }

  // MARK: Sending

  /// The cause for refusing to send an attachment; nil if the app sends it.
  /// - Parameter accounts: those that are charged for the current uploads.
  func objection(
    to part: Message.AttachmentPart, _ request: StreamRequest, _ accounts: [Identifier]
  ) -> SegueError? {
    guard source(of: part, request) != nil else {
      return SegueError(.notFound, "the app that offers it has not attached it")
    }
    guard isOpen, accounts.count < Limits.sentTransfers,
      accounts.count(where: { $0 == request.account }) < Limits.transfers
    else { return SegueError(.limitExceeded, "the app where it is attached sends as many as it may") }
    return nil
  }

  /// The attachment of that name, or nil.
  func source(of part: Message.AttachmentPart, _ request: StreamRequest) -> SourceFile? {
    // There are no other sources.
    (try? activities[request.activity]?.attachment(part.name))?.source.map {
      unsafeDowncast($0, to: SourceFile.self)
    }
  }

  /// Ends all transfers when the app closes. Called without the lock, in a state in which no others begin.
  func endTransfers() {
    environment.endUploads()
    monitor.lock()
    let downloads = self.downloads
    monitor.unlock()
    for download in downloads { download.stop(Self.closed) }
    for download in downloads { download.join() }
  }
}
