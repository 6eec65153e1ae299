import SegueEngine
import SegueModel

/// Decides what an app does when its hub is of no use to it: whether it is patient, or looks for another. How hubs are
/// found is for `HubElection`.
struct HubFailoverPolicy {
  /// Times that a hub turns an app away before it looks for another: about as long as it waits for a silent one.
  private static let refusalLimit = 10
  /// Milliseconds before an app asks a hub again that has turned it away.
  private static let refusalTime: Int64 = 50
  /// Times that a hub which is busy, but lives, is given more time: about 10 s.
  private static let extensionLimit = 20
  /// Milliseconds before an app asks a hub again that has no room for one more of its process: no other would have more.
  private static let crowdedTime: Int64 = 1_000
  /// Milliseconds before an app asks a hub again that speaks another protocol.
  private static let versionTime: Int64 = 30_000

  /// Losses of hubs at once that an app follows without waiting.
  private static let burst = 20
  /// Milliseconds for each loss beyond those: a hub that welcomes everybody and says goodbye is visited no more often.
  private static let pace: Int64 = 200
  /// Milliseconds of a connection that was of use: one that ends sooner counts as refused.
  private static let usefulTime: Int64 = 1_000

  /// How often in a row a hub has closed the connection before it was of use.
  private var refusals = 0
  /// Of the hub that has.
  private var refusing: UInt64 = 0
  /// The uptime until which all losses of late are paid for, each with `pace`.
  private var paidUntil: Int64 = 0
  private var connectedAt: Int64 = 0
  /// How often in a row the system has refused what is needed.
  private var failures = 0
  /// Milliseconds until that is tried again: the first time, and at most.
  private static let failureTime: Int64 = 1_000
  private static let longestFailureTime: Int64 = 16_000
  /// How often in a row a hub that does not answer was given more time.
  private var extensions = 0

  enum Step {
    /// Gives the hub as long again (`AppEngine.waitForHub`).
    case keep
    /// Leaves the hub.
    case leave(HubSearch)
  }

  /// The hub has shown a sign of life.
  mutating func heard() { extensions = 0 }

  /// It is another hub.
  mutating func connected(_ now: Moment) {
    extensions = 0
    failures = 0
    connectedAt = now.uptime
  }

  /// The system refused what is needed to find a hub, or to be one.
  /// - Returns: milliseconds after which it is tried again.
  mutating func failed() -> Int64 {
    failures += 1
    return min(Self.failureTime << Int64(min(failures - 1, 10)), Self.longestFailureTime)
  }

  /// The hub has closed the connection: it ends, or has no room. One that is there and turns us away again and again is
  /// no better than one that says nothing.
  /// - Parameter hubLives: whether it has served anybody of late.
  mutating func lost(
    _ generation: UInt64, wasWelcome: Bool, _ now: Moment, hubLives: () -> Bool
  ) -> HubSearch {
    if wasWelcome && now.uptime - connectedAt >= Self.usefulTime || generation != refusing { refusals = 0 }
    refusing = generation
    refusals += 1
    if refusals <= 1 { return seek(minimum: 1, now) }
    if refusals < Self.refusalLimit || refusals < Self.refusalLimit * Self.extensionLimit && hubLives() {
      return .retry(generation, after: Self.refusalTime)
    }
    refusals = 0
    return seek(minimum: generation + 1, now)
  }

  /// The engine wants another hub. Unless the step is to wait, the connection to this one is to be given up.
  mutating func handle(
    _ fault: HubComplaint, _ generation: UInt64, wasWelcome: Bool, _ now: Moment, hubLives: () -> Bool
  ) -> Step {
    switch fault {
    case .silent:
      if extensions < Self.extensionLimit, hubLives() {
        extensions += 1
        return .keep
      }
      return .leave(seek(minimum: generation + 1, now))
    case .nonsense, .older: return .leave(seek(minimum: generation + 1, now))
    case .refused(let error):
      if error.status == .unsupportedVersion { return .leave(.retry(generation, after: Self.versionTime)) }
      if error.status == .limitExceeded, !wasWelcome { return .leave(.retry(generation, after: Self.crowdedTime)) }
      return .leave(lost(generation, wasWelcome: wasWelcome, now, hubLives: hubLives))
    }
  }

  /// Hubs that go one after another are followed at once, but not for ever: others may make them go.
  private mutating func seek(minimum: UInt64, _ now: Moment) -> HubSearch {
    paidUntil = max(paidUntil, now.uptime) + Self.pace
    return .seek(minimum: minimum, after: max(0, paidUntil - now.uptime - Int64(Self.burst) * Self.pace))
  }
}
