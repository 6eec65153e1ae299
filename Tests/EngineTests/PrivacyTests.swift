// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// Activities that stay on their device (R10.2), and another device that tells of such ones, or delivers them (A18).
@Suite struct PrivacyTests {
  private let world = World(hasHub: true)
  private let device = Identifier(high: 0xd0, low: 1)
  private let origin = Identifier(high: 7, low: 7)

  private func heard(_ peer: RawPeer) -> [String] {
    peer.heard.compactMap { message in
      switch message {
      case .offer(let offer, _, _): offer.description.title
      case .gone: "gone"
      case .route: "route"
      default: nil
      }
    }
  }

  private func fetch(_ activity: Identifier, of app: TestApp, by peer: RawPeer) throws -> Bool {
    let attempt = Message.Continuation(id: world.identifier(), origin: app.engine.identity.id, activity: activity)
    let receiver = Receiver(
      id: world.identifier(), deviceName: "away", appName: "requester", bundleIdentifier: "com.example.a")
    try peer.say(.fetch(attempt, milliseconds: 10_000, receiver: receiver))
    return app.takeEvents().contains("will_save")
  }

  @Test(arguments: [true, false])
  func `R10.2: of a private activity nothing crosses a link`(_ isDevice: Bool) throws {
    let peer = try world.linkHub(device: isDevice ? device : nil).peer
    let before = heard(peer)
    let (editor, viewer) = (world.open("editor"), world.open("viewer"))
    let id = world.identifier()
    var activity = try Activity(type: "com.example.note")
    try activity.setTitle("Diary")
    activity.setPrivate(true)
    editor.add(activity, as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    world.wait(1_000)
    #expect(viewer.engine.offers.all.map { $0.description.title } == ["Diary"], "apps of this device have it")
    #expect(viewer.engine.offers.all.allSatisfy { $0.description.isPrivate })
    #expect(heard(peer).filter { $0 != "route" } == before.filter { $0 != "route" })
    if isDevice { #expect(heard(peer) == before, "a device knows the route, and that there is an offer it does not") }
    #expect(try !fetch(id, of: editor, by: peer))
    // It ends in silence, too.
    world.tell(editor) { $0.resignCurrent(id, $1) }
    world.wait(1_000)
    #expect(!heard(peer).contains("gone"))
    // The same if it is not private; then its end is told, once.
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    editor.change(id) { $0.setPrivate(false) }
    world.wait(1_000)
    #expect(heard(peer).contains("Diary"))
    editor.change(id) { $0.setPrivate(true) }
    world.wait(1_000)
    world.tell(editor) { $0.resignCurrent(id, $1) }
    world.wait(1_000)
    #expect(heard(peer).count { $0 == "gone" } == 1)
    let letter = try world.offer("Letter", by: editor)
    #expect(try fetch(letter, of: editor, by: peer))
  }

  @Test func `R10.2: the end of what the user has made private is not told to who never had it`() throws {
    let editor = world.open("editor")
    world.hub?.setPrivacy({ _, _ in true }, world.now)
    let peer = try world.linkHub(device: device).peer
    let before = heard(peer)
    let id = try world.offer("Diary", by: editor)
    world.tell(editor) { $0.resignCurrent(id, $1) }
    world.hub?.setPrivacy(nil, world.now)
    world.device.hub?.flush()
    world.wait(1_000)
    #expect(heard(peer) == before)
    _ = try world.offer("Letter", by: editor)
    #expect(heard(peer) == before + ["Letter"])
  }

  @Test func `A18: a hub that tells of what is private is not believed`() throws {
    let viewer = world.open("viewer")
    let (peer, hub) = try world.linkHub(device: device)
    let id = world.identifier()
    func tell(_ isPrivate: Bool) throws {
      guard case .offer(let offer, let timing, let from) = Message.offered(id, "Diary", by: origin, of: hub) else {
        return
      }
      let description = offer.description.marked(isPrivate: isPrivate, webOrigin: nil)
      try peer.say(.offer(offer.described(description), timing, from))
    }
    try tell(true)
    #expect(viewer.engine.offers.all.isEmpty && peer.isConnected)
    try tell(false)
    #expect(viewer.engine.offers.all.count == 1)
    try tell(true)
    #expect(viewer.engine.offers.all.isEmpty)
  }

  /// Has a device deliver a changed activity, of which its hub tells as of any other.
  /// - Returns: the `continue` and `did_fail` of the app.
  private func deliver(
    _ change: (inout Activity) throws -> Void, to app: TestApp, by linked: (peer: RawPeer, id: Identifier)
  ) throws -> [String] {
    let id = world.identifier()
    try linked.peer.say(.offered(id, "Letter", by: origin, of: linked.id))
    let offer = try #require(app.engine.offers[Identifier(of: id, onDevice: device)])
    world.tell(app) { $0.continue(offer, id: world.identifier(), timeout: nil, $1) }
    try serve(change, by: linked.peer)
    try linked.peer.say(.gone(id, OffersVersion(hub: linked.id, number: 1)))
    return app.takeEvents().filter { $0 == "continue" || $0.hasPrefix("did_fail") }
  }

  private func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  private func frame(_ kind: UInt32, _ body: [UInt8], _ channel: UInt32) -> [UInt8] {
    bigEndian(kind << 24 | UInt32(body.count)) + bigEndian(channel) + body
  }

  /// Answers the last fetch.
  private func serve(_ change: (inout Activity) throws -> Void, by peer: RawPeer) throws {
    var activity = try Activity(type: "com.example.note")
    try change(&activity)
    let document = try ActivityDocument.encode(activity, .none)
    let fetch = peer.heard.compactMap { message -> (Identifier, Identifier)? in
      if case .fetch(let one, _, let receiver?, _, _, _) = message { (one.id, receiver.id) } else { nil }
    }
    let (continuation, receiver) = try #require(fetch.last)
    // The channels of the hub with the higher name.
    let channel = UInt32(2 * fetch.count)
    let size = UInt64(document.count)
    try peer.say(.state(continuation, to: receiver, channel: channel, size: size, isStale: false, why: ""))
    peer.say(frame(1, document, channel) + frame(2, bigEndian(size), channel), with: nil)
  }

  @Test func `A18: what is delivered though it is private or has expired is not continued`() throws {
    let viewer = world.open("viewer")
    let linked = try world.linkHub(device: device)
    let now = world.now.date
    // Clocks of devices may differ by a day.
    #expect(try deliver({ try $0.setExpirationDate(now - 86_000) }, to: viewer, by: linked) == ["continue"])
    #expect(
      try deliver({ try $0.setExpirationDate(now - 87_000) }, to: viewer, by: linked) == ["did_fail handoffFailed"])
    #expect(try deliver({ $0.setPrivate(true) }, to: viewer, by: linked) == ["did_fail handoffFailed"])
    #expect(try deliver({ $0.setPrivate(false) }, to: viewer, by: linked) == ["continue"])
  }

  @Test func `A18: nor is it kept for an app that does not run`() throws {
    let world = World()
    let agent = world.startAgent()
    let linked = try world.linkHub(device: device)
    for (isPrivate, count) in [(true, 0), (false, 1)] {
      let id = world.identifier()
      try linked.peer.say(.offered(id, "Letter", by: origin, of: linked.id))
      world.ask(agent, for: Identifier(of: id, onDevice: device))
      try serve({ $0.setPrivate(isPrivate) }, by: linked.peer)
      world.settle()
      #expect(agent.inbox.open.count == count, "\(agent.answers)")
    }
    #expect(agent.answers.count == 1)
  }

  @Test func `R10.2: an app of this device continues what is private`() throws {
    let (editor, viewer) = (world.open("editor"), world.open("viewer"))
    let id = try world.offer("Diary", by: editor)
    editor.change(id) { $0.setPrivate(true) }
    world.wait(1_000)
    _ = try world.continue(in: viewer)
    #expect(viewer.continued.map { $0.activity.isPrivate } == [true])
  }
}
