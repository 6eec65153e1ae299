import CLinux
import SegueEngine
import SegueModel
import SegueTransport

/// Who runs an app's callbacks. Guarded by the app's lock, but for what a thread asks of itself.
struct Dispatcher {
  private var thread: pthread_t?
  /// It sleeps until something is due, and reads the socket itself meanwhile.
  var isWaiting = false
  /// A callback let go of the last handle of the app.
  var shallClose = false

  var isBusy: Bool { thread != nil }

  /// This thread is in dispatch, so it needs no signal.
  var isRunningHere: Bool { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }

  mutating func enter() { thread = pthread_self() }
  mutating func leave() { thread = nil }
}

extension App {
  /// Runs the callbacks that are due, waiting for the first of them (SEGUE_DELIVER_HOST).
  /// - Parameter timeout: milliseconds; negative: for ever.
  /// - Returns: how many ran.
  public func dispatch(timeout: Int32) throws(SegueError) -> Int {
    guard !isInCallback else { throw SegueError(.busy, "app: dispatch cannot run inside one of its callbacks") }
    monitor.lock()
    do throws(SegueError) {
      try checkMayDispatch()
    } catch {
      monitor.unlock()
      throw error
    }
    dispatcher.enter()
    let count = dispatchLocked(timeout: timeout)
    dispatcher.leave()
    if due.isEmpty { wakeUp.settle() } else { wakeUp.signal() }
    monitor.notifyAll()
    let shallClose = dispatcher.shallClose
    unlockAndLog()
    if shallClose { try close() }
    return count
  }

  /// Makes `dispatch` return. Safe in a signal handler.
  public func wake() { wakeUp.wake() }

  /// Readable while `dispatch` has something to do.
  public func descriptor() throws(SegueError) -> Int32 {
    monitor.lock()
    defer { monitor.unlock() }
    try checkDeliversToHost()
    return wakeUp.fd
  }

  /// Whether this thread is inside one of the app's callbacks.
  var isInCallback: Bool {
    monitor.lock()
    defer { monitor.unlock() }
    return dispatcher.isRunningHere
  }

  func dispatcherShallClose() {
    monitor.lock()
    dispatcher.shallClose = true
    monitor.unlock()
  }

  /// The app's own thread (SEGUE_DELIVER_THREAD).
  func deliverUntilClosed() {
    monitor.lock()
    while case .open = state {
      dispatcher.enter()
      _ = dispatchLocked(timeout: -1)
      dispatcher.leave()
      monitor.notifyAll()
      if dispatcher.shallClose {
        // A callback let go of the app. It cannot wait for the thread that it runs on.
        dispatcher.shallClose = false
        Thread.detached { [self] in try? close() }
      }
      unlockAndLog()
      monitor.lock()
    }
    monitor.unlock()
  }

  private func checkDeliversToHost() throws(SegueError) {
    switch state {
    case .created: throw SegueError(.invalidState, "app: is not open yet")
    case .closing, .closed: throw SegueError(.invalidated, "app: is closed")
    case .open: break
    }
    guard case .host = settings.delivery else {
      throw SegueError(.invalidState, "app: its callbacks run on a thread of the library")
    }
  }

  private func checkMayDispatch() throws(SegueError) {
    try checkDeliversToHost()
    guard !dispatcher.isBusy else { throw SegueError(.busy, "app: another thread is in dispatch") }
  }

  private func dispatchLocked(timeout: Int32) -> Int {
    let deadline = timeout < 0 ? nil : Clock.uptime + Int64(timeout)
    while case .open = state {
      let count = runDue(all: false)
      if count > 0 { return count }
      if wakeUp.clear() { return 0 }
      let left = deadline.map { $0 - Clock.uptime }
      if let left, left <= 0, timeout != 0 { return 0 }
      // A deadline that has just passed must not turn into the "for ever" of a negative time.
      waitForSomething(milliseconds: Int32(clamping: left.map { max(0, $0) } ?? -1))
      if timeout == 0 {
        // What was in the socket counts; there is no second look.
        return runDue(all: false)
      }
    }
    return 0
  }

  /// Sleeps until the socket, the host or another thread has something, or the time is up. Gives the lock up meanwhile.
  private func waitForSomething(milliseconds: Int32) {
    dispatcher.isWaiting = true
    showSocket()
    var descriptors = [
      pollfd(fd: wakeUp.fd, events: Int16(POLLIN), revents: 0),
      pollfd(fd: socket, events: Int16(POLLIN) | (isWaitingToWrite ? Int16(POLLOUT) : 0), revents: 0),
    ]
    unlockAndLog()
    poll(&descriptors, 2, milliseconds)
    monitor.lock()
    dispatcher.isWaiting = false
    if descriptors[1].revents != 0 { pumpLocked() } else { showSocket() }
  }

  /// Runs what is due now (all: and what comes of it), each without the lock.
  /// - Returns: how many callbacks of the host ran.
  @discardableResult
  func runDue(all: Bool) -> Int {
    var left = due.count
    var count = 0
    while all || left > 0, let item = due.popFirst() {
      left -= 1
      do {
        // What it holds goes at the end of this scope, before the lock is taken: that may call the host too.
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
