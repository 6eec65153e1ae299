// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueEngine
import SegueModel

/// The environment of a program that the launcher starts.
enum ProgramEnvironment {
  /// Variables of the launcher that concern the agent alone, or one earlier launch.
  private static let dropped = [
    "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM",
    "SYSTEMD_EXEC_PID", "MAINPID", "MANAGERPID", "WATCHDOG_PID", "WATCHDOG_USEC", "XDG_ACTIVATION_TOKEN",
    "DESKTOP_STARTUP_ID",
  ]

  /// The launcher's own environment without what concerns the agent, and with what the requester sets: "NAME=value".
  static func of(_ program: Program) -> [String] {
    var environment: [String] = []
    var entry = linux_environment()
    while let text = entry?.pointee {
      let variable = String(cString: text)
      let isReplaced = program.environment.contains { isNamed(variable, $0.name) }
      if !isReplaced, !dropped.contains(where: { isNamed(variable, $0) }) { environment.append(variable) }
      entry = entry?.advanced(by: 1)
    }
    for variable in program.environment { environment.append("\(variable.name)=\(variable.value)") }
    return environment
  }

  /// Whether a graphical program can show itself.
  static func hasDisplay(_ environment: [String]) -> Bool {
    environment.contains { variable in
      ["DISPLAY", "WAYLAND_DISPLAY"].contains { isNamed(variable, $0) && variable.utf8.count > $0.utf8.count + 1 }
    }
  }

  private static func isNamed(_ variable: String, _ name: String) -> Bool {
    variable.utf8.starts(with: name.utf8) && variable.utf8.dropFirst(name.utf8.count).first == UInt8(ascii: "=")
  }
}
