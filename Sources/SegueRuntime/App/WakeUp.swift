import CLinux
import SegueModel
import SegueTransport
import Synchronization

/// The descriptor that tells a host to dispatch: readable while something is due, or somebody asked for it.
/// Guarded by the app's lock, but for `wake`.
///
/// Writing and reading cost a system call each, so it is written to only where somebody may look.
final class WakeUp {
  private let descriptor = Atomic<Int32>(-1)
  private let isRequested = Atomic<Bool>(false)
  /// Something is due.
  private var isSignalled = false
  /// It is readable, as far as is known: `wake` does not tell.
  private var isReadable = false
  /// The host has it, and may watch it at any time.
  private var isGiven = false

  /// Negative: it is not open.
  var fd: Int32 { descriptor.load(ordering: .relaxed) }

  func open() throws(SegueError) {
    guard fd < 0 else { return }
    descriptor.store(try Descriptors.eventDescriptor(), ordering: .relaxed)
  }

  /// Not before: another thread may be in `wake`, and by then the number may be another file's.
  deinit { Descriptors.close(fd) }

  /// For the host's own loop.
  func give() -> Int32 {
    isGiven = true
    if isSignalled, !isReadable { write() }
    return fd
  }

  /// Something is due. `isAwaited`: a thread sleeps until there is.
  func signal(isAwaited: Bool) {
    guard !isSignalled else { return }
    isSignalled = true
    if isGiven || isAwaited { write() }
  }

  /// A host that waits shall look again at what it waits for.
  func notify(if isWaiting: Bool) { if isWaiting { write() } }

  /// It was seen to be readable.
  func foundReadable() { isReadable = true }

  /// The host asked for it. Safe in a signal handler: no lock, no memory, and `errno` stays.
  func wake() {
    let errno = linux_errno()
    isRequested.store(true, ordering: .relaxed)
    add()
    linux_set_errno(errno)
  }

  /// Nothing is due.
  /// - Returns: whether the host asked to be woken.
  func clear() -> Bool {
    let wasRequested = isRequested.exchange(false, ordering: .relaxed)
    isSignalled = false
    // If `wake` has yet to write, what it writes is found by whoever sleeps next.
    if isReadable || wasRequested { read() }
    return wasRequested
  }

  /// Nothing is due any more; what the host asked for stays.
  func clearSignal() {
    isSignalled = false
    guard isReadable else { return }
    read()
    if isRequested.load(ordering: .relaxed) { add() }
  }

  private func write() {
    isReadable = true
    add()
  }

  private func read() {
    isReadable = false
    Descriptors.reset(fd)
  }

  private func add() { Descriptors.raise(fd) }
}
