import CLinux
import SegueModel
import SegueTransport
import Synchronization

/// The descriptor that tells a host to dispatch: readable while something is due, or somebody asked for it.
/// Guarded by the app's lock, but for `wake`.
final class WakeUp {
  private let descriptor = Atomic<Int32>(-1)
  private let isRequested = Atomic<Bool>(false)
  private var isSignalled = false

  /// Negative: it is not open.
  var fd: Int32 { descriptor.load(ordering: .relaxed) }

  func open() throws(SegueError) {
    guard fd < 0 else { return }
    descriptor.store(try Descriptors.eventDescriptor(), ordering: .relaxed)
  }

  /// Not before: another thread may be in `wake`, and by then the number may be another file's.
  deinit { Descriptors.close(fd) }

  /// Something is due.
  func signal() {
    guard !isSignalled else { return }
    isSignalled = true
    write()
  }

  /// A host that waits shall look again at what it waits for.
  func kick(if isWaiting: Bool) { if isWaiting { write() } }

  /// The host asked for it. Safe in a signal handler: no lock, no memory, and `errno` stays.
  func wake() {
    let errno = linux_errno()
    isRequested.store(true, ordering: .relaxed)
    write()
    linux_set_errno(errno)
  }

  /// Nothing is due.
  /// - Returns: whether the host asked to be woken.
  func clear() -> Bool {
    isSignalled = false
    var count: UInt64 = 0
    _ = read(fd, &count, 8)
    return isRequested.exchange(false, ordering: .relaxed)
  }

  /// Nothing is due any more; what the host asked for stays.
  func settle() {
    guard isSignalled else { return }
    isSignalled = false
    var count: UInt64 = 0
    _ = read(fd, &count, 8)
    if isRequested.load(ordering: .relaxed) { write() }
  }

  private func write() {
    var one: UInt64 = 1
    _ = CLinux.write(fd, &one, 8)
  }
}
