import CLinux
import SegueModel

/// What an app waits for, as one descriptor that any thread may change: its socket, and the time of its next deadline.
/// The library thread watches it; a host thread that waits in dispatch takes the socket over meanwhile, which spares
/// two changes of thread in each continuation (docs/decisions/who-reads-the-socket.md).
///
/// Guarded by the app's lock, but for `fd`.
public final class Gate {
  /// Readable when the socket is ready or the deadline has come.
  public let fd: Int32
  private let timer: Int32
  private var socket: Int32 = -1
  private var socketEvents: UInt32 = 0
  private var deadline: Int64?

  public init() throws(SegueError) {
    let epoll = epoll_create1(Int32(O_CLOEXEC))
    guard epoll >= 0 else { throw .system("epoll") }
    let timer = linux_timerfd()
    guard timer >= 0, linux_epoll_ctl(epoll, EPOLL_CTL_ADD, timer, linux_epollin()) == 0 else {
      let number = linux_errno()
      _ = close(epoll)
      if timer >= 0 { _ = close(timer) }
      throw .system("timer", number)
    }
    fd = Descriptors.own(epoll)
    self.timer = Descriptors.own(timer)
  }

  deinit {
    Descriptors.close(timer)
    Descriptors.close(fd)
  }

  /// Takes a socket in; there is none.
  public func setSocket(_ socket: Int32) throws(SegueError) {
    guard linux_epoll_ctl(fd, EPOLL_CTL_ADD, socket, linux_epollin()) == 0 else { throw .system("watching a socket") }
    self.socket = socket
    socketEvents = linux_epollin()
  }

  /// The socket is its owner's to close.
  public func dropSocket() {
    guard socket >= 0 else { return }
    _ = linux_epoll_ctl(fd, EPOLL_CTL_DEL, socket, 0)
    socket = -1
  }

  /// What of the socket the gate shows: nothing while another thread waits for it.
  public func show(reading: Bool, writing: Bool) {
    let events = (reading ? linux_epollin() : 0) | (writing ? linux_epollout() : 0)
    guard socket >= 0, events != socketEvents else { return }
    socketEvents = events
    _ = linux_epoll_ctl(fd, EPOLL_CTL_MOD, socket, events)
  }

  /// Milliseconds in which something else is likely to come up.
  private static let soon: Int64 = 1_000

  /// - Parameter deadline: uptime in milliseconds; nil: none. A later one than is set is not set, and one that comes
  ///   soon anyway is not unset: waking once too early costs less than a system call each time. But nobody who sleeps
  ///   is woken for nothing.
  public func setDeadline(_ deadline: Int64?) {
    if let deadline {
      guard self.deadline.map({ deadline < $0 }) ?? true else { return }
    } else {
      guard let set = self.deadline, set - Clock.uptime > Self.soon else { return }
    }
    self.deadline = deadline
    var time = itimerspec()
    // Zero unsets it.
    let at = deadline.map { max(1, $0) } ?? 0
    time.it_value = timespec(tv_sec: Int(at / 1000), tv_nsec: Int(at % 1000) * 1_000_000)
    timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &time, nil)
  }

  /// The deadline has come, or comes soon enough to be looked at: it is unset.
  public func clearDeadline(_ uptime: Int64) {
    guard let deadline, deadline <= uptime else { return }
    self.deadline = nil
    Descriptors.reset(timer)
  }
}
