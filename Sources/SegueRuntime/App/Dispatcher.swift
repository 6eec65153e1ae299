import CLinux
import SegueEngine
import SegueModel
import SegueTransport
import Synchronization

/// The state of running an app's callbacks. Guarded by the app's lock, except `holder`; a class, since in a struct a
/// change of another field would be an access to `holder`, too.
final class Dispatcher {
  private let thread = Atomic<pthread_t>(0)
  /// It sleeps until a callback is due, and reads the socket itself meanwhile.
  var isWaiting = false
  /// A callback released the last handle of the app.
  var shallClose = false

  var isBusy: Bool { holder != nil }

  /// The thread in dispatch. A thread that checks for itself needs no lock.
  var holder: pthread_t? {
    let thread = self.thread.load(ordering: .relaxed)
    return thread == 0 ? nil : thread
  }

  /// This thread is in dispatch, so it needs no wake-up.
  var isRunningHere: Bool { holder == pthread_self() }

  func enter() { thread.store(pthread_self(), ordering: .relaxed) }
  func leave() { thread.store(0, ordering: .relaxed) }
}

extension App {
  func dispatchHere(timeout: Int32) throws(SegueError) -> Int {
    guard !isInCallback else { throw SegueError(.busy, "app: dispatch cannot run inside one of its callbacks") }
    let cancellation = Cancellation.disable()
    defer { Cancellation.restore(cancellation) }
    monitor.lock()
    do throws(SegueError) {
      try checkMayDispatch()
    } catch {
      monitor.unlock()
      throw error
    }
    dispatcher.enter()
    let result = Result { () throws(SegueError) in try dispatchLocked(timeout: timeout) }
    dispatcher.leave()
    if due.isEmpty { wakeUp.clearSignal() } else { signalDue() }
    monitor.notifyAll()
    let shallClose = dispatcher.shallClose
    unlockAndLog()
    // BUSY: another thread closes it already.
    if shallClose { try? close() }
    return try result.get()
  }

  /// Called with the lock.
  /// - Parameter open: opens it, if it is not open.
  func wakeUpDescriptor(_ open: () throws(SegueError) -> Void = {}) throws(SegueError) -> Int32 {
    try checkDeliversToHost()
    try open()
    return wakeUp.give()
  }

  /// Whether this thread is inside one of the app's callbacks.
  var isInCallback: Bool { dispatcher.isRunningHere }

  func dispatcherShallClose() {
    monitor.lock()
    dispatcher.shallClose = true
    monitor.unlock()
  }

  /// The app's own thread (SEGUE_DELIVER_THREAD).
  func deliverUntilClosed() {
    monitor.lock()
    while case .open = state, !dispatcher.shallClose {
      dispatcher.enter()
      let result = Result { () throws(SegueError) in try dispatchLocked(timeout: -1) }
      dispatcher.leave()
      monitor.notifyAll()
      unlockAndLog()
      if case .failure(let error) = result {
        // It cannot wait properly: callbacks are then late.
        Log.write(.error, DiagnosticText(of: error.message))
        usleep(Self.pause)
      }
      monitor.lock()
    }
    let shallClose = dispatcher.shallClose
    monitor.unlock()
    if shallClose { closeOnDeliveryThread() }
  }

  private func checkDeliversToHost() throws(SegueError) {
    guard case .open = state else { throw notOpen }
    guard case .host = settings.delivery else {
      throw SegueError(.invalidState, "app: its callbacks run on a thread of the library")
    }
  }

  private func checkMayDispatch() throws(SegueError) {
    try checkDeliversToHost()
    guard !dispatcher.isBusy else { throw SegueError(.busy, "app: another thread is in dispatch") }
  }

  /// Microseconds between two checks if the system refuses `poll`.
  private static let pause: useconds_t = 100_000

  private func dispatchLocked(timeout: Int32) throws(SegueError) -> Int {
    let deadline = timeout < 0 ? nil : Clock.uptime + Int64(timeout)
    while case .open = state {
      let count = runDue(all: false)
      if count > 0 { return count }
      // The due deliveries had no callback, and more are due now.
      if !due.isEmpty { continue }
      if wakeUp.clear() { return 0 }
      let left = deadline.map { $0 - Clock.uptime }
      if let left, left <= 0, timeout != 0 { return 0 }
      // A deadline that has just passed must not become a negative timeout, which means no limit.
      try waitForSomething(milliseconds: Int32(clamping: left.map { max(0, $0) } ?? -1))
      if timeout == 0 {
        // Handles what the socket had, without a second check.
        return runDue(all: false)
      }
    }
    return 0
  }

  /// Sleeps until the socket, the host or another thread has work, or the time is up. Releases the lock meanwhile.
  ///
  /// Meanwhile the library thread may close the socket, and its number may become another file's before `poll` uses it.
  /// That is harmless: the closing thread then writes to `wakeUp`, which only this thread reads, so `poll` returns
  /// whatever the number refers to; and the read afterwards uses the current socket, without waiting.
  private func waitForSomething(milliseconds: Int32) throws(SegueError) {
    dispatcher.isWaiting = true
    socket?.isLent = true
    var descriptors = [
      pollfd(fd: wakeUp.fd, events: Int16(POLLIN), revents: 0),
      pollfd(
        fd: socket?.fd ?? -1, events: Int16(POLLIN) | (socket?.isFull ?? false ? Int16(POLLOUT) : 0), revents: 0),
    ]
    unlockAndLog()
    let number = poll(&descriptors, 2, milliseconds) < 0 ? linux_errno() : 0
    monitor.lock()
    dispatcher.isWaiting = false
    // Only after the read; otherwise the library thread would wake up for the same bytes.
    defer { socket?.isLent = false }
    if number != 0, number != EINTR { throw .system("waiting for something to do", number) }
    if descriptors[0].revents != 0 { wakeUp.foundReadable() }
    if descriptors[1].revents != 0 { pumpLocked() }
  }

  /// Runs the due callbacks (all: also those that follow from them), each without the lock.
  /// - Returns: the number of callbacks of the host that ran.
  @discardableResult
  func runDue(all: Bool) -> Int {
    var left = due.count
    var count = 0
    while all || left > 0, let item = due.popFirst() {
      left -= 1
      do {
        // Releases its contents at the end of this scope, before the lock is taken: that may call the host, too.
        let turn = turn(of: item)
        unlockAndLog()
        if turn() { count += 1 }
      }
      monitor.lock()
      if !all, case .open = state { continue }
      if !all { break }
    }
    return count
  }
}
