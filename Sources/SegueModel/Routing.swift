/// Which app may continue what (R6.2), and why not (R6.5).
public enum Routing {
  public enum Obstacle: Sendable {
    case isOrigin
    case teamDiffers
    case typeNotDeclared
    /// The device offers another activity only (R1.12).
    case notFrontmost
  }

  /// Nil: `receiver` sees the offers of `origin` of this type.
  public static func obstacle(for receiver: AppIdentity, origin: AppIdentity, type: String) -> Obstacle? {
    if receiver.id == origin.id { return .isOrigin }
    if receiver.isChooser { return nil }
    guard Text.isSame(receiver.team, origin.team) else { return .teamDiffers }
    return receiver.declares(type) ? nil : .typeNotDeclared
  }
}
