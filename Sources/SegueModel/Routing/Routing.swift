// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Decides which app may continue an activity (R6.2), or why it may not (R6.5).
public enum Routing {
  /// Raw values are those of `obstacle` in docs/protocol.md.
  public enum Obstacle: UInt64, Sendable {
    case isOrigin = 0
    case teamDiffers = 1
    case typeNotDeclared = 2
    /// The device offers another activity only (R1.12).
    case notFrontmost = 3
    /// It is kept off other devices (R10.2).
    case isPrivate = 4
    /// It names a device of the account without a link.
    case notLinked = 5
    /// It concerns the web page (R12.2): there are two in place of one, whose names are the reason and the message.
    case page = 6
  }

  /// Nil: `receiver` sees the offers of `origin` of this type.
  /// - Parameter isPublic: as the offer says (R13.1). For an app in a sandbox it does not count (R13.8).
  public static func obstacle(
    for receiver: AppIdentity, origin: AppIdentity, type: String, isPublic: Bool
  ) -> Obstacle? {
    receiver.id == origin.id ? .isOrigin : obstacle(for: receiver, team: origin.team, type: type, isPublic: isPublic)
  }

  /// The same for an app of another device, of this team.
  public static func obstacle(for receiver: AppIdentity, team: String, type: String, isPublic: Bool) -> Obstacle? {
    if receiver.isChooser { return nil }
    guard isPublic && !receiver.isSandboxed || Text.isSame(receiver.team, team) else { return .teamDiffers }
    return receiver.declares(type) ? nil : .typeNotDeclared
  }
}
