// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueManifests
import SegueModel
import SegueSystem
import SegueTransport

/// Handles a request in the launcher. It trusts nothing that the agent says of an app but its bundle identifier:
/// the manifest and the `.desktop` file are read here.
struct LauncherService {
  /// Milliseconds that reading the manifests may take: the agent waits 10 s for an answer, of which the program has 5.
  private static let readingTime: Int64 = 4_000

  /// An agent that is taken over could start the same app again and again.
  private var gate = LaunchGate()

  /// Processes that ask sites: all sites of a device are asked when it starts, each by two paths.
  private var sites = RateLimiter(burst: 2 * Limits.domains)
  /// Processes that look names up: all of them when the network changes, and then as many as can run at a time.
  private var names = RateLimiter(burst: 64, perSecond: NameLookup.limit)

  /// Processes that read which devices have a command: one when the agent starts, and when the user changes them.
  private var lists = RateLimiter(burst: 16)
  /// Commands that lead to devices: those of all devices at once, and then one in `commandPause`.
  private var commands = RateLimiter(burst: 32)
  /// Seconds.
  private static let commandPause: Int64 = 5

  /// - Parameter descriptor: what came with the request; negative: nothing.
  mutating func perform(
    _ request: LaunchRequest, with descriptor: Int32 = -1
  ) throws(SegueError) -> LaunchReply.Answer {
    try request.check()
    guard case .lookAtProcess = request.kind else { return .process(try start(request, with: descriptor)) }
    guard descriptor >= 0 else { throw SegueError(.invalidArgument, "launch: look: no process came with it") }
    switch PeerSandbox.look(at: descriptor) {
    case .free: return .sandbox(nil)
    case .sandboxed(let sandbox): return .sandbox(sandbox)
    case .refused(let error): throw error
    }
  }

  /// - Returns: the process that has been started.
  private mutating func start(_ request: LaunchRequest, with descriptor: Int32) throws(SegueError) -> Int32 {
    switch request.kind {
    case .fetchSite(let fetch): return try ask(fetch, output: descriptor)
    case .lookUp(let name): return try look(up: name, output: descriptor)
    case .listCommands: return try list(output: descriptor)
    case .runCommand(let device): return try run(to: device, output: descriptor)
    case .startApp, .openPage, .openDocument, .lookAtProcess, .unknown: break
    }
    // Only the agent knows which launch is under way, so here none is after this call.
    if let rate = request.rate { try gate.begin(rate.name, Clock.uptime, until: 0, atMost: rate.limit) }
    let app = request.app
    let deadline = Clock.uptime + Self.readingTime
    let reader = ManifestReader(.fromEnvironment(), isCancelled: { Clock.uptime > deadline })
    let catalogue = reader.read()
    guard Clock.uptime <= deadline else {
      throw SegueError(.system, "launch of \(app): its manifest was not read within \(Self.readingTime / 1_000) s")
    }
    if case .openPage(let page, let browser) = request.kind {
      return try open(page, in: browser, reader, request.environment)
    }
    if case .openDocument(let document, let opener) = request.kind {
      return try open(document, with: opener, reader, request.environment)
    }
    guard let declaration = catalogue[app] else {
      throw SegueError(.notFound, "launch of \(app): no manifest describes it")
    }
    switch declaration.launch {
    case .impossible(let error): throw SegueError(error.status, "launch of \(app): \(error.message)")
    case .command(let command):
      return try ProgramStart.start(
        Program(app: app, desktopFile: declaration.desktopFile, command: command, environment: request.environment))
    }
  }

  private mutating func ask(_ fetch: SiteFetch, output: Int32) throws(SegueError) -> Int32 {
    guard output >= 0 else { throw SegueError(.invalidArgument, "launch: site: nothing takes its answer") }
    guard sites.take(at: Clock.uptime) else { throw SegueError(.limitExceeded, "launch: too many sites are asked") }
    return try HelperProcess.start([SiteFetchProcess.name] + fetch.words, output: output)
  }

  private mutating func look(up name: DeviceHostName, output: Int32) throws(SegueError) -> Int32 {
    guard output >= 0 else { throw SegueError(.invalidArgument, "launch: name: nothing takes its addresses") }
    guard names.take(at: Clock.uptime) else {
      throw SegueError(.limitExceeded, "\(name.text): too many names are looked up")
    }
    return try HelperProcess.start([NameLookupProcess.name, name.text], output: output)
  }

  private mutating func list(output: Int32) throws(SegueError) -> Int32 {
    guard output >= 0 else { throw SegueError(.invalidArgument, "launch: paths: nothing takes them") }
    guard lists.take(at: Clock.uptime) else { throw SegueError(.limitExceeded, "paths: they are read too often") }
    return try HelperProcess.start([CommandProcess.name], output: output)
  }

  /// Runs the command of the user for a device (R14.4). The agent names the device, so an attacker in the agent can
  /// start what the user has set, and nothing else (A27).
  private mutating func run(to device: Identifier, output: Int32) throws(SegueError) -> Int32 {
    guard output >= 0 else { throw SegueError(.invalidArgument, "launch: command: nothing takes its report") }
    // The limiter counts seconds of its own.
    guard commands.take(at: Clock.uptime / Self.commandPause) else {
      throw SegueError(.limitExceeded, "too many commands to devices are started")
    }
    return try HelperProcess.start([CommandProcess.name, device.text], output: output)
  }

  /// Starts a browser with a page (R12.3). The agent names one of those that the user has installed: an attacker in the
  /// agent could open pages, and nothing else (A27).
  private func open(
    _ page: String, in browser: String, _ reader: ManifestReader, _ environment: [LaunchVariable]
  ) throws(SegueError) -> Int32 {
    guard let known = reader.browsers[browser] else {
      throw SegueError(.notFound, "launch of \(browser): no such browser is installed")
    }
    let command: LaunchCommand
    do throws(SegueError) {
      command = try reader.command(opening: page, in: known)
    } catch {
      throw SegueError(error.status, "launch of \(browser): \(error.message)")
    }
    return try ProgramStart.start(
      Program(app: browser, desktopFile: known.desktopFile, command: command, environment: environment))
  }

  /// Starts a program with a file (R13.7). The agent names one of the openers that are installed, and texts that the
  /// table of public types allows: an attacker in the agent could open files of the user in programs that show them,
  /// and nothing else (A27).
  private func open(
    _ document: OpenedDocument, with opener: String, _ reader: ManifestReader, _ environment: [LaunchVariable]
  ) throws(SegueError) -> Int32 {
    let command: LaunchCommand
    do throws(SegueError) {
      command = try reader.command(opening: document, with: opener)
    } catch {
      throw SegueError(error.status, "launch of \(opener): \(error.message)")
    }
    return try ProgramStart.start(
      Program(app: opener, desktopFile: nil, command: command, file: document.path, environment: environment))
  }
}

/// A program that is started for an app.
struct Program {
  let app: String
  /// The desktop id; nil: none.
  let desktopFile: String?
  let command: LaunchCommand
  /// A regular file or a folder that has to be there; nil: none.
  var file: String?
  let environment: [LaunchVariable]

  var arguments: [String] { command.arguments }
  var folder: String? { command.folder }
}
