// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The relays that linked devices say they are, and the devices with which each of them is linked (R14.3).
struct RelayDirectory {
  private struct Role {
    let device: Identifier
    var isRelaying: Bool
    var linked: [Identifier]
  }

  /// Those of linked devices alone, at most `Limits.devices`.
  private var roles: [Role] = []
  /// Whether a role was told since `takeNews`.
  private var hasNews = false

  /// A device has told its role.
  mutating func set(_ device: Identifier, isRelaying: Bool, linked: [Identifier]) {
    roles.removeAll { $0.device == device }
    roles.append(Role(device: device, isRelaying: isRelaying, linked: linked))
    roles.removeFirst(max(0, roles.count - Limits.devices))
    hasNews = true
  }

  /// Whether a device has told its role since the last call.
  mutating func takeNews() -> Bool {
    defer { hasNews = false }
    return hasNews
  }

  /// Forgets all but those.
  mutating func keep(_ linked: [Identifier]) { roles.removeAll { !linked.contains($0.device) } }

  /// The reason for which a device does not relay to another one; nil: it does.
  func obstacle(of relay: Identifier, to device: Identifier) -> RelayEnd? {
    guard let role = roles.first(where: { $0.device == relay }), role.isRelaying else { return .off }
    return role.linked.contains(device) ? nil : .notLinked
  }

  /// Whether a device has said whether it passes bytes on.
  func knows(_ device: Identifier) -> Bool { roles.contains { $0.device == device } }
}
