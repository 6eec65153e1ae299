// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// A hub and the raw hub of another device. Linked devices with engines alone: LinkTests of the fleet.
@Suite struct LinkingTests {
  @Test func `a link to itself is refused (A12)`() throws {
    let world = World(hasHub: true)
    let itself = try RawPeer(hubIn: world, as: try #require(world.hub).parts.connections.identity.id)
    #expect(!itself.isConnected)
  }

  @Test func `a hub that hears all, but never says that it came, is given up`() throws {
    let world = World(hasHub: true)
    let hub = try RawPeer(hubIn: world)
    let editor = try RawPeer(app: "editor", in: world)
    let title = String(repeating: "a", count: Limits.title)
    let offer = OfferDescription(world.identifier(), title)
    for activation in 0..<UInt64(HubConnections.backlogLimit / Limits.title) {
      try editor.say(.publish(offer, OfferTiming(age: 0, remaining: nil), activation: activation))
    }
    #expect(!hub.isConnected)
  }
}
