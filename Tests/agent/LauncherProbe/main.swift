// An agent of which nothing is left but its launcher and its confinement: Tests/agent/test_launching.py tells it what
// to do, a line each, with tabs between the words:
//
//   launch APP GRAPHICAL(0|1) FOLDER|- VARIABLE=VALUE;...|- PROGRAM ARGUMENT...
//   opened APP | launcher | write PATH | execute PATH
//
// Its arguments are the folders in which it may write; it says "ready" first, and answers each line with one.
import CLinux
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
  let variables = words[4] == "-" ? [] : split(words[4], at: ";")
  return LaunchRequest(
    app: words[1], arguments: Array(words[5...]), folder: words[3] == "-" ? nil : words[3],
    environment: variables.map { variable in
      let parts = split(variable, at: "=")
      return LaunchRequest.Variable(name: parts[0], value: parts[1...].joined(separator: "="))
    }, isGraphical: words[2] == "1")
}

let launcher = try Launcher.start()
let extent = try Confinement.apply(writing: Array(CommandLine.arguments.dropFirst()))
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
  case "launch":
    loop.perform {
      do throws(SegueError) {
        try launcher.launch(request(words)) { result in
          switch result {
          case .success(let process): say("started \(process)")
          case .failure(let error): say(problem(error))
          }
        }
      } catch {
        say(problem(error))
      }
    }
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
