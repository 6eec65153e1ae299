// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueTransport

/// Has the commands of the user started by the launcher (R14.4), and accepts what comes by those of other devices. For
/// the loop.
public final class CommandLauncher: CommandTransport {
  private let launcher: Launcher
  private let loop: Loop
  /// The path of the agent's folder.
  private let folder: String
  private let lists: HelperClient
  public var name: ((Identifier) -> String)?

  public init(_ launcher: Launcher, in folder: String, on loop: Loop) {
    (self.launcher, self.folder, self.loop) = (launcher, folder, loop)
    lists = HelperClient(launcher, on: loop, time: CommandList.time + 1_000, sizeLimit: CommandList.sizeLimit)
  }

  /// Throws SYSTEM.
  func open() throws(SegueError) { try lists.open() }
  func close() { lists.close() }

  public func find(_ done: @escaping (Result<[DeviceCommand], SegueError>) -> Void) {
    lists.run(LaunchRequest(.listCommands)) { end in
      switch end {
      case .output(let bytes): done(CommandList.decode(bytes))
      case .late, .tooLong: done(.failure(SegueError(.system, "paths: the process that reads them does not end")))
      case .notStarted(let reason): done(.failure(SegueError(.system, "paths: \(reason)")))
      }
    }
  }

  public func start(to device: Identifier) throws(SegueError) -> any LinkSocket {
    let name = name?(device) ?? device.fingerprint
    return try CommandConnection(to: name, on: loop) { [launcher] end, done throws(SegueError) in
      try launcher.launch(LaunchRequest(.runCommand(device)), with: end) { result in
        if case .failure(let error) = result { done(error) }
      }
    }
  }

  public func listen(
    accepted: @escaping (any LinkSocket) -> Void, hasAccepted: @escaping () -> Void
  ) throws(SegueError) -> any LinkListener {
    try CommandListener(in: folder, on: loop, accepted, hasAccepted)
  }
}
