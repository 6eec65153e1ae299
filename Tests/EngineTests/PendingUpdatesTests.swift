// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueEngine

/// The pending updates for a slow peer.
@Suite struct PendingUpdatesTests {
  @Test func `offers that come and go cost no connection of an app that does not read meanwhile (R2.8)`() throws {
    let world = World()
    world.startHub()
    let (viewer, editor) = (world.open("viewer"), world.open("editor"))
    let peer = try #require(world.peer(of: viewer))
    viewer.process.stall()
    for number in 0..<6_000 { _ = try world.offer("\(number)", by: editor) }
    #expect(world.peer(of: viewer) === peer, "the hub has given it up")
    world.resume(viewer)
    world.wait(1_000)
    #expect(viewer.engine.offers.all.map { $0.description.title } == ["5999"])
  }

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

  @Test(arguments: [1, 16, 17, 5_000])
  func `what came and went before it was told leaves nothing (R2.8)`(others: Int) {
    let pending = PendingUpdates()
    for number in 0..<others { pending.append(news(number)) }
    let passing = Identifier(high: 1, low: 1)
    for _ in 0..<3 {
      pending.appendFirst(of: passing)
      pending.append(.activity(passing))
      #expect(pending.count == others + 1)
      #expect(pending.removeUnseen(passing) && pending.count == others && !pending.contains(.activity(passing)))
    }
    // An activity that was told before, or waits to be told anew, is not removed: its end has to be told.
    #expect(!pending.removeUnseen(passing) && !pending.removeUnseen(Identifier(high: 0, low: 0)))
    pending.append(.activity(passing))
    pending.appendFirst(of: passing)
    #expect(!pending.removeUnseen(passing))
    for number in 0..<others { #expect(pending.popFirst() == news(number)) }
    #expect(pending.popFirst() == .activity(passing) && pending.isEmpty)
    pending.appendFirst(of: passing)
    #expect(pending.popFirst() != nil && !pending.removeUnseen(passing))
  }
}
