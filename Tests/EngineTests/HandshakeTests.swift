// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// The session that resumes over a new connection of two hubs, and the connection that stays.
@Suite struct HandshakeTests {
  private func titles(_ app: TestApp) -> [String] { app.engine.offers.all.map { $0.description.title ?? "" } }

  /// A device with an app that looks on, and a link to another hub, of which one offer has come.
  private final class Fixture {
    let world = World(hasHub: true)
    let viewer: TestApp
    let identity: Identifier
    let first: RawPeer

    init() throws {
      viewer = world.open("viewer")
      identity = world.identifier()
      first = try RawPeer(hubIn: world, as: identity)
      try first.resume()
      try first.say(
        .route(to: identity, Route([identity], sequence: 1), isSought: false),
        .offered(world.identifier(), "Draft", of: identity))
    }

    var sessions: Int { world.hub?.parts.peers.hubs.count { $0.hub != nil } ?? 0 }
  }

  @Test func `who only names a hub does its link no harm, whether it is cut or not (R7.4)`() throws {
    for isCut in [false, true] {
      let scene = try Fixture()
      let secret = try #require(scene.first.secretOfHub)
      if isCut { scene.first.disconnect() }
      let other = try RawPeer(hubIn: scene.world, as: scene.identity)
      // A secret that it has guessed proves nothing, either.
      try other.resume((scene.world.identifier(), isConnected: false))
      #expect(scene.first.isConnected == !isCut)
      #expect(other.isConnected, "it is another link")
      #expect(titles(scene.viewer) == (isCut ? [] : ["Draft"]))
      #expect(scene.sessions == 2)
      other.disconnect()
      guard isCut else { continue }
      let again = try RawPeer(hubIn: scene.world, as: scene.identity)
      try again.resume((secret, isConnected: false))
      #expect(again.decision?.session == scene.first.secret, "the true one goes on")
    }
  }

  @Test func `what comes with proceed, in one piece, is read with it (R7.4)`() throws {
    let world = World(hasHub: true)
    let viewer = world.open("viewer")
    let identity = world.identifier()
    let before = try RawPeer(hubIn: world, as: identity)
    try before.resume()
    let secret = try #require(before.secretOfHub)
    before.disconnect()
    let after = try RawPeer(hubIn: world, as: identity)
    try after.resume((secret, isConnected: false))
    #expect(after.decision?.session == before.secret)
    try after.say(
      .proceed(session: secret, received: 0), .route(to: identity, Route([identity], sequence: 1), isSought: false),
      .offered(world.identifier(), "Draft", of: identity))
    #expect(titles(viewer) == ["Draft"])
  }

  @Test func `of two links that come at once the first stays, and the hub with the lower name decides (R7.4)`() throws {
    let world = World(hasHub: true)
    let identity = Identifier(high: .max, low: .max)
    let links = try (0..<2).map { _ in try RawPeer(hubIn: world, as: identity) }
    for link in links { try link.resume() }
    #expect(links.map { $0.isConnected } == [true, false])
    #expect(links[1].goodbye?.status == .invalidState)
    let lower = try (0..<2).map { _ in try RawPeer(hubIn: world, as: Identifier(high: 0, low: 1)) }
    for link in lower { try link.resume() }
    #expect(lower.allSatisfy { $0.isConnected && $0.decision == nil })
    try lower[1].say(.proceed(session: nil, received: 0))
    try lower[0].say(.goodbye(SegueError(.invalidState, "there is another")))
    #expect(lower.map { $0.isConnected } == [false, true])
  }

  @Test func `a link that both see alive is not replaced, one that either has lost goes on (R7.4)`() throws {
    let scene = try Fixture()
    let secret = try #require(scene.first.secretOfHub)
    let second = try RawPeer(hubIn: scene.world, as: scene.identity)
    try second.resume((secret, isConnected: true))
    #expect(scene.first.isConnected && !second.isConnected)
    #expect(second.goodbye?.status == .invalidState)
    let third = try RawPeer(hubIn: scene.world, as: scene.identity)
    try third.resume((secret, isConnected: false))
    #expect(!scene.first.isConnected && third.isConnected)
    #expect(third.sessions.map { $0.isConnected } == [true])
    #expect(scene.first.goodbye == nil, "what came by the older one may come again")
    let fourth = try RawPeer(hubIn: scene.world, as: scene.identity)
    try fourth.resume((secret, isConnected: false))
    #expect(!fourth.isConnected, "one at a time")
    try third.say(.proceed(session: secret, received: 0))
    #expect(scene.sessions == 1)
  }

  @Test func `what cannot go on is forgotten, and the next link begins anew (R7.4)`() throws {
    for isLower in [false, true] {
      let world = World(hasHub: true)
      let identity = isLower ? Identifier(high: 0, low: 1) : world.identifier()
      func link(_ sessions: (Identifier, isConnected: Bool)...) throws -> RawPeer {
        let peer = try RawPeer(hubIn: world, as: identity)
        let named = sessions.map { Message.SharedSession(secret: $0.0, isConnected: $0.isConnected) }
        try peer.say(.resume(secret: peer.secret, sessions: named))
        return peer
      }
      let first = try link()
      if isLower { try first.say(.proceed(session: nil, received: 0)) }
      let secret = try #require(first.secretOfHub)
      first.disconnect()
      let second = try link((secret, isConnected: false))
      // More has come, it says, than was ever sent.
      try second.say(.proceed(session: secret, received: 1_000_000))
      #expect(!second.isConnected)
      #expect((second.goodbye != nil) == isLower, "a word may be said until it is said how far this hub has come")
      let third = try link((secret, isConnected: false))
      #expect(third.sessions.isEmpty, "it is not kept")
      if isLower { try third.say(.proceed(session: nil, received: 0)) } else { #expect(third.decision! == (nil, 0)) }
      #expect(third.isConnected)
      #expect(world.hub?.parts.peers.hubs.count { $0.hub != nil } == 1)
    }
  }

  @Test func `of what the other hub does not have any more nothing is kept (R7.4)`() throws {
    let world = World(hasHub: true)
    let first = try RawPeer(hubIn: world, as: world.identifier())
    try first.resume()
    try first.say(.goodbye(SegueError(.cancelled, "it ends")))
    let identity = Identifier(high: 0, low: 1)
    let second = try RawPeer(hubIn: world, as: identity)
    try second.resume()
    try second.say(.proceed(session: world.identifier(), received: 0))
    #expect(second.goodbye?.status == .invalidState)
    #expect(world.hub?.parts.peers.hubs.isEmpty == true)
  }

  @Test func `two apps that keep the same link do not replace each other's (R7.4)`() throws {
    let world = World(hasHub: true)
    let keepers = [world.open("one"), world.open("two")]
    let identity = world.identifier()
    func link(by app: TestApp, _ sessions: (Identifier, isConnected: Bool)...) throws -> RawPeer {
      let peer = try RawPeer(hubIn: world, as: identity, for: try world.openLink(app))
      let named = sessions.map { Message.SharedSession(secret: $0.0, isConnected: $0.isConnected) }
      try peer.say(.resume(secret: peer.secret, sessions: named))
      return peer
    }
    let first = try link(by: keepers[0])
    let secret = try #require(first.secretOfHub)
    for _ in 0..<3 { _ = try link(by: keepers[1], (secret, isConnected: true)) }
    let told = keepers.map { $0.takeEvents().filter { $0.contains("link") } }
    #expect(told[0] == ["linked with away"])
    #expect(told[1] == Array(repeating: "link ended invalidState", count: 3))
    #expect(world.hub?.parts.peers.hubs.count == 1)
    first.disconnect()
    let last = try link(by: keepers[1], (secret, isConnected: false))
    try last.say(.proceed(session: secret, received: 0))
    #expect(keepers[1].takeEvents().contains("linked with away"))
  }
}

/// The quotas of links.
@Suite struct LinkQuotaTests {
  @Test func `links that are cut by the thousand cost no memory, and not those of others (A8)`() throws {
    let world = World(hasHub: true)
    let honest = world.open("honest")
    let other = world.open("other")
    let identity = world.identifier()
    let link = try RawPeer(hubIn: world, as: identity, for: try world.openLink(honest))
    try link.resume()
    let secret = try #require(link.secretOfHub)
    link.disconnect()
    for _ in 0..<1_000 {
      let one = try RawPeer(hubIn: world, for: try world.openLink(other))
      one.disconnect()
    }
    let most = HubConnections.cutLinksOfAccount / HubConnections.cutLinkLeast
    #expect(world.hub?.parts.peers.hubs.count == most + 1)
    let again = try RawPeer(hubIn: world, as: identity)
    try again.resume((secret, isConnected: false))
    #expect(again.decision?.session == link.secret, "it goes on")
    world.wait(HubLinks.resumeTime + 1_000)
    #expect(world.hub?.parts.peers.hubs.contains { $0.hub?.resumeBy != nil } == false)
  }

  @Test func `of many apps the one whose links hold most gives up its oldest`() throws {
    let world = World(hasHub: true)
    let perApp = HubConnections.cutLinksOfAccount / HubConnections.cutLinkLeast
    for number in 0..<4 {
      let app = world.open("app \(number)")
      for _ in 0..<perApp { try RawPeer(hubIn: world, for: try world.openLink(app)).disconnect() }
    }
    let most = HubConnections.cutLinksOfHub / HubConnections.cutLinkLeast
    let hubs = try #require(world.hub?.parts.peers.hubs)
    #expect(hubs.count == most)
    let owners = Dictionary(grouping: hubs) { $0.principal }.mapValues { $0.count }
    #expect(owners.values.allSatisfy { abs($0 - most / 4) <= 1 })
  }

  @Test func `an app has so many links at a time`() throws {
    let world = World(hasHub: true)
    let app = world.open("app")
    let links = try (0...HubConnections.linkLimit).map { _ in try RawPeer(hubIn: world, for: try world.openLink(app)) }
    #expect(links.last?.isConnected == false && links.dropLast().allSatisfy { $0.isConnected })
    #expect(app.takeEvents().last == "link ended limitExceeded")
    links[0].disconnect()
    #expect(try RawPeer(hubIn: world, for: try world.openLink(app)).isConnected)
  }

  @Test func `an explanation is short, and an app that asks without end is turned away (A8)`() throws {
    let world = World(hasHub: true)
    let name = String(repeating: "n", count: 200)
    for _ in 0..<100 { _ = world.open(name, team: "OTHER") }
    let app = try RawPeer(app: "requester", in: world)
    for request in 0..<4 { try app.say(.explain(request: UInt64(request), world.identifier(), type: "a")) }
    #expect(app.explanations.count == 1, "one at a time")
    world.wait(3 * HubExplanations.pause)
    #expect(app.explanations.count == 4)
    let sizes = app.explanations.map { $0.reduce(0) { $0 + $1.name.utf8.count } }
    #expect(sizes.allSatisfy { $0 > 0 && $0 <= HubExplanations.size })
    try app.say(
      (0...HubExplanations.questionLimit + 1).map { .explain(request: UInt64($0), world.identifier(), type: "a") })
    #expect(app.goodbye?.status == .limitExceeded && !app.isConnected)
  }
}
