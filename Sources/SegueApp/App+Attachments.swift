// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The attachments of an app's activities, and of those that it has continued (R7.6).
extension App {
  private static var closed: SegueError { SegueError(.cancelled, "the app was closed") }

  // MARK: Fetching

  public func fetch(_ download: any AppDownload) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    try checkIsOpen()
    guard !downloads.isFull else {
      throw SegueError(.limitExceeded, "app: fetches 64 attachments, which is the most")
    }
    try environment.start(download, of: self)
    downloads.append(download)
  }

  /// Asks for the stream of an attachment; the answer goes to the download. On the download's thread.
  public func ask(
    for download: any AppDownload, _ part: Message.AttachmentPart, otherEnd: PassedDescriptor, timeout: Int64
  ) throws(SegueError) {
    guard let from = download.activity.continuedFrom else { return }
    do throws(SegueError) {
      let ask = StreamRequestCallback(download)
      try self.ask(ask, try newIdentifier(), from, part, otherEnd: otherEnd, timeout: timeout)
    } catch {
      // It was open when the download began.
      throw Self.closed
    }
  }

  /// Does the same with the lock.
  public func askLocked(
    for download: any AppDownload, _ part: Message.AttachmentPart, otherEnd: PassedDescriptor, timeout: Int64
  ) throws(SegueError) {
    guard let engine, let from = download.activity.continuedFrom else { return }
    let id = try environment.drawIdentifier()
    ask(StreamRequestCallback(download), id, from, part, otherEnd, timeout: timeout, engine, environment.now)
    drainEngine()
  }

  /// Milliseconds for which a stopped download is retried.
  public var transferResume: Int64 {
    monitor.lock()
    defer { monitor.unlock() }
    return engine?.limits.transferResume ?? 0
  }

  /// A download has news. On the download's thread.
  /// - Parameter change: called with the lock; returns whether a callback is due.
  public func downloadChanged(_ download: any AppDownload, _ change: () -> Bool) {
    monitor.lock()
    if change() { noteNews(of: download) }
    monitor.unlock()
  }

  /// A callback of a download is due. Called with the lock.
  public func noteNews(of download: any AppDownload) {
    due.append(.download(download))
    environment.signalDue()
  }

  func turn(of download: any AppDownload) -> CallbackInvocation {
    let (tell, isEnd) = download.takeNews()
    if isEnd { downloads.remove(download) }
    return {
      tell()
      return true
    }
  }

  // MARK: Sending

  /// The cause for refusing to send an attachment; nil if the app sends it.
  /// - Parameter principals: those that are charged for the current uploads.
  public func rejection(
    to part: Message.AttachmentPart, _ request: StreamRequest, _ principals: [Identifier]
  ) -> SegueError? {
    guard source(of: part, request) != nil else {
      return SegueError(.notFound, "the origin has not attached it")
    }
    guard isOpen, principals.count < Limits.sentTransfers,
      principals.count(where: { $0 == request.principal }) < Limits.transfers
    else { return SegueError(.limitExceeded, "the origin sends as many attachments as it may") }
    return nil
  }

  /// The attachment of that name, or nil.
  public func source(of part: Message.AttachmentPart, _ request: StreamRequest) -> AttachmentSource? {
    (try? activities[request.activity]?.attachment(part.name))?.source
  }

  /// Ends all transfers when the app closes. Called without the lock, in a state in which no others begin.
  func endTransfers() {
    environment.endUploads()
    monitor.lock()
    let downloads = self.downloads.all
    monitor.unlock()
    for download in downloads { download.stop(Self.closed) }
    for download in downloads { download.join() }
  }
}
