// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem
import SegueTransport

/// Starts programs, each in a session and, where the user's systemd answers, in a scope of its own, with nothing of the
/// launcher's but its environment. Only for a process with one thread.
enum ProgramStart {
  /// Milliseconds until the system must have executed a program: its file may be on a slow or dead file system, and
  /// before that systemd has `ProgramScope.time`.
  private static let executionTime: Int32 = 5_000

  /// The step in which the child failed.
  private enum Stage: Int32 {
    case session = 1
    case folder
    case streams
    /// The file is not there, or is none if the number is 0.
    case file
    case execution
  }

  /// - Returns: the process, which executes the program.
  /// Throws SYSTEM, NOT_FOUND (no such program), INVALID_STATE (no display).
  static func start(_ program: Program) throws(SegueError) -> Int32 {
    let environment = ProgramEnvironment.of(program)
    if program.command.isGraphical, !ProgramEnvironment.hasDisplay(environment) {
      throw SegueError(
        .invalidState, "launch of \(program.app): no display: neither DISPLAY nor WAYLAND_DISPLAY is set")
    }
    var ends: [Int32] = [-1, -1]
    guard linux_pipe(&ends) == 0 else { throw .system("launch of \(program.app)") }
    let arguments = CStrings(program.arguments)
    let files = CStrings(Self.files(of: program.arguments[0]))
    let variables = CStrings(environment)
    let file = program.file.map { CStrings([$0]) }
    let (scope, activation) = (Self.scope(of: program), ProgramActivation(program))
    let process = linux_fork()
    guard process >= 0 else {
      let number = linux_errno()
      for end in ends { _ = close(end) }
      throw .system("launch of \(program.app)", number)
    }
    if process == 0 {
      become(program, activation, scope, file, files, arguments, variables, reportingTo: ends[1])
    }
    _ = close(ends[1])
    defer { _ = close(ends[0]) }
    if let error = failure(of: program, process, readFrom: ends[0]) { throw error }
    return process
  }

  /// Nil if the user has no bus, or a sandbox refuses random numbers.
  private static func scope(of program: Program) -> ProgramScope? {
    let address = Environment.variable("DBUS_SESSION_BUS_ADDRESS")
    let runtimeFolder = Environment.variable("XDG_RUNTIME_DIR")
    guard ProgramScope.hasBus(address: address, runtimeFolder: runtimeFolder), let random = try? RandomBytes.draw(8)
    else { return nil }
    return ProgramScope(desktopFile: program.desktopFile ?? program.app, random: random)
  }

  /// The paths at which a program may be: its own if it has a slash, else one in each folder of PATH.
  static func files(of program: String) -> [String] {
    guard !program.utf8.contains(UInt8(ascii: "/")) else { return [program] }
    let path = Environment.variable("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
    return path.utf8.split(separator: UInt8(ascii: ":")).filter { $0.first == UInt8(ascii: "/") }.map { folder in
      String(joining: "\(String(decoding: Array(folder), as: UTF8.self))/\(program)")
    }
  }

  /// In the child: executes the program, or writes why not. It does not use `execvp`, which gives a file that is no
  /// program to a shell.
  private static func become(
    _ program: Program, _ activation: ProgramActivation?, _ scope: ProgramScope?, _ document: CStrings?,
    _ files: CStrings, _ arguments: CStrings, _ variables: CStrings, reportingTo pipe: Int32
  ) -> Never {
    func fail(_ stage: Stage, _ number: Int32 = linux_errno()) -> Never {
      var report: [Int32] = [stage.rawValue, number]
      _ = write(pipe, &report, 8)
      _exit(127)
    }
    if setsid() < 0 { fail(.session) }
    linux_reset_signals()
    // The bus starts the program, and no process of the agent becomes it.
    if let activation, activation.begin() { _exit(0) }
    scope?.enter()
    if let folder = program.folder, chdir(folder) != 0 { fail(.folder) }
    if linux_redirect_to_null() != 0 || linux_close_on_exec_from(3) != 0 { fail(.streams) }
    // A program would wait for a pipe. A file system that does not answer holds up this child alone.
    if let path = document?.pointers.pointee {
      var status = stat()
      if stat(path, &status) != 0 { fail(.file) }
      if linux_is_file(&status) == 0, linux_is_folder(&status) == 0 { fail(.file, 0) }
    }
    var problem = ENOENT
    var file = files.pointers
    while let path = file.pointee {
      _ = execve(path, arguments.pointers, variables.pointers)
      switch linux_errno() {
      case ENOENT, ENOTDIR: break
      // Another folder of PATH may have it.
      case EACCES: problem = EACCES
      default: fail(.execution)
      }
      file += 1
    }
    fail(.execution, problem)
  }

  /// Waits until the program is executed, or the child says why not. Nil if it is executed.
  private static func failure(of program: Program, _ process: Int32, readFrom pipe: Int32) -> SegueError? {
    let deadline = Clock.uptime + Int64(executionTime)
    var report: [Int32] = [0, 0]
    while true {
      var waiting = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
      let ready = poll(&waiting, 1, Int32(clamping: max(0, deadline - Clock.uptime)))
      if ready < 0, linux_errno() == EINTR { continue }
      if ready == 0 {
        kill(process, SIGKILL)
        return SegueError(.system, "launch of \(program.app): \(program.arguments[0]) was not executed within 5 s")
      }
      let count = read(pipe, &report, 8)
      if count < 0, linux_errno() == EINTR { continue }
      // The pipe closes when the program is executed.
      guard count == 8 else { return nil }
      break
    }
    let cause = String(cString: strerror(report[1]))
    switch Stage(rawValue: report[0]) {
    case .folder: return SegueError(.notFound, "launch of \(program.app): folder \(program.folder ?? ""): \(cause)")
    case .file where report[1] == 0:
      return SegueError(.wrongKind, "launch of \(program.app): \(program.file ?? "") is neither a file nor a folder")
    case .file: return SegueError(.notFound, "launch of \(program.app): \(program.file ?? ""): \(cause)")
    case .execution where report[1] == ENOEXEC:
      return SegueError(
        .system,
        """
        launch of \(program.app): \(program.arguments[0]): is no program of this system, and no script that begins \
        with #!
        """)
    case .execution:
      let status: Status = report[1] == ENOENT || report[1] == ENOTDIR ? .notFound : .system
      return SegueError(status, "launch of \(program.app): \(program.arguments[0]): \(cause)")
    case .session, .streams, nil: return SegueError(.system, "launch of \(program.app): \(cause)")
    }
  }
}

/// Strings for `execve`: pointers to copies, and a null at the end. Never freed by the child, which becomes a program.
final class CStrings {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ strings: [String]) {
    count = strings.count
    pointers = .allocate(capacity: count + 1)
    for (index, string) in strings.enumerated() { (pointers + index).initialize(to: strdup(string)) }
    (pointers + count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { free(pointers[index]) }
    pointers.deallocate()
  }
}
