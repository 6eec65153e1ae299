// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueEngine

/// When an app follows its hub, waits for it, or looks for another (docs/protocol.md, "Leaving a hub").
@Suite struct HubFailoverPolicyTests {
  private var policy = HubFailoverPolicy(seed: 1)

  private func at(_ uptime: Int64) -> Instant { Instant(uptime: uptime, date: 0) }

  private func delay(_ search: NextHubAttempt) -> Int64? {
    if case .seek(_, let time) = search { time } else { nil }
  }

  private func delay(_ step: HubFailoverPolicy.Step) -> Int64? {
    if case .leave(let search) = step { delay(search) } else { nil }
  }

  @Test mutating func aHubThatGoesIsFollowedAtOnce() {
    for generation: UInt64 in 1...20 {
      policy.connected(at(0))
      #expect(delay(policy.lost(generation, wasWelcome: true, at(1)) { false }) == 0)
    }
  }

  @Test mutating func `an app that has lost many hubs waits for the next, but not once it is there`() {
    for generation: UInt64 in 1...20 { _ = policy.lost(generation, wasWelcome: true, at(0)) { false } }
    // The election ends that wait as soon as it knows a higher generation.
    // It is there each time: the pauses do not add up.
    for generation: UInt64 in 21...30 {
      let uptime = Int64(generation - 21) * 200
      let search = policy.lost(generation, wasWelcome: true, at(uptime), hubLives: { false })
      guard case .retry(generation, after: let time) = search, time <= 200
      else { return #expect(Bool(false), "it waits for an agent that has taken over, or ever longer") }
    }
  }

  @Test mutating func `an app that is refused for its sandbox asks the same hub again later (R13.8)`() {
    let fault = HubFault.refused(SegueError(.notAllowed, "the sandbox is that of another"))
    guard case .leave(.retry(5, after: 30_000)) = policy.handle(fault, 5, wasWelcome: false, at(0), hubLives: { true })
    else { return #expect(Bool(false), "it looks for another hub, or asks again at once") }
  }

  /// The ways in which a hub ends a connection.
  enum End: CaseIterable {
    case closes
    case welcomes
    case isAnother
    case isFull
    /// It does not: a hub of a higher generation has come.
    case isSuperseded
  }

  @Test(arguments: End.allCases)
  mutating func `an app follows generations that rise without end at a pace`(_ end: End) {
    var (now, connections) = (Int64(0), 0)
    while now < 8_000, connections < 10_000 {
      policy.connected(at(now))
      connections += 1
      let generation = UInt64(connections)
      let error = SegueError(end == .isAnother ? .unsupportedVersion : .limitExceeded, "")
      let search: NextHubAttempt
      switch end {
      case .closes, .welcomes:
        search = policy.lost(generation, wasWelcome: end == .welcomes, at(now)) { false }
      case .isAnother, .isFull:
        guard
          case .leave(let left) = policy.handle(
            .refused(error), generation, wasWelcome: false, at(now), hubLives: { false })
        else { return #expect(Bool(false), "it stays") }
        search = left
      case .isSuperseded: search = policy.superseded(by: generation + 1, at(now))
      }
      switch search {
      case .seek(_, let time):
        #expect(time <= 200)
        now += time
      // The next generation is there at once. If it were not, the app would wait, but not for the sum of all pauses.
      case .retry(_, let time): #expect(time <= 200 || end == .isAnother || end == .isFull)
      }
    }
    // 20 at once, then two in 200 ms; of moves 200 at once, then ten in 200 ms.
    let limit = end == .isSuperseded ? 200 + 8_000 / 20 : 20 + 2 * 8_000 / 200
    #expect(connections <= limit + 1, "\(connections)")
  }

  @Test mutating func hubsThatOutrunEachOtherAreFollowedAtAPace() {
    var now: Int64 = 0
    for generation: UInt64 in 1...200 {
      policy.connected(at(now))
      now += delay(policy.handle(.nonsense, generation, wasWelcome: true, at(now)) { true }) ?? 0
    }
    // 20 at once, the others 200 ms apart.
    #expect(now == 180 * 200)
    // After a quiet time they are followed at once again.
    now += 5_000
    #expect(delay(policy.handle(.older, 500, wasWelcome: true, at(now)) { true }) == 0)
  }

  @Test(arguments: [true, false]) mutating func aHubThatIsOfNoUseIsReplaced(_ wasWelcome: Bool) {
    var visits = 0
    for uptime in stride(from: Int64(0), to: 100_000, by: 50) {
      policy.connected(at(uptime))
      visits += 1
      if case .seek(minimum: 2, _) = policy.lost(1, wasWelcome: wasWelcome, at(uptime), hubLives: { false }) { break }
    }
    #expect(visits == 10)
  }

  @Test mutating func aHubThatWasOfUseIsNoneThatRefuses() {
    for second: Int64 in 1...50 {
      policy.connected(at(second * 1000))
      #expect(delay(policy.lost(1, wasWelcome: true, at(second * 1000 + 1000)) { false }) == 0)
    }
  }

  @Test mutating func whatTheSystemRefusesIsAskedForMoreAndMoreRarely() {
    #expect((0..<7).map { _ in policy.failed() } == [1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000])
    policy.connected(at(0))
    // A hub that says nothing is no reason to hurry again.
    #expect(policy.failed() == 16_000)
    policy.heard()
    #expect(policy.failed() == 1_000)
  }

  @Test mutating func `an agent that welcomes is never superseded, whatever it does then`() {
    var now: Int64 = 0
    var pauses: [Int64] = []
    for number in 0..<100 {
      policy.connected(at(now))
      let refused = HubFault.refused(SegueError(.busy, ""))
      let step = policy.handle(
        number % 2 == 0 ? .nonsense : refused, 4, wasWelcome: true, isAgent: true, at(now), hubLives: { false })
      guard case .leave(let search) = step else { return #expect(Bool(false), "it would stay") }
      switch search {
      case .seek(let minimum, let time):
        #expect(minimum == 1)
        now += time
      case .retry(let generation, let time):
        #expect(generation == 4)
        pauses.append(time)
        now += time
      }
    }
    #expect(pauses.prefix(3) == [50, 100, 200] && pauses.suffix(50).allSatisfy { $0 == 12_800 })
  }

  @Test mutating func `an agent that does not answer is superseded`() {
    policy.connected(at(0))
    let step = policy.handle(.silent, 4, wasWelcome: true, isAgent: true, at(1_000), hubLives: { false })
    guard case .leave(.seek(minimum: 5, after: 0)) = step else {
      return #expect(Bool(false), "all apps would hang at it")
    }
  }

  @Test mutating func `an app whose process has too many connections waits (section 9)`() {
    for _ in 0..<100 {
      let step = policy.handle(
        .refused(SegueError(.limitExceeded, "")), 1, wasWelcome: false, at(0), hubLives: { false })
      guard case .leave(.retry(1, _)) = step else {
        return #expect(Bool(false), "it would take over, and have no more room")
      }
    }
  }
}
