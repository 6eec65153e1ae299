import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// What crosses the link of a device, whose certificate was shown (docs/device-links.md).
@Suite struct DeviceLinkTests {
  let world = World(hasHub: true)
  private let one = Identifier(high: 0xd0, low: 1)
  private let other = Identifier(high: 0xd0, low: 2)
  private let origin = Identifier(high: 7, low: 7)

  private func receiver() -> Receiver {
    Receiver(
      id: world.identifier(), deviceName: "away", appName: "asker", bundleIdentifier: "com.example.a")
  }

  /// Links that of an app, which knows an offer, and that of a device.
  private func links() throws -> (
    app: (peer: RawPeer, id: Identifier), device: (peer: RawPeer, id: Identifier), activity: Identifier
  ) {
    let (app, device) = (try world.linkHub(), try world.linkHub(device: one))
    let activity = world.identifier()
    try app.peer.say(.offered(activity, "Draft", by: origin, of: app.id))
    return (app, device, activity)
  }

  private func titles(_ peer: RawPeer) -> [String] {
    peer.heard.compactMap { if case .offer(let offer, _, _) = $0 { offer.description.title } else { nil } }
  }

  @Test func `a device's routes are taken at length 1, an app's at any`() throws {
    let (app, device, _) = try links()
    let far = [world.identifier(), world.identifier()]
    try app.peer.say(.route(to: far[0], Route([app.id, far[0]], sequence: 1), isSought: false))
    try device.peer.say(.route(to: far[1], Route([device.id, far[1]], sequence: 1), isSought: false))
    #expect(world.hub?.offers.remoteHubs[far[0]] != nil && world.hub?.offers.remoteHubs[far[1]] == nil)
    #expect(world.hub?.offers.remoteHubs[device.id] != nil)
    #expect(device.peer.isConnected && device.peer.lists[far[1]] == nil)
  }

  @Test func `what came by an app's link is not told to a device, and it cannot ask for it`() throws {
    let (app, device, _) = try links()
    try device.peer.say(.follow(app.id, list: 1))
    let another = try world.linkHub()
    try another.peer.say(.follow(app.id, list: 1))
    _ = try world.offer("Own", by: world.open("editor"))
    #expect(titles(device.peer) == ["Own"])
    #expect(Set(titles(another.peer)) == ["Draft", "Own"], "another link gets both")
    let routes = device.peer.heard.filter { if case .route(app.id, _, _) = $0 { true } else { false } }
    #expect(routes.isEmpty)
    #expect(device.peer.isConnected)
  }

  @Test func `a device fetches what this device's apps offer, and nothing that came by a link`() throws {
    let (app, device, activity) = try links()
    let another = try world.linkHub()
    let attempts = (0..<2).map { _ in
      Message.Continuation(id: world.identifier(), origin: origin, activity: activity)
    }
    try device.peer.say(.fetch(attempts[0], milliseconds: 10_000, receiver: receiver()))
    try another.peer.say(.fetch(attempts[1], milliseconds: 10_000, receiver: receiver()))
    let asked = app.peer.heard.compactMap { if case .fetch(let one, _, _, _, _) = $0 { one.id } else { nil } }
    #expect(asked == [attempts[1].id])
    let editor = world.open("editor")
    let own = try world.offer("Own", by: editor)
    let attempt = Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: own)
    try device.peer.say(.fetch(attempt, milliseconds: 10_000, receiver: receiver()))
    #expect(editor.takeEvents().contains("will_save"))
  }

  @Test func `no outcome of a device reaches what came by a link`() throws {
    let (app, device, activity) = try links()
    let another = try world.linkHub()
    for peer in [device.peer, another.peer] {
      let attempt = Message.Continuation(id: world.identifier(), origin: origin, activity: activity)
      try peer.say(.outcome(attempt, .declined, SegueError(.declined, "no"), receiver: receiver()))
      let count = app.peer.heard.count { if case .outcome = $0 { true } else { false } }
      #expect(count == (peer === device.peer ? 0 : 1))
    }
  }

  @Test func `no stream of a device reaches what came by a link`() throws {
    let (app, device, activity) = try links()
    let another = try world.linkHub()
    for peer in [device.peer, another.peer] {
      let attempt = Message.Continuation(id: world.identifier(), origin: origin, activity: activity)
      let asker = world.identifier()
      // The first channel of the hub with the higher name.
      try peer.say(.stream(world.identifier(), attempt, from: asker, channel: 2, attachment: nil))
      #expect(peer.isConnected)
      let count = app.peer.heard.count { if case .stream = $0 { true } else { false } }
      #expect(count == (peer === device.peer ? 0 : 1), "\(app.peer.heard.map { "\($0)".prefix(60) })")
    }
  }

  @Test func `A13: a hub stays with the certificate that was shown first`() throws {
    let id = world.identifier()
    let first = try RawPeer(hubIn: world, as: id, device: one)
    try first.resume()
    let liar = try RawPeer(hubIn: world, as: id, device: other)
    #expect(!liar.isConnected && liar.goodbye?.status == .invalidState && first.isConnected)
    let honest = try RawPeer(hubIn: world, as: world.identifier(), device: other)
    try honest.resume()
    #expect(honest.isConnected)
  }

  @Test func `a session is resumed by the same device alone, whatever the other knows`() throws {
    let id = world.identifier()
    let before = try RawPeer(hubIn: world, as: id, device: one)
    try before.resume()
    let secret = try #require(before.secretOfHub)
    before.disconnect()
    let liar = try RawPeer(hubIn: world, as: id, device: other)
    try liar.resume((secret, isConnected: false))
    #expect(!liar.isConnected)
    let after = try RawPeer(hubIn: world, as: id, device: one)
    try after.resume((secret, isConnected: false))
    #expect(after.decision?.session == before.secret)
  }

  @Test func `a device takes the place of an app's link that says it is the same hub`() throws {
    let id = world.identifier()
    let app = try RawPeer(hubIn: world, as: id)
    try app.resume()
    let device = try RawPeer(hubIn: world, as: id, device: one)
    try device.resume()
    #expect(!app.isConnected && device.isConnected)
    let again = try RawPeer(hubIn: world, as: id)
    #expect(!again.isConnected && device.isConnected)
  }
}
