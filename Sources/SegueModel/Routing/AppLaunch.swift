// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The command that starts an app that does not run, or the reason why there is none.
public enum AppLaunch: Sendable {
  case command(LaunchCommand)
  /// No command: the error says which file and key would have it, or why it cannot be used.
  case impossible(SegueError)
}

/// The program of an app, as a `.desktop` file names it. It is never passed to a shell.
public struct LaunchCommand: Sendable {
  /// The program, by its absolute path or to be found in PATH, and its arguments; at least one.
  public let arguments: [String]
  /// The folder in which the program starts, absolute; nil: any.
  public let folder: String?
  /// Whether the program needs a display.
  public let isGraphical: Bool
  /// The name under which the session's bus starts the app; the command is for a bus that does not. Nil: none.
  public let busName: String?

  public init(arguments: [String], folder: String? = nil, isGraphical: Bool = true, busName: String? = nil) {
    self.busName = busName
    self.arguments = arguments
    self.folder = folder
    self.isGraphical = isGraphical
  }
}
