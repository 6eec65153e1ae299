// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The name of an environment variable for a program that is started, and its value.
public struct LaunchVariable: Sendable {
  /// The only names that may be set: of variables that say where a program shows itself, and in which language.
  public static let names = [
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_ID", "LANG",
    "XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID",
  ]

  public let name: String
  public let value: String

  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }

  /// The token of a click, for an app that runs; nil: there is none, or it is too long.
  public static func activationToken(in variables: [LaunchVariable]) -> String? {
    for name in ["XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID"] {
      guard let token = variables.first(where: { Text.isSame($0.name, name) })?.value, !token.utf8.isEmpty else {
        continue
      }
      return Text.size(token) <= Limits.activationToken && !Text.has(token, 0) ? token : nil
    }
    return nil
  }
}
