// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport

/// Accepts what comes at a listening socket, some at a time, and pauses once the system has refused. For the loop.
final class Acceptor {
  /// The result of one attempt to accept.
  enum Attempt {
    case accepted
    /// None waits.
    case none
    /// The system has refused, as without a descriptor: the socket would stay readable for ever.
    case refused
  }

  /// Milliseconds without accepting after that.
  private static let pause: Int64 = 250

  private let timer: LoopTimer
  private let most: Int
  /// Nil once it is closed. What it calls is kept until then.
  private var open: (watch: Watch, accept: () -> Attempt, hasAccepted: () -> Void)?

  /// - Parameters:
  ///   - fd: belongs to the owner, who closes it after `close`.
  ///   - most: attempts in a turn of the loop.
  ///   - accept: makes an attempt. May close this object.
  ///   - hasAccepted: called after those of a turn.
  /// Throws SYSTEM.
  convenience init(
    at fd: Int32, on loop: Loop, most: Int, _ accept: @escaping () -> Attempt, hasAccepted: @escaping () -> Void = {}
  ) throws(SegueError) {
    self.init(try LoopTimer(), most: most)
    do throws(SegueError) {
      try timer.start(on: loop, for: self)
      open = (try Watch(fd, on: loop, for: self), accept, hasAccepted)
    } catch {
      timer.close()
      throw error
    }
  }

  private init(_ timer: LoopTimer, most: Int) { (self.timer, self.most) = (timer, most) }

  /// Accepts a connection at a Unix socket.
  /// - Parameter accepted: called with the connection of a process of this user, which it owns.
  static func accept(_ fd: Int32, _ what: StaticString, _ accepted: (Int32) -> Void) -> Attempt {
    let connection = linux_accept(fd)
    guard connection >= 0 else {
      return [EAGAIN, EINTR, ECONNABORTED].contains(linux_errno()) ? .none : .refused
    }
    if Socket.isOfThisUser(connection) {
      accepted(connection)
    } else {
      Log.error("\(what): refused process \(Socket.peerProcess(connection)), which is another user's")
      Descriptors.closeConnection(connection)
    }
    return .accepted
  }

  func close() {
    guard let open else { return }
    self.open = nil
    timer.close()
    open.watch.close()
  }
}

extension Acceptor: WatchOwner, TimerOwner {
  func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    attempts: for _ in 0..<most {
      guard let open else { return }
      switch open.accept() {
      case .accepted: continue
      case .none: break attempts
      case .refused:
        open.watch.watch(reading: false, writing: false)
        timer.set(Clock.uptime + Self.pause)
        break attempts
      }
    }
    open?.hasAccepted()
  }

  /// The pause is over.
  func timerIsDue(_ timer: LoopTimer) { open?.watch.watch(reading: true, writing: false) }
}
