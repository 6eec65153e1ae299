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

  /// - Returns: the process that has been started.
  mutating func perform(_ request: LaunchRequest) throws(SegueError) -> Int32 {
    try request.check()
    // Only the agent knows which launch is under way, so here none is after this call.
    try gate.begin(request.app, Clock.uptime, until: 0)
    let app = request.app
    let deadline = Clock.uptime + Self.readingTime
    let reader = ManifestReader(.fromEnvironment(), isCancelled: { Clock.uptime > deadline })
    let catalogue = reader.read()
    guard Clock.uptime <= deadline else {
      throw SegueError(.system, "launch of \(app): its manifest was not read within \(Self.readingTime / 1_000) s")
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
}

/// A program that is started for an app.
struct Program {
  let app: String
  /// The desktop id; nil: none.
  let desktopFile: String?
  let command: LaunchCommand
  let environment: [LaunchVariable]

  var arguments: [String] { command.arguments }
  var folder: String? { command.folder }
}
