// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An agent of which nothing is left but its launcher and its confinement: Tests/agent/test_launching.py tells it what
// to do, a line each, with tabs between the words:
//
//   launch APP VARIABLE=VALUE;...|-
//   kind NUMBER | opened APP | launcher | write PATH | execute PATH | signal PROCESS | connect NAME | call NUMBER
//
// Its arguments are the folders in which it may write, or --free: then it is not confined. It says "ready" first, and
// answers each line with one.
import SegueAgentCore
import CLinux
import SegueEngine
import SegueAgent
import SegueModel
import SegueTransport

func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
}

func problem(_ error: SegueError) -> String { "error \(error.status) \(error.message)" }

func split(_ text: String, at separator: Character) -> [String] {
  text.split(separator: separator, omittingEmptySubsequences: false).map { String($0) }
}

func request(_ words: [String]) -> LaunchRequest {
  let variables = words[2] == "-" ? [] : split(words[2], at: ";")
  return LaunchRequest(
    .startApp(words[1]),
    environment: variables.map { variable in
      let parts = split(variable, at: "=")
      return LaunchVariable(name: parts[0], value: parts[1...].joined(separator: "="))
    })
}

func launch(_ request: LaunchRequest, by launcher: Launcher, on loop: Loop) {
  loop.perform {
    do throws(SegueError) {
      try launcher.launch(request) { result in
        switch result {
        case .success(.process(let process)): say("started \(process)")
        case .success(.sandbox(let sandbox)): say("looked \(sandbox?.identifiers ?? [])")
        case .failure(let error): say(problem(error))
        }
      }
    } catch {
      say(problem(error))
    }
  }
}

func outcome(_ result: Int) -> String { result < 0 ? "refused \(String(cString: strerror(linux_errno())))" : "done" }

/// Connects to an abstract socket.
func connect(_ name: String) -> String {
  let fd = linux_notify_socket("@\(name)")
  defer { if fd >= 0 { close(fd) } }
  return outcome(Int(fd))
}

let launcher = try Launcher.start()
let folders = Array(CommandLine.arguments.dropFirst())
let extent = folders == ["--free"] ? "free" : "\(try Confinement.apply(writing: folders))"
let loop = try Loop()
loop.perform {
  do throws(SegueError) {
    try launcher.attach(to: loop) { say("launcher ended") }
  } catch {
    say(problem(error))
  }
}
say("ready \(extent)")

while let line = readLine() {
  let words = split(line, at: "\t")
  switch words[0] {
  case "launch": launch(request(words), by: launcher, on: loop)
  case "kind": launch(LaunchRequest(.unknown(UInt64(words[1])!)), by: launcher, on: loop)
  case "signal": say(outcome(Int(kill(pid_t(words[1])!, 0))))
  case "connect": say(connect(words[1]))
  case "call": say(outcome(linux_call(Int(words[1])!)))
  case "opened":
    loop.perform { launcher.opened(words[1]) }
    say("opened")
  case "launcher": say("launcher \(launcher.process)")
  case "write":
    let fd = linux_openat(AT_FDCWD, words[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    say(fd >= 0 ? "written" : "refused \(String(cString: strerror(linux_errno())))")
    if fd >= 0 { close(fd) }
  case "execute":
    var process: pid_t = 0
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(words[1]), nil]
    let number = posix_spawn(&process, words[1], nil, nil, &arguments, linux_environment())
    say(number == 0 ? "executed" : "refused \(String(cString: strerror(number)))")
  default: say("error: no such command")
  }
}
loop.perform { launcher.close() }
loop.stop()
