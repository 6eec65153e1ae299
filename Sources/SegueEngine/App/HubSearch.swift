import SegueModel

/// What an app does when its hub is of no use to it: whether it is patient, or looks for another. How hubs are found is
/// its owner's affair (docs/decisions/numbered-generations.md).
public struct HubSearch {
  /// Times that a hub turns an app away before it looks for another: about as long as it waits for a silent one.
  private static let refusalLimit = 10
  /// Milliseconds before an app asks a hub again that has turned it away.
  private static let refusalTime: Int64 = 50
  /// Times that a hub which is busy, but lives, is given more time: about 10 s.
  private static let extensionLimit = 20
  /// Milliseconds before an app asks a hub again that speaks another protocol.
  private static let versionTime: Int64 = 30_000

  /// How often in a row a hub has closed the connection before it said welcome.
  private var refusals = 0
  /// How often in a row a hub that does not answer was given more time.
  private var extensions = 0

  public enum Step: Sendable {
    /// Gives the hub as long again (`AppEngine.waitForHub`).
    case wait
    /// Looks for a hub of this generation at least, and becomes it if there is none.
    case seek(minimum: UInt64)
    /// Looks again after so many milliseconds, or as soon as there is a hub of a higher generation.
    case seekLater(Int64)
  }

  public init() {}

  /// The hub has shown a sign of life, or it is another one.
  public mutating func heard() { extensions = 0 }

  /// The hub has closed the connection: it ends, or has no room. One that is there and turns us away again and again is
  /// no better than one that says nothing.
  /// - Parameter hubLives: whether it has served anybody of late.
  public mutating func lost(_ generation: UInt64, wasWelcome: Bool, hubLives: () -> Bool) -> Step {
    refusals = wasWelcome ? 0 : refusals + 1
    if refusals <= 1 { return .seek(minimum: 1) }
    if refusals < Self.refusalLimit || refusals < Self.refusalLimit * Self.extensionLimit && hubLives() {
      return .seekLater(Self.refusalTime)
    }
    refusals = 0
    return .seek(minimum: generation + 1)
  }

  /// The engine wants another hub. Unless the step is to wait, the connection to this one is to be given up.
  public mutating func heed(
    _ complaint: HubComplaint, _ generation: UInt64, wasWelcome: Bool, hubLives: () -> Bool
  ) -> Step {
    switch complaint {
    case .silent:
      if extensions < Self.extensionLimit, hubLives() {
        extensions += 1
        return .wait
      }
      return .seek(minimum: generation + 1)
    case .nonsense, .older: return .seek(minimum: generation + 1)
    case .refused(let error):
      if error.status == .unsupportedVersion { return .seekLater(Self.versionTime) }
      return lost(generation, wasWelcome: wasWelcome, hubLives: hubLives)
    }
  }
}
