// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem
import SegueTransport

/// `segue-agent --stdio`: the far end of a command that leads to this device (R14.4). Passes bytes between its standard
/// input and output and the agent, until one of them ends, and reads none of them.
enum StandardLink {
  /// Bytes that wait in one direction.
  private static let room = 64 * 1024
  /// Milliseconds for the agent to end after the standard input has.
  private static let endingTime: Int64 = 10_000

  /// - Returns: the exit status.
  static func run() -> Int32 {
    linux_ignore_pipe_signal()
    if isatty(0) != 0 {
      return refuse("--stdio is for a command such as `ssh`, and not for a terminal")
    }
    do throws(SegueError) {
      let socket = try connect()
      pass(socket)
      return Agent.Status.success.rawValue
    } catch { return refuse(error.message) }
  }

  private static func refuse(_ reason: String) -> Int32 {
    StandardStream.error.write(String(joining: "segue-agent: \(reason)\n"))
    return Agent.Status.failure.rawValue
  }

  private static func connect() throws(SegueError) -> Int32 {
    let runtime = try RuntimeFolder.defaultPath()
    do throws(SegueError) { return try AgentSocket.connect(beside: runtime, to: AgentSocket.linkName) } catch {
      guard error.status == .connectionUnavailable, let other = try? AgentSocket.connect(beside: runtime) else {
        throw error
      }
      _ = close(other)
      throw SegueError(.invalidState, "this device is in no account, so that no other one can be linked")
    }
  }

  private static func pass(_ socket: Int32) {
    var (up, down): ([UInt8], [UInt8]) = ([], [])
    var (hasInput, isShut) = (true, false)
    var hasSocket = true
    var deadline: Int64?
    while hasSocket || !down.isEmpty {
      let fromInput = hasInput && up.count < room
      let fromSocket = hasSocket && down.count < room
      let toSocket = hasSocket && !up.isEmpty
      // A descriptor that has ended, and is not waited for, would be reported again and again.
      var waiting = [
        pollfd(fd: fromInput ? 0 : -1, events: Int16(POLLIN), revents: 0),
        pollfd(
          fd: fromSocket || toSocket ? socket : -1,
          events: Int16((fromSocket ? POLLIN : 0) | (toSocket ? POLLOUT : 0)), revents: 0),
        pollfd(fd: 1, events: Int16(down.isEmpty ? 0 : POLLOUT), revents: 0),
      ]
      let left = deadline.map { Int32(clamping: max(0, $0 - Clock.uptime)) } ?? -1
      guard poll(&waiting, 3, left) != 0 else { return }
      if waiting[0].revents != 0, !read(0, into: &up) { hasInput = false }
      if waiting[1].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0, fromSocket, !read(socket, into: &down) {
        hasSocket = false
      }
      if toSocket, waiting[1].revents & Int16(POLLOUT) != 0 {
        let count = up.withUnsafeBytes { linux_send(socket, $0.baseAddress, $0.count, -1) }
        if count > 0 { up.removeFirst(count) }
        // Nobody takes the rest; what has come from there is still written.
        if count < 0, linux_errno() != EAGAIN, linux_errno() != EINTR { (up, hasInput, isShut) = ([], false, true) }
      }
      // Nobody reads its output any longer.
      if waiting[2].revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { return }
      if waiting[2].revents & Int16(POLLOUT) != 0, !write(&down) { return }
      if !hasInput, up.isEmpty, !isShut {
        isShut = true
        linux_shutdown(socket, 0, 1)
        deadline = Clock.uptime + endingTime
      }
    }
  }

  /// - Returns: whether more may follow.
  private static func read(_ fd: Int32, into buffer: inout [UInt8]) -> Bool {
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: room - buffer.count) { space, size in
      count = CLinux.read(fd, space.baseAddress, space.count)
      size = max(0, count)
    }
    buffer += bytes
    return count > 0 || count < 0 && (linux_errno() == EINTR || linux_errno() == EAGAIN)
  }

  /// - Returns: whether somebody reads.
  private static func write(_ buffer: inout [UInt8]) -> Bool {
    let count = buffer.withUnsafeBytes { linux_write_now(1, $0.baseAddress, $0.count) }
    if count > 0 { buffer.removeFirst(count) }
    return count >= 0 || linux_errno() == EINTR || linux_errno() == EAGAIN
  }
}
