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

  func fetch(_ download: AttachmentDownload) throws(SegueError) {
    if let app = asFleetApp { return try app.fetchHere(download) }
    monitor.lock()
    defer { monitor.unlock() }
    guard case .open = state else { throw notOpen }
    guard downloads.count < Limits.transfers else { throw Self.fetchesTooMany }
    // Its thread waits for the lock.
    try download.start(self)
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
      signalDue()
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

  /// Another app fetches an attachment. Called with the lock; owns the descriptor.
  func send(_ part: Message.AttachmentPart, _ request: StreamRequest, over fd: Int32, _ engine: AppEngine) {
    forgetDoneUploads()
    let file = source(of: part, request)
    guard case .open = state, let file, maySend(to: request.app, uploads.map { $0.receiver }) else {
      let error = file == nil ? Self.notAttached : Self.sendsTooMany
      Descriptors.closeUntrusted(fd)
      return engine.refuse(request, engine.objection(to: request) ?? error)
    }
    guard engine.take(request) else { return Descriptors.closeUntrusted(fd) }
    let upload = AttachmentUpload(
      file, from: part.offset, to: fd, of: request.app, crossesLink: request.crossesLink,
      patience: engine.limits.transferResume)
    do throws(SegueError) {
      try upload.start()
      uploads.append(upload)
    } catch {
      // The other side sees a broken stream, and retries.
      logs.append((.error, "\(error.message)"))
    }
  }

  /// Whether one more attachment may be sent to that app.
  /// - Parameter receivers: the receivers of the current uploads.
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
  private func forgetDoneUploads() {
    while let index = uploads.firstIndex(where: { $0.hasEnded }) { uploads.remove(at: index).join() }
  }

  /// Ends all transfers when the app closes. Called without the lock, in a state in which no others begin.
  func endTransfers() {
    monitor.lock()
    let (downloads, uploads) = (self.downloads, self.uploads)
    self.uploads = []
    monitor.unlock()
    for upload in uploads { upload.stop() }
    for download in downloads { download.stop(Self.closed) }
    for upload in uploads { upload.join() }
    for download in downloads { download.join() }
  }
}
