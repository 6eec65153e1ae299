import SegueModel
import Testing

@testable import SegueEngine

/// The pending updates for a slow peer.
@Suite struct PendingUpdatesTests {
  private func news(_ number: Int) -> OfferUpdate { .activity(Identifier(high: 0, low: UInt64(number))) }

  @Test(arguments: [3, 16, 17, 5_000])
  func `each offer is told once and in its turn, however many wait (R2.8)`(count: Int) {
    let pending = PendingUpdates()
    for number in 0..<count { pending.append(news(number)) }
    // News of those that wait already, the last first.
    for number in (0..<count).reversed() { pending.append(news(number)) }
    #expect(pending.count == count)
    for number in 0..<count { #expect(pending.popFirst() == news(number)) }
    #expect(pending.popFirst() == nil)
    #expect(pending.isEmpty)
  }

  @Test func `one that was told waits again behind the others when there is news of it (R2.8)`() {
    let pending = PendingUpdates()
    pending.replace(by: (0..<40).map(news))
    for number in 0..<30 {
      #expect(pending.popFirst() == news(number))
      pending.append(news(number))
    }
    #expect(pending.count == 40)
    for number in Array(30..<40) + Array(0..<30) { #expect(pending.popFirst() == news(number)) }
    #expect(pending.isEmpty)
  }
}
