// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLibUV
import CLinux
import SegueModel
import SegueSystem

/// The library thread and its event loop. Only `post` and `stop` may be called from other threads.
public final class Loop {
  let loop: UnsafeMutablePointer<uv_loop_t>
  /// Readable while jobs wait. libuv's own handle for that ends the process if the system refuses to write.
  private let signal: Int32
  private var watch: Watch?
  private let lock = Lock()
  private var jobs: [() -> Void] = []
  /// Whether `signal` was made readable since the jobs were taken.
  private var isSignalled = false
  private var isStopping = false
  private var thread: Thread?

  /// Descriptors that libuv opens for its first loop, and a reserve: without them libuv would abort the process.
  private static let descriptorsNeeded = 12

  public convenience init() throws(SegueError) {
    try Descriptors.check(Self.descriptorsNeeded, for: "event loop")
    let signal = try Descriptors.eventDescriptor()
    let loop = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
    let result = uv_loop_init(loop)
    guard result == 0 else {
      loop.deallocate()
      Descriptors.close(signal)
      throw .system("event loop", -result)
    }
    self.init(loop, signal)
    try start()
  }

  private init(_ loop: UnsafeMutablePointer<uv_loop_t>, _ signal: Int32) {
    self.loop = loop
    self.signal = signal
  }

  /// Throws SYSTEM; then all is closed.
  private func start() throws(SegueError) {
    do throws(SegueError) {
      watch = try Watch(signal, on: self, for: self)
      thread = try Thread { [loop] in uv_run(loop, UV_RUN_DEFAULT) }
    } catch {
      watch?.close()
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
      if !isSignalled { isSignalled = Descriptors.raise(signal) }
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
    // The loop ends when this last handle has closed.
    post { [watch] in watch?.close() }
    lock.withLock { isStopping = true }
    thread?.join()
    free()
  }

  private func free() {
    uv_loop_close(loop)
    loop.deallocate()
    Descriptors.close(signal)
  }

}

extension Loop: WatchOwner {
  /// Jobs wait.
  public func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    // Before the jobs are taken: one that comes meanwhile makes it readable again.
    Descriptors.reset(signal)
    let due = lock.withLock {
      let due = jobs
      jobs = []
      isSignalled = false
      return due
    }
    for job in due { job() }
  }
}

/// Whether a job has run; guarded by its monitor.
private final class Progress {
  var isDone = false
}
