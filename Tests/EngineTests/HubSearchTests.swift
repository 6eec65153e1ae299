import SegueEngine
import SegueModel
import Testing

/// When an app follows its hub, waits for it, or looks for another (docs/protocol.md, "Leaving a hub").
@Suite struct HubSearchTests {
  private var search = HubSearch()

  private func at(_ uptime: Int64) -> Moment { Moment(uptime: uptime, date: 0) }

  private func delay(_ step: HubSearch.Step) -> Int64? {
    if case .seek(_, let time) = step { time } else { nil }
  }

  @Test mutating func aHubThatGoesIsFollowedAtOnce() {
    for generation: UInt64 in 1...20 {
      search.connected(at(0))
      #expect(delay(search.lost(generation, wasWelcome: true, at(1)) { false }) == 0)
    }
  }

  @Test mutating func hubsThatOutrunEachOtherAreFollowedAtAPace() {
    var now: Int64 = 0
    for generation: UInt64 in 1...200 {
      search.connected(at(now))
      now += delay(search.heed(.nonsense, generation, wasWelcome: true, at(now)) { true }) ?? 0
    }
    // 20 at once, the others 200 ms apart.
    #expect(now == 180 * 200)
    // After a quiet time they are followed at once again.
    now += 5_000
    #expect(delay(search.heed(.older, 500, wasWelcome: true, at(now)) { true }) == 0)
  }

  @Test(arguments: [true, false]) mutating func aHubThatIsOfNoUseIsReplaced(_ wasWelcome: Bool) {
    var visits = 0
    for uptime in stride(from: Int64(0), to: 100_000, by: 50) {
      search.connected(at(uptime))
      visits += 1
      if case .seek(minimum: 2, _) = search.lost(1, wasWelcome: wasWelcome, at(uptime), hubLives: { false }) { break }
    }
    #expect(visits == 10)
  }

  @Test mutating func aHubThatWasOfUseIsNoneThatRefuses() {
    for second: Int64 in 1...50 {
      search.connected(at(second * 1000))
      #expect(delay(search.lost(1, wasWelcome: true, at(second * 1000 + 1000)) { false }) == 0)
    }
  }

  @Test mutating func whatTheSystemRefusesIsAskedForMoreAndMoreRarely() {
    #expect((0..<7).map { _ in search.failed() } == [1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000])
    search.connected(at(0))
    #expect(search.failed() == 1_000)
  }
}
