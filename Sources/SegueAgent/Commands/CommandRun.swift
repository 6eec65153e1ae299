// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel
import SegueSystem
import SegueTransport

/// Runs a command until it ends, or the agent does not want it any longer (R14.4): passes the end of its standard input
/// and output to the agent, and then what it writes to standard error. The agent closes its socket to end the command.
/// Only for a process with one thread.
final class CommandRun {
  /// Milliseconds that the command has to end by itself once its input has ended; then until it is killed.
  private static let leaveTime: Int64 = 1_000
  private static let killTime: Int64 = 2_000
  /// The most pieces of standard error that are read in a turn.
  private static let turn = 64
  /// The variables of the launcher that the command gets; `HOME` is its folder, too.
  static let variables = [
    "HOME", "PATH", "LANG", "LC_ALL", "USER", "LOGNAME", "SHELL", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "KRB5CCNAME",
  ]

  /// The progress of its end.
  private enum Ending {
    case none
    /// The agent has gone: SIGTERM follows at that uptime.
    case leaving(until: Int64)
    /// SIGKILL follows at that uptime.
    case terminating(until: Int64)
    case killed
  }

  private let socket: Int32
  private var ending = Ending.none
  /// Bytes of standard error that may still be passed on.
  private var errorsLeft = CommandReport.errorLimit

  /// - Parameter socket: keeps messages apart; the agent has the other end.
  init(reportingTo socket: Int32) { self.socket = socket }

  func run(_ arguments: Result<[String], SegueError>) {
    var (data, errors): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
    let process: Int32
    do throws(SegueError) {
      let words = try arguments.get()
      guard linux_socket_pair(&data) == 0, linux_pipe(&errors) == 0 else { throw .system("paths: \(words[0])") }
      process = try Self.start(words, data[1], errors[1])
    } catch {
      return report(.ended(error.message))
    }
    for end in [data[1], errors[1]] { _ = close(end) }
    report(.started, with: data[0])
    _ = close(data[0])
    _ = linux_prepare(errors[0])
    watch(process, errors[0])
  }

  // MARK: The command

  /// - Returns: the process. Throws SYSTEM.
  private static func start(_ words: [String], _ data: Int32, _ errors: Int32) throws(SegueError) -> Int32 {
    let (arguments, files) = (CStrings(words), CStrings(ProgramStart.files(of: words[0])))
    let variables = CStrings(environment)
    let home = CStrings([Environment.variable("HOME") ?? "/"])
    let process = linux_fork()
    guard process >= 0 else { throw .system("starting \(words[0])") }
    guard process == 0 else { return process }
    // A session of its own has no terminal, where ssh would ask for a password.
    if setsid() < 0 { _exit(127) }
    linux_reset_signals()
    if let path = home.pointers.pointee { _ = chdir(path) }
    if dup2(data, 0) < 0 || dup2(data, 1) < 0 || dup2(errors, 2) < 0 || linux_close_on_exec_from(3) != 0 { _exit(127) }
    var problem = ENOENT
    var file = files.pointers
    while let path = file.pointee {
      _ = execve(path, arguments.pointers, variables.pointers)
      if ![ENOENT, ENOTDIR].contains(linux_errno()) { problem = linux_errno() }
      file += 1
    }
    let reason =
      problem == ENOEXEC ? "is no program, and no script that begins with #!" : String(cString: strerror(problem))
    StandardStream.error.write(String(joining: "\(words[0]): \(reason)\n"))
    _exit(127)
  }

  /// The environment of a command, with nothing else of the agent's: no display either, where ssh would ask for a
  /// password.
  private static var environment: [String] {
    var all: [String] = ["SSH_ASKPASS_REQUIRE=never"]
    for name in variables {
      if let value = Environment.variable(name) { all.append(String(joining: "\(name)=\(value)")) }
    }
    return all
  }

  // MARK: Watching

  /// Passes on what the command writes to standard error, until it has ended.
  private func watch(_ process: Int32, _ errors: Int32) {
    let descriptor = linux_pidfd_open(process)
    var hasErrors = true
    while true {
      var waiting = [
        pollfd(fd: socket, events: 0, revents: 0),
        pollfd(fd: hasErrors ? errors : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      ]
      if isLeft { waiting[0].fd = -1 }
      _ = poll(&waiting, 3, timeout(descriptor))
      if waiting[1].revents != 0 { hasErrors = pass(errors) }
      if waiting[0].revents != 0 { ending = .leaving(until: Clock.uptime + Self.leaveTime) }
      advance(process)
      var status: Int32 = 0
      let ended = waitpid(process, &status, WNOHANG)
      if ended == process || ended < 0 && linux_errno() != EINTR {
        _ = pass(errors)
        // Others of its group may hold the output.
        kill(-process, SIGTERM)
        return report(.ended(Self.text(of: status)))
      }
    }
  }

  private var isLeft: Bool { if case .none = ending { false } else { true } }

  /// Milliseconds until something is to be done.
  private func timeout(_ descriptor: Int32) -> Int32 {
    // A kernel that gives no descriptor of a process does not tell of its end either.
    let longest: Int64 = descriptor < 0 ? 200 : -1
    switch ending {
    case .none: return Int32(longest)
    case .leaving(let until), .terminating(let until): return Int32(clamping: max(0, until - Clock.uptime) + 1)
    case .killed: return 200
    }
  }

  private func advance(_ process: Int32) {
    switch ending {
    case .leaving(let until) where until <= Clock.uptime:
      kill(-process, SIGTERM)
      ending = .terminating(until: Clock.uptime + Self.killTime)
    case .terminating(let until) where until <= Clock.uptime:
      kill(-process, SIGKILL)
      ending = .killed
    case .none, .leaving, .terminating, .killed: break
    }
  }

  /// Passes on some of what the command has written: a flood holds up nothing else.
  /// - Returns: whether more may follow.
  private func pass(_ errors: Int32) -> Bool {
    for _ in 0..<Self.turn {
      var count = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: CommandReport.pieceSize) { buffer, size in
        count = read(errors, buffer.baseAddress, buffer.count)
        size = max(0, count)
      }
      if count < 0, linux_errno() == EINTR { continue }
      guard count > 0 else { return count < 0 && linux_errno() == EAGAIN }
      let piece = Array(bytes.prefix(errorsLeft))
      errorsLeft -= piece.count
      if !piece.isEmpty { report(.said(piece)) }
    }
    return true
  }

  private static func text(of status: Int32) -> String {
    let signal = status & 0x7F
    let code = status >> 8 & 0xFF
    if signal != 0 { return String(joining: "the command was ended by signal \(Int(signal))") }
    return String(joining: "the command ended with status \(Int(code))")
  }

  /// A message that the agent has no room for is lost, except the last one, which waits for a second.
  private func report(_ report: CommandReport, with descriptor: Int32 = -1) {
    let bytes = report.encoding
    var waits = if case .said = report { false } else { true }
    while true {
      let sent = bytes.withUnsafeBytes { linux_send(socket, $0.baseAddress, $0.count, descriptor) }
      if sent >= 0 { return }
      if linux_errno() == EINTR { continue }
      guard linux_errno() == EAGAIN, waits else { return }
      waits = false
      var room = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
      _ = poll(&room, 1, 1_000)
    }
  }
}
