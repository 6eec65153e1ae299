// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// A descriptor that polls the socket and the next deadline of an app, and that any thread may change. The library
/// thread watches it; a host thread that waits in dispatch takes over the socket meanwhile, which saves two thread
/// changes in each continuation (docs/decisions/who-reads-the-socket.md).
///
/// Guarded by the app's lock, except `fd`.
public final class AppPoller {
  /// Readable when the socket is ready or the deadline has come.
  public let fd: Int32
  private let timer: DeadlineTimer
  private var socket: Int32 = -1
  private var socketEvents: UInt32 = 0

  public convenience init() throws(SegueError) {
    let timer = try DeadlineTimer()
    let epoll = epoll_create1(Int32(O_CLOEXEC))
    guard epoll >= 0 else { throw .system("epoll") }
    guard linux_epoll_ctl(epoll, EPOLL_CTL_ADD, timer.fd, linux_epollin()) == 0 else {
      let number = linux_errno()
      _ = close(epoll)
      throw .system("timer", number)
    }
    self.init(epoll, timer)
  }

  private init(_ fd: Int32, _ timer: DeadlineTimer) {
    self.fd = Descriptors.own(fd)
    self.timer = timer
  }

  deinit { Descriptors.close(fd) }

  /// Adds a socket. Invariant: there is none.
  public func setSocket(_ socket: Int32) throws(SegueError) {
    guard linux_epoll_ctl(fd, EPOLL_CTL_ADD, socket, linux_epollin()) == 0 else { throw .system("watching a socket") }
    self.socket = socket
    socketEvents = linux_epollin()
  }

  /// Removes the socket, which its owner closes.
  public func dropSocket() {
    guard socket >= 0 else { return }
    _ = linux_epoll_ctl(fd, EPOLL_CTL_DEL, socket, 0)
    socket = -1
  }

  /// The events of the socket to poll: none while another thread waits for it.
  public func show(reading: Bool, writing: Bool) {
    let events = (reading ? linux_epollin() : 0) | (writing ? linux_epollout() : 0)
    guard socket >= 0, events != socketEvents else { return }
    socketEvents = events
    _ = linux_epoll_ctl(fd, EPOLL_CTL_MOD, socket, events)
  }

  /// - Parameter deadline: as for `DeadlineTimer.set`.
  public func setDeadline(_ deadline: Int64?) { timer.set(deadline) }

  /// Unsets the deadline if it has passed, or will very soon.
  public func clearDeadline(_ uptime: Int64) { timer.clear(uptime) }
}
