import CLibUV
import CLinux
import SegueModel

/// The library thread and its event loop. Only `post` and `stop` may be called from other threads.
public final class Loop {
  let loop: UnsafeMutablePointer<uv_loop_t>
  private let async: UnsafeMutablePointer<uv_async_t>
  private let lock = Lock()
  private var jobs: [() -> Void] = []
  private var isStopping = false
  private var thread: Thread?

  /// Descriptors that libuv opens for its first loop, and a reserve: without them libuv would abort the process.
  private static let descriptorsNeeded = 12

  public convenience init() throws(SegueError) {
    try Descriptors.check(Self.descriptorsNeeded, for: "event loop")
    try self.init(.allocate(capacity: 1), .allocate(capacity: 1))
  }

  private init(
    _ loop: UnsafeMutablePointer<uv_loop_t>, _ async: UnsafeMutablePointer<uv_async_t>
  ) throws(SegueError) {
    self.loop = loop
    self.async = async
    let result = uv_loop_init(loop)
    guard result == 0 else {
      loop.deallocate()
      async.deallocate()
      throw .system("event loop", -result)
    }
    let made = uv_async_init(loop, async) { handle in
      Unmanaged<Loop>.fromOpaque(handle!.pointee.data).takeUnretainedValue().runJobs()
    }
    guard made == 0 else {
      free()
      throw .system("event loop", -made)
    }
    async.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    do throws(SegueError) {
      thread = try Thread { [unowned(unsafe) self] in
        // `stop` joins before this object can go.
        uv_run(self.loop, UV_RUN_DEFAULT)
      }
    } catch {
      closeAsync()
      uv_run(loop, UV_RUN_DEFAULT)
      free()
      throw error
    }
  }

  /// Queues a job for the library thread; from any thread. After `stop` the job is dropped.
  public func post(_ job: @escaping () -> Void) {
    lock.withLock {
      guard !isStopping else { return }
      jobs.append(job)
      uv_async_send(async)
    }
  }

  /// Runs a job on the library thread and waits for its end; not from that thread.
  public func perform(_ job: @escaping () -> Void) {
    let monitor = ConditionLock()
    let progress = Progress()
    post {
      job()
      monitor.lock()
      progress.isDone = true
      monitor.notifyAll()
      monitor.unlock()
    }
    monitor.lock()
    while !progress.isDone { monitor.wait() }
    monitor.unlock()
  }

  /// Ends the thread, once all watches and timers are closed; not from that thread.
  public func stop() {
    post { [unowned(unsafe) self] in self.closeAsync() }
    lock.withLock { isStopping = true }
    thread?.join()
    free()
  }

  /// The loop ends when this last handle has closed.
  private func closeAsync() {
    uv_close(UnsafeMutableRawPointer(async).assumingMemoryBound(to: uv_handle_t.self), nil)
  }

  private func free() {
    uv_loop_close(loop)
    loop.deallocate()
    async.deallocate()
  }

  private func runJobs() {
    let due = lock.withLock {
      let due = jobs
      jobs = []
      return due
    }
    for job in due { job() }
  }
}

/// Whether a job has run; guarded by its monitor.
private final class Progress {
  var isDone = false
}
