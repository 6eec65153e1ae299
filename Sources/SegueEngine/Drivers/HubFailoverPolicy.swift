// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Decides whether an app with an unusable hub waits or looks for another. `HubElection` finds hubs.
struct HubFailoverPolicy {
  /// Rejections by a hub before the app looks for another: about as long as the wait for a silent one.
  private static let refusalLimit = 10
  /// Mean milliseconds until the next attempt after a rejection. At an agent that has welcomed the app, exactly that,
  /// and twice as long after each further one, at most 256 times.
  private static let refusalTime: Int64 = 50
  /// Extensions for a busy hub with a recent heartbeat: about 10 s.
  private static let extensionLimit = 20
  /// Milliseconds until the next attempt after a hub refused one more connection of the process: no other hub would
  /// accept more.
  private static let quotaRetryTime: Int64 = 1_000
  /// Milliseconds until the next attempt at a hub of another protocol, or one that refuses the app for its sandbox.
  private static let versionTime: Int64 = 30_000

  /// Consecutive losses of hubs that an app follows without a delay.
  private static let burst = 20
  /// Milliseconds per further loss: bounds the connections to a hub that sends welcome and goodbye.
  private static let pace: Int64 = 200
  /// Milliseconds per move to a hub that supersedes another one: so agents may be replaced again and again, and
  /// generations that rise without end cause at most 50 connections a second.
  private static let movePace: Int64 = 20
  /// Milliseconds after which a connection counts as useful: one that ends sooner counts as rejected.
  private static let usefulTime: Int64 = 1_000

  /// Consecutive connections that a hub closed early.
  private var refusals = 0
  /// The generation of that hub.
  private var refusing: UInt64 = 0
  /// The uptime until which recent losses count, each for `pace`.
  private var paidUntil: Int64 = 0
  /// The generation after whose loss a hub of a higher one was last waited for, and the uptime from which on the app
  /// may wait so again.
  private var waited: (generation: UInt64, until: Int64) = (0, 0)
  private var connectedAt: Int64 = 0
  /// Consecutive refusals of the system.
  private var failures = 0
  /// Milliseconds until the next attempt: initially, and at most.
  private static let failureTime: Int64 = 1_000
  private static let longestFailureTime: Int64 = 16_000
  /// Consecutive extensions for a hub that does not answer.
  private var extensions = 0
  /// The state of the generator of `refusalPause`.
  private var random: UInt64

  /// - Parameter seed: differs from app to app.
  init(seed: UInt64) { random = seed }

  enum Step {
    /// Gives the hub the same time again (`AppEngine.waitForHub`).
    case keep
    /// Leaves the hub.
    case leave(NextHubAttempt)
  }

  /// The hub has shown a sign of life.
  mutating func heard() {
    extensions = 0
    failures = 0
  }

  /// It is another hub.
  mutating func connected(_ now: Instant) {
    extensions = 0
    connectedAt = now.uptime
  }

  /// The system refused something that is needed to find a hub, or to be one.
  /// - Returns: milliseconds until the next attempt.
  mutating func failed() -> Int64 {
    failures += 1
    return min(Self.failureTime << Int64(min(failures - 1, 10)), Self.longestFailureTime)
  }

  /// The hub has closed the connection: it ends, or is full. A hub that repeatedly rejects the app is no better than a
  /// silent one.
  /// - Parameters:
  ///   - isAgent: an agent carries the hub, and has welcomed the app: no app supersedes it.
  ///   - hubLives: whether its heartbeat is recent.
  mutating func lost(
    _ generation: UInt64, wasWelcome: Bool, isAgent: Bool = false, _ now: Instant, hubLives: () -> Bool
  ) -> NextHubAttempt {
    if wasWelcome && now.uptime - connectedAt >= Self.usefulTime || generation != refusing { refusals = 0 }
    refusing = generation
    refusals += 1
    if refusals <= 1 { return replace(generation, now) }
    if isAgent { return .retry(generation, after: Self.refusalTime << Int64(min(refusals - 2, 8))) }
    if refusals < Self.refusalLimit || refusals < Self.refusalLimit * Self.extensionLimit && hubLives() {
      return .retry(generation, after: refusalPause())
    }
    refusals = 0
    return seek(minimum: generation + 1, now)
  }

  /// Returns half of `refusalTime` to three halves. When a hub dies, the apps of a crowd come to the next one at the
  /// same moment, and its backlog is short. If all waited for the same time, they would come at the same moment again.
  private mutating func refusalPause() -> Int64 {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Self.refusalTime / 2 + Int64(random >> 33) % Self.refusalTime
  }

  /// The engine wants another hub. Unless the step is to wait, close the connection to this one.
  mutating func handle(
    _ fault: HubFault, _ generation: UInt64, wasWelcome: Bool, isAgent: Bool = false, _ now: Instant,
    hubLives: () -> Bool
  ) -> Step {
    switch fault {
    case .silent:
      if extensions < Self.extensionLimit, hubLives() {
        extensions += 1
        return .keep
      }
      return .leave(seek(minimum: generation + 1, now))
    case .nonsense where isAgent, .unready where isAgent:
      return .leave(lost(generation, wasWelcome: wasWelcome, isAgent: true, now, hubLives: hubLives))
    case .unready, .nonsense, .older: return .leave(seek(minimum: generation + 1, now))
    case .refused(let error):
      if error.status == .unsupportedVersion || error.status == .notAllowed {
        return .leave(wait(for: generation, Self.versionTime, now))
      }
      if error.status == .limitExceeded, !wasWelcome {
        return .leave(wait(for: generation, Self.quotaRetryTime, now))
      }
      return .leave(lost(generation, wasWelcome: wasWelcome, isAgent: isAgent, now, hubLives: hubLives))
    }
  }

  /// A hub of a higher generation has come. Generations may rise without end, so it is followed at a pace, too.
  mutating func superseded(by generation: UInt64, _ now: Instant) -> NextHubAttempt {
    .seek(minimum: generation, after: pause(now, Self.movePace))
  }

  /// Looks for the successor of a hub that has closed the connection. After `burst` losses the app opens no hub of its
  /// own before the pause has passed, but a hub of a higher generation ends that pause.
  private mutating func replace(_ generation: UInt64, _ now: Instant) -> NextHubAttempt {
    let pause = pause(now)
    return pause == 0 ? .seek(minimum: 1, after: 0) : wait(for: generation, pause, now)
  }

  /// Waits until a hub of a higher generation has come, but for `pace` if another wait has just ended in that way:
  /// generations may rise without end.
  private mutating func wait(for generation: UInt64, _ time: Int64, _ now: Instant) -> NextHubAttempt {
    if waited.until > now.uptime, waited.generation != generation { return .seek(minimum: 1, after: Self.pace) }
    waited = (generation, now.uptime + Self.pace)
    return .retry(generation, after: time)
  }

  private mutating func seek(minimum: UInt64, _ now: Instant) -> NextHubAttempt {
    .seek(minimum: minimum, after: pause(now))
  }

  /// Records the loss of a hub, or a move to another one.
  /// - Parameter cost: the milliseconds for which it counts.
  /// - Returns: milliseconds until the app looks for the next hub: 0 up to a limit, because others may cause losses;
  ///   never more than `cost`, so that those that a higher generation made shorter do not add up.
  private mutating func pause(_ now: Instant, _ cost: Int64 = pace) -> Int64 {
    let free = Int64(Self.burst) * Self.pace
    paidUntil = min(max(paidUntil, now.uptime), now.uptime + free) + cost
    return max(0, paidUntil - now.uptime - free)
  }
}
