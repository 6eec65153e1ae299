// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// The messages that cross the link of a device, which has shown its certificate (docs/device-links.md).
@Suite struct DeviceLinkTests {
  let world = World(hasHub: true)
  private let one = Identifier(high: 0xd0, low: 1)
  private let other = Identifier(high: 0xd0, low: 2)
  private let origin = Identifier(high: 7, low: 7)

  private func receiver() -> Receiver {
    Receiver(
      id: world.identifier(), deviceName: "away", appName: "requester", bundleIdentifier: "com.example.a")
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

  @Test func `A23 frames of a relay count on links of devices alone, once a session has begun`() throws {
    var heard: [Identifier] = []
    let hub = try #require(world.hub)
    hub.relayHandler = { device, _ in heard.append(device) }
    defer { hub.relayHandler = nil }
    let (app, device, _) = try links()
    let early = try RawPeer(hubIn: world, as: world.identifier(), device: other, saysWho: false)
    for peer in [app.peer, early, try RawPeer(app: "liar", in: world)] {
      peer.say(.bytes(channel: 1, offset: 0, [1, 2, 3]))
      #expect(heard.isEmpty && !peer.isConnected)
    }
    device.peer.say(.bytes(channel: 1, offset: 0, [1, 2, 3]))
    #expect(heard == [one] && device.peer.isConnected)
  }

  @Test func `a device's routes are taken at length 1, an app's at any`() throws {
    let (app, device, _) = try links()
    let far = [world.identifier(), world.identifier()]
    try app.peer.say(.route(to: far[0], Route([app.id, far[0]], sequence: 1), isSought: false))
    try device.peer.say(.route(to: far[1], Route([device.id, far[1]], sequence: 1), isSought: false))
    #expect(world.hub?.parts.remoteHubs[far[0]] != nil && world.hub?.parts.remoteHubs[far[1]] == nil)
    #expect(world.hub?.parts.remoteHubs[device.id, one] != nil)
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
    let asked = app.peer.heard.compactMap { if case .fetch(let one, _, _, _, _, _) = $0 { one.id } else { nil } }
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
      let requester = world.identifier()
      // The first channel of the hub with the higher name.
      try peer.say(.stream(world.identifier(), attempt, from: requester, channel: 2, attachment: nil))
      #expect(peer.isConnected)
      let count = app.peer.heard.count { if case .stream = $0 { true } else { false } }
      #expect(count == (peer === device.peer ? 0 : 1), "\(app.peer.heard.map { "\($0)".prefix(60) })")
    }
  }

  @Test func `a hub names what it shares with a device before that has said who it is, and with no other`() throws {
    let known = try world.linkHub(device: one)
    let secret = known.peer.secret
    known.peer.disconnect()
    let before = try RawPeer(hubIn: world, as: known.id, device: one, saysWho: false)
    #expect(before.secretOfHub != nil && before.sessions.map { $0.secret } == [secret])
    let stranger = try RawPeer(hubIn: world, as: known.id, device: other, saysWho: false)
    #expect(stranger.secretOfHub != nil && stranger.sessions.isEmpty)
    let silent = try RawPeer(hubIn: world, as: known.id, saysWho: false)
    #expect(silent.secretOfHub == nil, "an app's link has shown no certificate")
  }

  /// The hub `id` by the link of a device, or of an app (nil), with one offer.
  private func claim(
    _ id: Identifier, _ device: Identifier?, _ title: String, _ activity: Identifier? = nil
  ) throws -> RawPeer {
    let peer = try RawPeer(hubIn: world, as: id, device: device)
    try peer.resume()
    try peer.say(
      .route(to: id, Route([id], sequence: 1), isSought: false),
      .offered(activity ?? world.identifier(), title, of: id),
      .listed(OffersVersion(hub: id, number: 1)))
    return peer
  }

  @Test(arguments: [false, true])
  func `A13: devices that claim one hub do not shut each other out, whichever comes first`(isLiarFirst: Bool) throws {
    let own = world.identifier()
    call(AccountDevices(own: own, all: [(own, "desktop"), (one, "laptop"), (other, "xray")]))
    let chooser = world.open("chooser", chooser: true)
    func shown() -> Set<String> {
      Set(chooser.engine.offers.all.map { "\($0.deviceName): \($0.description.title ?? "")" })
    }
    let id = world.identifier()
    let early = isLiarFirst ? try claim(id, other, "Lie") : nil
    let honest = try claim(id, one, "Letter")
    let liar = try early ?? claim(id, other, "Lie")
    #expect(honest.isConnected && liar.isConnected && shown() == ["laptop: Letter", "xray: Lie"])
    // The liar's messages about that hub concern its own offers alone.
    try liar.say(.refresh, .listed(OffersVersion(hub: id, number: .max)))
    try liar.say(.route(to: id, nil, isSought: true), .route(to: id, nil, isSought: false))
    #expect(shown() == ["laptop: Letter"])
    try liar.say(.goodbye(SegueError(.cancelled, "over")))
    #expect(honest.isConnected && shown() == ["laptop: Letter"])
    let again = try claim(id, other, "Lie")
    let secret = try #require(honest.secretOfHub)
    honest.disconnect()
    #expect(shown() == ["xray: Lie"])
    let resumed = try RawPeer(hubIn: world, as: id, device: one)
    try resumed.resume((secret, isConnected: false))
    #expect(resumed.decision?.session == honest.secret && resumed.isConnected && again.isConnected)
  }

  @Test(arguments: [false, true])
  func `A13: a device that claims the hub of an app's link leaves that alone, and an app's link a device's`(
    isAppFirst: Bool
  ) throws {
    let chooser = world.open("chooser", chooser: true)
    let id = world.identifier()
    let devices = isAppFirst ? [nil, one] : [one, nil]
    let peers = try devices.map { try claim(id, $0, $0 == nil ? "Draft" : "Letter") }
    #expect(peers.allSatisfy { $0.isConnected } && Set(titles(in: chooser)) == ["Draft", "Letter"])
    peers[0].disconnect()
    #expect(peers[1].isConnected && titles(in: chooser) == [isAppFirst ? "Letter" : "Draft"])
  }

  @Test(arguments: [false, true])
  func `A13: what two devices offer under one identifier are two offers, and each ends with its own device`(
    isLiarFirst: Bool
  ) throws {
    let own = world.identifier()
    call(AccountDevices(own: own, all: [(own, "desktop"), (one, "laptop"), (other, "xray")]))
    let chooser = world.open("chooser", chooser: true)
    let (id, activity) = (world.identifier(), world.identifier())
    let order = isLiarFirst ? [other, one] : [one, other]
    let peers = try order.map { try claim(id, $0, $0 == one ? "Letter" : "Lie", activity) }
    func shown() -> [String] {
      chooser.engine.offers.all.map { "\($0.deviceName): \($0.description.title ?? "")" }
    }
    let (lie, honest) = ("xray: Lie", "laptop: Letter")
    #expect(Set(shown()) == [lie, honest] && shown().count == 2, "under the names of their devices")
    try peers[0].say(.gone(activity, OffersVersion(hub: id, number: 2)))
    #expect(shown() == [isLiarFirst ? honest : lie] && peers.allSatisfy { $0.isConnected })
  }

  @Test func `A13: links of apps hear of one hub of an identifier, and of the next when that has gone`() throws {
    let id = world.identifier()
    let listener = try world.linkHub().peer
    func routes() -> [Bool] {
      listener.heard.compactMap { if case .route(id, let route, _) = $0 { route != nil } else { nil } }
    }
    let first = try claim(id, one, "Letter")
    try listener.say(.follow(id, list: 1))
    let second = try claim(id, other, "Lie")
    #expect(routes() == [true] && titles(listener) == ["Letter"])
    try second.say(.listed(OffersVersion(hub: id, number: 2)), .offered(world.identifier(), "Another", of: id, 2))
    try second.say(.route(to: id, nil, isSought: true), .route(to: id, nil, isSought: false))
    #expect(routes() == [true] && titles(listener) == ["Letter"], "the other one's end is none of the first")
    let third = try claim(id, Identifier(high: 0xd0, low: 3), "Answer")
    #expect(routes() == [true])
    try first.say(.goodbye(SegueError(.cancelled, "over")))
    #expect(routes() == [true, false, true])
    try listener.say(.follow(id, list: 2))
    #expect(titles(listener) == ["Letter", "Answer"] && third.isConnected)
  }

  @Test func `a session is resumed by the same device alone, whatever the other knows`() throws {
    let id = world.identifier()
    let before = try RawPeer(hubIn: world, as: id, device: one)
    try before.resume()
    let secret = try #require(before.secretOfHub)
    before.disconnect()
    let liar = try RawPeer(hubIn: world, as: id, device: other)
    try liar.resume((secret, isConnected: false))
    #expect(liar.isConnected && liar.decision?.session == nil, "it has a session of its own")
    let after = try RawPeer(hubIn: world, as: id, device: one)
    try after.resume((secret, isConnected: false))
    #expect(after.decision?.session == before.secret)
  }

  @Test func `R10.2: what is private is told to no device, and given to none`() throws {
    let (first, app) = (try world.linkHub(device: one), try world.linkHub())
    let editor = world.open("editor")
    let activity = try world.offer("Diary", by: editor)
    func gone(_ peer: RawPeer) -> Int { peer.heard.count { if case .gone(activity, _) = $0 { true } else { false } } }
    #expect(titles(first.peer) == ["Diary"])
    func set(_ isPrivate: ((String, String) -> Bool)?) {
      world.hub?.setPrivacy(isPrivate, world.now)
      world.device.hub?.flush()
      world.settle()
    }
    var asked: [String] = []
    set { type, app in
      asked.append("\(type) of \(app)")
      return true
    }
    #expect(gone(first.peer) == 1 && gone(app.peer) == 0 && asked.contains("com.example.note of com.example.editor"))
    let later = try world.linkHub(device: other)
    #expect(titles(later.peer).isEmpty)
    let attempt = Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: activity)
    try later.peer.say(.fetch(attempt, milliseconds: 10_000, receiver: receiver()))
    #expect(!editor.takeEvents().contains("will_save"))
    #expect(later.peer.heard.contains { if case .refused(attempt.id, _, _) = $0 { true } else { false } })
    set { type, _ in type.isEmpty }
    #expect(titles(first.peer) == ["Diary", "Diary"] && titles(later.peer) == ["Diary"])
  }

  @Test func `offers and receipts name devices as the account does, and after a change at once`() throws {
    let (linked, app) = (try world.linkHub(device: one), try world.linkHub())
    let chooser = world.open("chooser", chooser: true)
    try linked.peer.say(.offered(world.identifier(), "Letter", by: origin, of: linked.id))
    try app.peer.say(.offered(world.identifier(), "Draft", by: world.identifier(), of: app.id))
    let editor = world.open("editor")
    let own = try world.offer("Own", by: editor)
    func name(_ title: String) -> String? {
      chooser.engine.offers.all.first { $0.description.title == title }?.deviceName
    }
    let (said, host) = (name("Letter"), name("Own"))
    let here = world.identifier()
    call(AccountDevices(own: here, all: [(here, "desktop"), (one, "laptop")]))
    #expect([name("Letter"), name("Own"), name("Draft")] == ["laptop", "desktop", said])
    let attempt = Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: own)
    let requester = receiver()
    try linked.peer.say(.fetch(attempt, milliseconds: 10_000, receiver: requester))
    try linked.peer.say(.outcome(attempt, .declined, SegueError(.declined, "no"), receiver: requester))
    #expect(editor.receipts.last?.receiver.deviceName == "laptop", "not \"away\", as the device says")
    call(nil)
    #expect([name("Letter"), name("Own")] == [said, host])
  }

  private func call(_ devices: AccountDevices?) {
    world.hub?.setDevices(devices, world.now)
    world.device.hub?.flush()
    world.settle()
  }

  @Test func `R6.5: an explanation says which devices are not linked, and what is kept off all of them`() throws {
    let editor = world.open("editor")
    _ = world.open("viewer")
    let id = try world.offer("Letter", by: editor)
    func reasons() -> [String] {
      world.tell(editor) { _ = $0.explain(id, editor.activity(id), $1) }
      world.wait(2 * HubExplanations.pause)
      return editor.reasons.map { "\($0.reason): \($0.app ?? "-") \($0.device ?? "-")" }
    }
    #expect(reasons().isEmpty, "no account, no devices")
    let own = world.identifier()
    call(AccountDevices(own: own, all: [(own, "desktop"), (one, "laptop"), (other, "phone")]))
    _ = try world.linkHub(device: one)
    #expect(reasons() == ["not linked: - phone"])
    world.hub?.setPrivacy({ type, _ in type == "com.example.note" }, world.now)
    #expect(reasons() == ["private: - -", "not linked: - phone"])
    world.tell(editor) { engine, now in
      // The question is on its way when the link ends.
      _ = engine.explain(id, editor.activity(id), now)
      world.hub?.endLinks(of: one, SegueError(.notAllowed, "removed"), now)
    }
    world.wait(2 * HubExplanations.pause)
    let devices = editor.reasons.compactMap { $0.device }
    #expect(devices == ["laptop", "phone"])
    call(AccountDevices(own: own, all: [(own, "desktop")]))
    world.hub?.endLinks(of: nil, SegueError(.notAllowed, "removed"), world.now)
    #expect(reasons().isEmpty, "there is no other device that it is kept off")
    call(nil)
    func set(isPrivate: Bool) {
      editor.change(id) { $0.setPrivate(isPrivate) }
      world.wait(5_000)
    }
    set(isPrivate: true)
    #expect(reasons().isEmpty)
    set(isPrivate: false)
    // An activity that the user keeps off the account is told to a device that an app links, unless the app says that
    // it is private.
    _ = try world.linkHub()
    #expect(reasons().isEmpty)
    set(isPrivate: true)
    #expect(reasons() == ["private: - -"])
  }

  @Test func `R6.5: a device that is linked by its account and by an app counts once`() throws {
    let requester = try RawPeer(app: "requester", in: world)
    func count() throws -> UInt64? {
      try requester.say(.explain(request: 1, world.identifier(), type: "com.example.note"))
      world.wait(2 * HubExplanations.pause)
      return requester.appCount
    }
    let before = try #require(try count())
    let id = world.identifier()
    for device in [one, nil] { _ = try claim(id, device, "Letter") }
    #expect(try count() == before + 1)
    _ = try world.linkHub()
    #expect(try count() == before + 2)
  }

  // MARK: Another connection

  /// A device with one offer, which a chooser sees.
  private func replacement(_ id: Identifier) throws -> (first: RawPeer, chooser: TestApp, activity: Identifier) {
    let chooser = world.open("chooser", chooser: true)
    let first = try RawPeer(hubIn: world, as: id, device: one)
    try first.resume()
    // The hub with the lower identifier decides.
    if first.decision == nil { try first.say(.proceed(session: nil, received: 0)) }
    let activity = world.identifier()
    try first.say(.route(to: id, Route([id], sequence: 1), isSought: false))
    try first.say(.offered(activity, "Letter", by: origin, of: id), .listed(OffersVersion(hub: id, number: 1)))
    #expect(titles(in: chooser) == ["Letter"])
    _ = chooser.takeEvents()
    return (first, chooser, activity)
  }

  private func titles(in app: TestApp) -> [String] { app.engine.offers.all.map { $0.description.title ?? "" } }

  @Test(arguments: [Identifier(high: 0, low: 1), Identifier(high: .max, low: 1)])
  func `R2.8: another connection takes over what a device offers before the former one ends`(id: Identifier) throws {
    let (first, chooser, activity) = try replacement(id)
    let secret = try #require(first.secretOfHub)
    let second = try RawPeer(hubIn: world, as: id, device: one)
    #expect(second.sessions.map { $0.isConnected } == [false] && first.isConnected)
    try second.resume((secret, isConnected: false))
    #expect(titles(in: chooser) == ["Letter"])
    try second.say(.proceed(session: secret, received: 0))
    #expect(!first.isConnected && second.isConnected && titles(in: chooser) == ["Letter"])
    try second.say(.refresh)
    #expect(titles(in: chooser) == ["Letter"])
    try second.say(.route(to: id, Route([id], sequence: 1), isSought: false))
    let version = OffersVersion(hub: id, number: 1)
    try second.say(.offered(activity, "Letter", by: origin, of: id), .listed(version))
    #expect(titles(in: chooser) == ["Letter"] && chooser.takeEvents().isEmpty)
    // An offer that is not in the new list is gone.
    try second.say(.refresh, .route(to: id, Route([id], sequence: 1), isSought: false), .listed(version))
    #expect(titles(in: chooser).isEmpty)
  }

  @Test func `R2.8: the former connection may end while another takes over, and no longer`() throws {
    for id in [Identifier(high: 0, low: 1), Identifier(high: .max, low: 1)] {
      let (first, chooser, _) = try replacement(id)
      let second = try RawPeer(hubIn: world, as: id, device: one)
      first.disconnect()
      #expect(titles(in: chooser) == ["Letter"])
      second.disconnect()
      #expect(titles(in: chooser).isEmpty)
    }
  }

  @Test func `R2.8: a device that begins anew over another connection has no former offers`() throws {
    let (first, chooser, _) = try replacement(Identifier(high: .max, low: 1))
    let second = try RawPeer(hubIn: world, as: Identifier(high: .max, low: 2), device: one)
    first.disconnect()
    #expect(titles(in: chooser) == ["Letter"])
    try second.resume()
    #expect(second.isConnected && titles(in: chooser).isEmpty)
  }

  @Test(arguments: [Identifier(high: 0, low: 1), Identifier(high: .max, low: 1)])
  func `R2.8: two devices that have begun a session over each of two connections share the last one alone`(
    id: Identifier
  ) throws {
    let (first, chooser, activity) = try replacement(id)
    let second = try RawPeer(hubIn: world, as: id, device: one)
    first.disconnect()
    // It had named nothing when the first one began.
    try second.resume()
    if second.decision == nil { try second.say(.proceed(session: nil, received: 0)) }
    try second.say(.route(to: id, Route([id], sequence: 1), isSought: false))
    let version = OffersVersion(hub: id, number: 1)
    try second.say(.offered(activity, "Letter", by: origin, of: id), .listed(version))
    #expect(titles(in: chooser) == ["Letter"])
    let third = try RawPeer(hubIn: world, as: id, device: one)
    #expect(third.sessions.map { $0.secret } == [second.secret])
    let secret = try #require(second.secretOfHub)
    try third.resume((try #require(first.secretOfHub), isConnected: false), (secret, isConnected: false))
    try third.say(.proceed(session: secret, received: 0))
    #expect(third.decision?.session == second.secret && !second.isConnected && third.isConnected)
    // A change of the offer is taken over the session that goes on.
    try third.say(.offered(activity, "Answer", by: origin, of: id))
    #expect(titles(in: chooser) == ["Answer"])
  }

  @Test func `of two new connections of a device one takes over, and the other is refused`() throws {
    let id = Identifier(high: .max, low: 1)
    let (first, chooser, _) = try replacement(id)
    let secret = try #require(first.secretOfHub)
    let (second, third) = (
      try RawPeer(hubIn: world, as: id, device: one), try RawPeer(hubIn: world, as: id, device: one)
    )
    try second.resume((secret, isConnected: false))
    try third.resume((secret, isConnected: false))
    #expect(second.isConnected && !third.isConnected && !first.isConnected && titles(in: chooser) == ["Letter"])
  }

  @Test func `R2.8: when the network changes each device is asked at once, and a link that answers stays`() throws {
    let (silent, answering, app) = (
      try world.linkHub(device: one), try world.linkHub(device: other), try world.linkHub()
    )
    func pings(_ peer: RawPeer) -> Int { peer.heard.count { if case .ping = $0 { true } else { false } } }
    func change() {
      world.hub?.networkChanged(world.now)
      world.device.hub?.flush()
      world.settle()
    }
    change()
    change()
    #expect([silent, answering, app].map { pings($0.peer) } == [1, 1, 0], "once until something is heard")
    try answering.peer.say(.pong(0))
    change()
    #expect([silent, answering].map { pings($0.peer) } == [1, 2])
    try answering.peer.say(.pong(0))
    // One that has no session yet is not asked.
    let late = try RawPeer(hubIn: world, as: world.identifier(), device: Identifier(high: 0xd0, low: 3))
    change()
    #expect(pings(late) == 0)
    try answering.peer.say(.pong(0))
    world.wait(HubLinks.hubSilenceTime - 1_000)
    try answering.peer.say(.pong(0))
    world.wait(1_001)
    #expect(!silent.peer.isConnected && answering.peer.isConnected)
  }

  @Test func `the hub at the other end of a link is known once it has said so`() throws {
    let id = world.identifier()
    let peer = try RawPeer(hubIn: world, as: id, device: one, saysWho: false)
    let number = try #require(peer.number)
    #expect(world.hub?.hub(at: number) == nil && world.hub?.hub(at: number + 1) == nil)
    try peer.say(
      .link(
        HubIdentity(id: id, deviceName: "away"), version: ProtocolVersion.current, minimum: ProtocolVersion.minimum))
    #expect(world.hub?.hub(at: number) == id)
    try peer.resume()
    #expect(world.hub?.hub(at: number) == id)
    peer.disconnect()
    #expect(world.hub?.hub(at: number) == nil)
  }

  // MARK: Accounts

  @Test func `what agents say of their account goes from device to device, and to no other`() throws {
    var heard: [String] = []
    world.hub?.trustHandler = { device, message in
      heard.append("\(device.bytes.last ?? 0): \(message ?? [])")
      return message == nil ? [5] : nil
    }
    let (first, second) = (try world.linkHub(device: one), try world.linkHub(device: other))
    #expect(heard == ["1: []", "2: []"], "each session that begins")
    try first.peer.say(.account([7, 8]))
    #expect(heard.last == "1: [7, 8]")
    world.hub?.sendAccount([9], to: one, world.now)
    world.device.hub?.flush()
    world.settle()
    func messages(_ peer: RawPeer) -> [[UInt8]] {
      peer.heard.compactMap { if case .account(let message) = $0 { message } else { nil } }
    }
    #expect(messages(first.peer) == [[5], [9]] && messages(second.peer) == [[5]], "with the greeting of each")
    // Whoever an app has linked is no device of the account.
    let app = try world.linkHub()
    try app.peer.say(.account([7]))
    #expect(heard.count == 3 && !app.peer.isConnected && app.peer.goodbye?.status == .malformed)
  }

  @Test func `A23 a message about an account costs the device that sends it eight times a small one`() throws {
    let peer = try world.linkHub(device: one).peer
    let before = try #require(world.hub?.work)
    try peer.say(.account([7]), .account([8]))
    let work = try #require(world.hub?.work)
    try peer.say(.pong(0), .pong(0))
    #expect(work - before == 2 * 8 && world.hub?.work == work + 2)
  }

  @Test func `R14.3 bytes that wait for a session that nothing is sent in are none that wait for its device`() throws {
    let peer = try world.linkHub(device: one).peer
    let frame = RelayFrame.bytes(channel: 1, offset: 0, ArraySlice(repeating: 7, count: RelayFrame.dataLimit))
    world.hub?.sendRelay([(frame: frame, device: one)], world.now)
    #expect(world.hub.map { $0.unsent(to: one) > RelayFrame.dataLimit && $0.unsent(to: other) == 0 } ?? false)
    peer.disconnect()
    // It has started again, and knows of no former session.
    _ = try world.linkHub(device: one)
    #expect(world.hub?.unsent(to: one) == 0)
  }

  @Test func `a session that resumes is told of`() throws {
    var count = 0
    world.hub?.trustHandler = { _, message in
      if message == nil { count += 1 }
      return nil
    }
    let id = world.identifier()
    let before = try RawPeer(hubIn: world, as: id, device: one)
    try before.resume()
    // The hub with the lower identifier decides.
    #expect(count == 1)
    let secret = try #require(before.secretOfHub)
    before.disconnect()
    let after = try RawPeer(hubIn: world, as: id, device: one)
    try after.resume((secret, isConnected: false))
    try after.say(.proceed(session: secret, received: 0))
    #expect(count == 2)
  }

  @Test func `R10.3, R10.6: the links of a device end for good, and its offers are gone at once`() throws {
    let chooser = world.open("chooser", chooser: true)
    let (first, second) = (try world.linkHub(device: one), try world.linkHub(device: other))
    try first.peer.say(.offered(world.identifier(), "Letter", by: origin, of: first.id))
    try second.peer.say(.offered(world.identifier(), "Answer", by: origin, of: second.id))
    // One whose connection is cut may come back, unless it is ended.
    let cut = try world.linkHub(device: one)
    cut.peer.disconnect()
    world.hub?.endLinks(of: one, SegueError(.notAllowed, "removed"), world.now)
    world.device.hub?.flush()
    world.settle()
    #expect(!first.peer.isConnected && first.peer.goodbye?.status == .notAllowed && second.peer.isConnected)
    #expect(chooser.engine.offers.all.map { $0.description.title } == ["Answer"])
    #expect(world.hub?.parts.peers.hubs.count == 1, "nothing is kept that could resume")
    world.hub?.endLinks(of: nil, SegueError(.connectionUnavailable, "left"), world.now)
    world.device.hub?.flush()
    world.settle()
    #expect(!second.peer.isConnected && chooser.engine.offers.all.isEmpty)
  }
}
