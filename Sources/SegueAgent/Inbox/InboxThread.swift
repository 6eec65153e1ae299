import SegueModel
import SegueRuntime
import SegueStore
import SegueTransport

/// The thread that uses the inbox: what waits for the disk does not stop the hub (docs/agent.md). It does its jobs in
/// their order. All but `InboxHolder` is for the loop.
final class InboxThread: InboxHolder, @unchecked Sendable {
  /// The most bytes of documents that wait for the disk.
  static let bytesLimit = 64 * 1024 * 1024
  /// The most jobs that wait.
  static let jobLimit = 4_096

  private struct Job {
    let size: Int
    let run: (InboxThread) -> Void
  }

  private let folder: StateFolder
  private let monitor = ConditionLock()
  // Guarded by the monitor.
  private var jobs: [Job] = []
  private var size = 0
  private var isEnding = false
  private var thread: Thread?
  /// Only for the thread. Nil until it is needed, and after damage.
  private var inbox: Inbox?

  init(_ folder: StateFolder) { self.folder = folder }

  /// Throws SYSTEM. Call `end` once after that.
  func start() throws(SegueError) {
    // `end` joins the thread before this object is released.
    thread = try Thread { [unowned(unsafe) self] in self.run() }
  }

  /// Queues a job.
  /// - Parameter size: the bytes that it holds.
  /// Throws BUSY if too much waits for the disk.
  func post(size: Int = 0, _ job: @escaping (InboxThread) -> Void) throws(SegueError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard self.size + size <= Self.bytesLimit, jobs.count < Self.jobLimit else {
      throw SegueError(.busy, "inbox: the disk does not keep up: \(jobs.count) jobs wait for it")
    }
    self.size += size
    jobs.append(Job(size: size, run: job))
    monitor.notifyAll()
  }

  /// Does what is queued, and ends.
  func end() {
    monitor.lock()
    isEnding = true
    monitor.notifyAll()
    monitor.unlock()
    thread?.join()
    thread = nil
  }

  private func run() {
    monitor.lock()
    while true {
      while jobs.isEmpty, !isEnding {
        if let inbox {
          monitor.unlock()
          inbox.releaseMemory()
          monitor.lock()
          if !jobs.isEmpty || isEnding { break }
        }
        monitor.wait()
      }
      guard !jobs.isEmpty else { break }
      let job = jobs.removeFirst()
      monitor.unlock()
      job.run(self)
      monitor.lock()
      size -= job.size
    }
    monitor.unlock()
    inbox = nil
  }

  // MARK: In a job

  var date: Double { Clock.now.date }

  func log(_ severity: Severity, _ message: DiagnosticText) { Log.write(severity, message) }

  func perform<Result>(_ body: (Inbox) throws(SegueError) -> Result) throws(SegueError) -> Result {
    do throws(SegueError) {
      return try body(try opened())
    } catch {
      guard error.status == .malformed else { throw error }
      Log.write(.error, "\(error.message)")
      inbox = nil
      return try body(try opened())
    }
  }

  private func opened() throws(SegueError) -> Inbox {
    if let inbox { return inbox }
    let inbox = try Inbox.open(in: folder)
    if let notice = inbox.notice { Log.write(.error, "inbox: \(notice)") }
    self.inbox = inbox
    return inbox
  }
}
