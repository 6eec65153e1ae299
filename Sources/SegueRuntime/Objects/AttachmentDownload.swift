// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// An attachment download to this app (R7.6).
open class AttachmentDownload: AttachmentReceiver, AppDownload, @unchecked Sendable {
  public final let activity: LiveActivity
  private let workerLock = Lock()
  /// Replaces the thread, until the download has ended. Guarded by `workerLock`.
  private var worker: (any DownloadWorker)?

  // Guarded by the app's lock: the progress and the end to report to the host.
  private var progress: (received: UInt64, total: UInt64) = (0, 0)
  private var isProgressDue = false
  private var hasEnded = false
  private var isEndTold = false
  private var error: SegueError?

  public init(_ activity: LiveActivity, _ name: String, to sink: AttachmentSink) {
    self.activity = activity
    super.init(name, to: sink)
  }

  // MARK: For the host

  /// Throws INVALID_STATE, INVALIDATED, LIMIT_EXCEEDED, SYSTEM: then no callback runs.
  public final func begin() throws(SegueError) {
    guard let app = activity.app, activity.continuedFrom != nil else {
      throw SegueError(.invalidState, "activity: was not continued, so it has no origin to fetch from")
    }
    guard activity.isStillValid else { throw SegueError(.invalidated, "activity: was invalidated") }
    try app.fetch(self)
  }

  public final func cancel() { stop(SegueError(.userCancelled, "it was cancelled")) }

  /// Called any number of times, without locks.
  open func progressed(_ activity: LiveActivity, _ received: UInt64, of total: UInt64) {}

  /// Called once, last, without locks.
  open func ended(_ activity: LiveActivity, _ error: SharedBox<SegueError>?) {}

  /// Releases the host's context, however long the host keeps the handle.
  open func forget() {}

  /// Whether `progressed` does anything.
  open var wantsProgress: Bool { false }

  // MARK: For its app

  // The app waits for the end of the thread before it is released.
  public final override func ask(
    _ part: Message.AttachmentPart, otherEnd: OwnedDescriptor, timeout: Int64
  ) throws(SegueError) {
    try activity.app?.ask(for: self, part, otherEnd: otherEnd, timeout: timeout)
  }

  public final override var resumeTime: Int64 { activity.app?.transferResume ?? 0 }

  public final override func received(_ count: UInt64) {
    guard wantsProgress else { return }
    activity.app?.downloadChanged(self) { noteProgress(count) }
  }

  public final override func finished(_ error: SegueError?) {
    activity.app?.downloadChanged(self) {
      noteEnd(error)
      return true
    }
  }

  public final override func stop(_ error: SegueError) {
    super.stop(error)
    if let worker = workerLock.withLock({ worker }) { worker.stop(error) }
  }

  public final override func answered(_ error: SegueError?) {
    if let worker = workerLock.withLock({ worker }) { return worker.answered(error) }
    super.answered(error)
  }

  /// Returns the callbacks to run without the lock. Called with the app's lock.
  public final func takeNews() -> (tell: () -> Void, isEnd: Bool) {
    let (progress, isProgressDue, hasEnded) = (self.progress, self.isProgressDue, self.hasEnded && !isEndTold)
    self.isProgressDue = false
    if hasEnded { isEndTold = true }
    return (
      { [self] in
        if isProgressDue { progressed(activity, progress.received, of: progress.total) }
        guard hasEnded else { return }
        join()
        ended(activity, error.map { SharedBox($0) })
        forget()
      }, hasEnded
    )
  }

  /// Called with the app's lock.
  /// - Returns: whether a callback is due that was not queued yet.
  private func noteProgress(_ count: UInt64) -> Bool {
    progress = (max(progress.received, count), sink.total)
    defer { isProgressDue = true }
    return !isProgressDue
  }

  private func noteEnd(_ error: SegueError?) {
    if error == nil, wantsProgress { _ = noteProgress(sink.total) }
    self.error = error
    hasEnded = true
  }
}

/// Fetches an attachment without a thread: in a virtual fleet, when that advances. Called without the app's lock.
public protocol DownloadWorker: AnyObject {
  /// The download was cancelled, or the app closes.
  func stop(_ error: SegueError)
  /// The origin has accepted or refused the stream.
  func answered(_ error: SegueError?)
}

/// The steps of the thread, for a worker. It calls them with the app's lock.
extension AttachmentDownload {
  public final func start(_ worker: any DownloadWorker) { workerLock.withLock { self.worker = worker } }

  public final var missing: UInt64 { sink.missing }

  /// - Parameter size: from the other side. Throws HANDOFF_FAILED, SYSTEM.
  public final func begin(size: UInt64) throws(SegueError) {
    try FileBytes.onHostThread { () throws(SegueError) in
      try sink.begin(size: size)
      try sink.takeBytes()
    }
  }

  /// - Returns: the number of bytes taken; fewer if a descriptor takes no more for now. Throws MALFORMED, SYSTEM.
  public final func take(_ bytes: ArraySlice<UInt8>, at uptime: Int64) throws(SegueError) -> Int {
    var count = 0
    var failure: SegueError?
    bytes.withUnsafeBytes { bytes in
      do throws(SegueError) {
        try FileBytes.onHostThread { () throws(SegueError) in count = try sink.write(bytes, milliseconds: 0) }
        sink.hash(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    if wantsProgress, shouldReport(sink.received, at: uptime), noteProgress(sink.received) { queueNews() }
    return count
  }

  /// Throws HANDOFF_FAILED, MALFORMED, SYSTEM.
  public final func finish(_ verdict: AttachmentFormat.Verdict?, digest sum: [UInt8]) throws(SegueError) {
    try sink.verify(verdict, digest: sum)
    try sink.finish()
  }

  public final func endByWorker(_ error: SegueError?) {
    dismissWorker()
    sink.close()
    noteEnd(error)
    queueNews()
  }

  /// Its process is dead.
  public final func abandonByWorker() {
    dismissWorker()
    sink.close()
  }

  private func dismissWorker() { workerLock.withLock { worker = nil } }

  private func queueNews() { activity.app?.noteNews(of: self) }
}
