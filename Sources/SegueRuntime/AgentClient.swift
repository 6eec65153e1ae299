// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// Asks the agent of this user something at its second socket, and waits on the calling thread (docs/protocol.md).
public enum AgentClient {
  /// Milliseconds for an answer that needs the agent and its disk alone.
  static let answerTime: Int64 = 30_000
  /// Milliseconds: the timeout of a call that gives none, SEGUE_LIMIT_CONTINUATION_MS as far as the agent takes it.
  public static var usualTimeout: Int64 { min(ProcessLimits.current.continuation, Limits.longestAsk) }
  /// The environment variables for a program that the agent launches: they name its display, session and language.
  private static let variables: [StaticString] = [
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_ID", "LANG",
    "XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID",
  ]

  /// - Parameters:
  ///   - request: a dictionary, with the name of the request under "ask".
  ///   - socket: a new connection to the agent, which the caller closes. Shut down, it ends the wait.
  ///   - deadline: the uptime at which the call ends.
  /// Throws CONNECTION_UNAVAILABLE if the agent ends; REMOTE_APPLICATION_TIMED_OUT; SYSTEM if the system refuses to
  /// send or to wait; what it answers.
  static func ask(
    _ request: Value, over socket: Int32, until deadline: Int64
  ) throws(SegueError) -> Value {
    let link = FramedConnection(side: .connecting)
    var writer = MessageWriter()
    try writer.send(.ask(1, request.encoding), over: link)
    while true {
      var refusal: Int32?
      while link.takeOutput({ bytes in
        if case .bytes(let count) = Socket.write(bytes, -1, to: socket) { return count }
        refusal = linux_errno()
        return 0
      }) {}
      // Nothing says when the system has memory again: the socket is writable all the time.
      if let refusal { throw .system("asking the agent", refusal) }
      try wait(for: socket, toWrite: link.hasOutput, until: deadline)
      let result = Socket.read(socket, atMost: link.readSize) { bytes, came in
        came.discard()
        link.receive(bytes)
      }
      if let answer = try answer(link) { return answer }
      if result == .closed { throw ending(of: socket) }
    }
  }

  /// Why a connection is of no further use: a sandbox, or a system without memory, may refuse what reads or writes it.
  private static func ending(of socket: Int32) -> SegueError {
    var (byte, hasDescriptors): (UInt8, Int32) = (0, 0)
    for isSending in [true, false] {
      let result =
        isSending
        ? linux_send(socket, &byte, 0, -1) : linux_peek(socket, &byte, 1, Int32(MSG_DONTWAIT), &hasDescriptors)
      guard result < 0 else { continue }
      switch linux_errno() {
      case let number where number == EPERM || number == EACCES || number == ENOSYS || number == ENOMEM:
        return .system("asking the agent", number)
      default: continue
      }
    }
    return SegueError(.connectionUnavailable, "the agent has ended")
  }

  private static func wait(for socket: Int32, toWrite: Bool, until deadline: Int64) throws(SegueError) {
    let left = deadline - Clock.uptime
    guard left > 0 else { throw SegueError(.remoteApplicationTimedOut, "the agent does not answer") }
    var descriptor = pollfd(fd: socket, events: Int16(POLLIN) | (toWrite ? Int16(POLLOUT) : 0), revents: 0)
    guard poll(&descriptor, 1, Int32(clamping: left)) >= 0 || linux_errno() == EINTR else {
      throw .system("waiting for the agent")
    }
  }

  private static func answer(_ link: FramedConnection) throws(SegueError) -> Value? {
    while let event = try link.nextEvent() {
      guard case .message = event, let message = try link.takeMessage(Message.decode) else { continue }
      switch message {
      case .answer(1, let error, let bytes):
        if let error { throw error }
        return try Value(cbor: bytes)
      case .goodbye(let error): throw error
      default: break
      }
    }
    return nil
  }

  /// The variables of this process that a launched program gets.
  static func environment() throws(SegueError) -> Value {
    var entries: [(key: Value, value: Value)] = []
    for variable in variables {
      let name = String(joining: "\(variable)")
      // A program with more rights than its user must not follow its user's environment.
      if let value = Environment.variable(name) { entries.append((key: .string(name), value: .string(value))) }
    }
    return try .dictionary(entries)
  }
}
