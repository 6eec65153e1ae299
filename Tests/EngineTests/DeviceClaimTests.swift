// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// A member of the account that says what another one could say: identifiers of hubs, apps and activities prove nothing
/// (A13, docs/device-links.md).
@Suite struct DeviceClaimTests {
  let world = World(hasHub: true)
  private static let laptop = Identifier(high: 0xd0, low: 1)
  private static let other = Identifier(high: 0xd0, low: 2)

  /// The kinds of the links that lead to the honest hub and to the liar. The link of an app has no device (nil).
  enum Links: CaseIterable {
    case devices
    case deviceAndApp
    case appAndDevice

    var honest: Identifier? { self == .appAndDevice ? nil : DeviceClaimTests.laptop }
    var liar: Identifier? { self == .deviceAndApp ? nil : DeviceClaimTests.other }
  }

  private func receiver(_ id: Identifier) -> Receiver {
    Receiver(id: id, deviceName: "away", appName: "viewer", bundleIdentifier: "com.example.viewer")
  }

  private func fetches(_ peer: RawPeer) -> [(continuation: Message.Continuation, isBack: Bool)] {
    peer.heard.compactMap { if case .fetch(let one, _, _, _, let isBack, _) = $0 { (one, isBack) } else { nil } }
  }

  private func isRefused(_ attempt: Identifier, _ peer: RawPeer) -> Bool {
    peer.heard.contains { if case .refused(attempt, _, _) = $0 { true } else { false } }
  }

  // MARK: States that come back (R3.10)

  /// An app of the hub `peer` has continued an activity of the editor.
  private func `continue`(
    _ activity: Identifier, of editor: TestApp, by viewer: Identifier, _ peer: RawPeer
  ) throws -> Identifier {
    let attempt = Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: activity)
    try peer.say(.fetch(attempt, milliseconds: 10_000, receiver: receiver(viewer)))
    #expect(peer.heard.contains { if case .state(attempt.id, _, _, _, _, _) = $0 { true } else { false } })
    try peer.say(.outcome(attempt, .restored, nil, receiver: receiver(viewer)))
    #expect(editor.receipts.last?.outcome == .restored)
    return attempt.id
  }

  @Test(arguments: Links.allCases)
  func `A13: a state comes back from where its continuation came, whoever says that the app is its own`(
    _ links: Links
  ) throws {
    let editor = world.open("editor")
    let activity = try world.offer("Draft", by: editor)
    let (liar, honest) = (try world.linkHub(device: links.liar), try world.linkHub(device: links.honest))
    let viewer = world.identifier()
    let continuation = try `continue`(activity, of: editor, by: viewer, honest.peer)
    try liar.peer.say(.offered(world.identifier(), "Lie", by: viewer, of: liar.id))
    func resumeBack() { world.tell(editor) { _ = $0.resumeBack(activity, id: world.identifier(), timeout: nil, $1) } }
    resumeBack()
    let asked = fetches(honest.peer)
    #expect(asked.map { $0.isBack } == [true] && asked.first?.continuation.origin == viewer)
    #expect(asked.first?.continuation.activity == continuation && fetches(liar.peer).isEmpty)
  }

  @Test(arguments: Links.allCases, [true, false])
  func `A13: the next hub looks for that app where it was, and nowhere else`(
    _ links: Links, _ isOffering: Bool
  ) throws {
    let editor = world.open("editor")
    let activity = try world.offer("Draft", by: editor)
    let viewer = world.identifier()
    let continuation = try `continue`(activity, of: editor, by: viewer, world.linkHub(device: links.honest).peer)
    world.killHub()
    world.startHub()
    let (liar, honest) = (try world.linkHub(device: links.liar), try world.linkHub(device: links.honest))
    try liar.peer.say(.offered(world.identifier(), "Lie", by: viewer, of: liar.id))
    if isOffering { try honest.peer.say(.offered(world.identifier(), "Kept", by: viewer, of: honest.id)) }
    world.wait(HubConnections.gracePeriod)
    _ = editor.takeEvents()
    world.tell(editor) { _ = $0.resumeBack(activity, id: world.identifier(), timeout: nil, $1) }
    #expect(fetches(liar.peer).isEmpty)
    #expect(fetches(honest.peer).map { $0.continuation.activity } == (isOffering ? [continuation] : []))
    #expect(editor.takeEvents().filter { $0.hasPrefix("did_fail") }.isEmpty == isOffering)
  }

  @Test func `A13: no device takes over what another one fetches`() throws {
    let (first, liar) = (try world.linkHub(device: Self.laptop), try world.linkHub(device: Self.other))
    let editor = world.open("editor")
    editor.answersSaves = false
    let activity = try world.offer("Draft", by: editor)
    let viewer = world.identifier()
    let attempt = Message.Continuation(id: world.identifier(), origin: editor.engine.identity.id, activity: activity)
    let fetch = Message.fetch(attempt, milliseconds: 10_000, receiver: receiver(viewer))
    try first.peer.say(fetch)
    first.peer.disconnect()
    // It would have to know the name of the attempt.
    try liar.peer.say(fetch)
    #expect(isRefused(attempt.id, liar.peer) && editor.receipts.isEmpty)
  }

  @Test(arguments: Links.allCases) func `A13: who names another one's app as the receiver takes no place of it`(
    _ links: Links
  ) throws {
    let editor = world.open("editor")
    editor.answersSaves = false
    let activity = try world.offer("Draft", by: editor)
    let (liar, honest) = (try world.linkHub(device: links.liar).peer, try world.linkHub(device: links.honest).peer)
    let viewer = world.identifier()
    func fetch(_ peer: RawPeer) throws -> Identifier {
      let attempt = Message.Continuation(
        id: world.identifier(), origin: editor.engine.identity.id, activity: activity)
      try peer.say(.fetch(attempt, milliseconds: .max, receiver: receiver(viewer)))
      return attempt.id
    }
    for _ in 0..<2 * OutgoingContinuations.receiverLimit { _ = try fetch(liar) }
    #expect(!isRefused(try fetch(honest), honest))
  }

  @Test func `A13: who names another one's app as the receiver takes no right of it`() {
    let (grants, activity, viewer) = (ActivityGrants(), world.identifier(), world.identifier())
    func insert(of principal: Identifier) -> Message.Continuation {
      let continuation = Message.Continuation(id: world.identifier(), origin: viewer, activity: activity)
      grants.insert(
        ActivityGrant(continuation: continuation.id, activity: activity, app: viewer, principal: principal, revision: 0)
      )
      return continuation
    }
    let honest = insert(of: Self.laptop)
    for _ in 0...ActivityGrants.appLimit { _ = insert(of: Self.other) }
    #expect(grants.rejection(to: honest, of: viewer) == nil)
  }

  // MARK: Activities

  /// A hub with one offer of an app.
  private func offering(
    _ title: String, as activity: Identifier, by app: Identifier, _ device: Identifier?
  ) throws -> (peer: RawPeer, id: Identifier) {
    let hub = try world.linkHub(device: device)
    try hub.peer.say(.offered(activity, title, by: app, of: hub.id), .listed(OffersVersion(hub: hub.id, number: 1)))
    return hub
  }

  private func titles(_ app: TestApp) -> Set<String> { Set(app.engine.offers.all.map { $0.description.title ?? "" }) }

  @Test(arguments: Links.allCases, [true, false])
  func `R6.2: an offer that gets another type or team is gone for those that may not see it`(
    _ links: Links, isOtherTeam: Bool
  ) throws {
    let viewer = world.open("viewer")
    let (activity, app) = (world.identifier(), world.identifier())
    let hub = try offering("Letter", as: activity, by: app, links.liar)
    #expect(titles(viewer) == ["Letter"])
    let seen = try #require(viewer.engine.offers.all.first)
    let type = isOtherTeam ? seen.description.type : "com.example.other"
    let team = isOtherTeam ? "another" : "TEAM"
    try hub.peer.say(.offered(activity, "Ghost", by: app, of: hub.id, 2, type: type, team: team))
    #expect(titles(viewer).isEmpty)
    // Back again, and then its link ends.
    try hub.peer.say(.offered(activity, "Again", by: app, of: hub.id, 3))
    #expect(titles(viewer) == ["Again"])
    try hub.peer.say(.offered(activity, "Ghost", by: app, of: hub.id, 4, type: type, team: team))
    try hub.peer.say(.goodbye(SegueError(.cancelled, "is gone")))
    #expect(titles(viewer).isEmpty)
  }

  @Test(arguments: Links.allCases, [true, false])
  func `A13: what two offer under one identifier are two offers, each continued where it is`(
    _ links: Links, isLiarFirst: Bool
  ) throws {
    let viewer = world.open("viewer")
    let (activity, app) = (world.identifier(), world.identifier())
    let early = isLiarFirst ? try offering("Lie", as: activity, by: app, links.liar) : nil
    let honest = try offering("Letter", as: activity, by: app, links.honest)
    let liar = try early ?? offering("Lie", as: activity, by: app, links.liar)
    #expect(titles(viewer) == ["Letter", "Lie"])
    for (title, asked, other) in [("Letter", honest.peer, liar.peer), ("Lie", liar.peer, honest.peer)] {
      let before = (fetches(asked).count, fetches(other).count)
      let offer = try #require(viewer.engine.offers.all.first { $0.description.title == title })
      world.tell(viewer) { $0.continue(offer, id: world.identifier(), timeout: nil, $1) }
      #expect(fetches(asked).count == before.0 + 1 && fetches(other).count == before.1)
      #expect(fetches(asked).last?.continuation.activity == activity, "by the name that it knows")
    }
    // Each of them withdraws its own offer alone.
    try liar.peer.say(.gone(activity, OffersVersion(hub: liar.id, number: 2)))
    #expect(titles(viewer) == ["Letter"])
    try liar.peer.say(.gone(activity, OffersVersion(hub: liar.id, number: 3)))
    #expect(titles(viewer) == ["Letter"])
  }

  @Test func `A13: while a device is away another one cannot take the place of its offer`() throws {
    let viewer = world.open("viewer")
    let (activity, app) = (world.identifier(), world.identifier())
    let desk = try offering("Letter", as: activity, by: app, Self.laptop)
    let held = try #require(viewer.engine.offers.all.first)
    try desk.peer.say(.goodbye(SegueError(.cancelled, "restarts")))
    let liar = try offering("Lie", as: activity, by: app, Self.other)
    // The host still has the offer that has gone.
    world.tell(viewer) { $0.continue(held, id: world.identifier(), timeout: nil, $1) }
    world.wait(HubConnections.gracePeriod)
    #expect(fetches(liar.peer).isEmpty && viewer.failures.map { $0.status } == [.connectionUnavailable])
    _ = try offering("Letter", as: activity, by: app, Self.laptop)
    #expect(titles(viewer) == ["Letter", "Lie"])
    #expect(viewer.engine.offers[held.description.id]?.description.title == "Letter", "it is the same as before")
  }

  @Test func `A13: a device may restart its hub, and its offers stay one each`() throws {
    let viewer = world.open("viewer")
    let (activity, app) = (world.identifier(), world.identifier())
    let former = try offering("Letter", as: activity, by: app, Self.laptop)
    _ = viewer.takeEvents()
    _ = try offering("Letter", as: activity, by: app, Self.laptop)
    former.peer.disconnect()
    #expect(titles(viewer) == ["Letter"] && viewer.engine.offers.all.count == 1)
    #expect(!viewer.takeEvents().contains { $0.hasPrefix("gone") || $0.hasPrefix("appeared") })
  }

  @Test(arguments: [false, true])
  func `A13: a link of an app, which hears what a device's offer is called here, does not hide it`(
    isLiarFirst: Bool
  ) throws {
    let viewer = world.open("viewer")
    let (activity, app) = (world.identifier(), world.identifier())
    let heard = Identifier(of: activity, onDevice: Self.laptop)
    let liar = isLiarFirst ? try offering("Lie", as: heard, by: app, nil) : nil
    let desk = try offering("Letter", as: activity, by: app, Self.laptop)
    if liar == nil { _ = try offering("Lie", as: heard, by: app, nil) }
    #expect(titles(viewer) == ["Letter"])
    let offer = try #require(viewer.engine.offers.all.first)
    world.tell(viewer) { $0.continue(offer, id: world.identifier(), timeout: nil, $1) }
    #expect(fetches(desk.peer).count == 1)
  }

  @Test func `A13: all that follows a continuation is said by the name that its device knows`() throws {
    let (activity, app) = (world.identifier(), world.identifier())
    let desk = try offering("Letter", as: activity, by: app, Self.laptop).peer
    let requester = try RawPeer(app: "requester", in: world)
    let known = Identifier(of: activity, onDevice: Self.laptop)
    let offered = requester.heard.compactMap {
      if case .offer(let offer, _, _) = $0 { offer.description.id } else { nil }
    }
    #expect(offered == [known])
    let attempt = Message.Continuation(id: world.identifier(), origin: app, activity: known)
    try requester.say(.fetch(attempt, milliseconds: 10_000, receiver: nil))
    try requester.open { .request(1, attempt, from: world.identifier(), milliseconds: 10_000, channel: $0, size: 0) }
    try requester.say(
      .stream(world.identifier(), attempt, from: world.identifier(), channel: 0, attachment: nil),
      with: requester.makeStream())
    try requester.say(.streamStatus(world.identifier(), attempt, to: app, nil))
    try requester.say(.outcome(attempt, .restored, nil, receiver: nil))
    let named = desk.heard.compactMap { message -> Identifier? in
      switch message {
      case .fetch(let one, _, _, _, _, _), .request(_, let one, _, _, _, _), .stream(_, let one, _, _, _),
        .streamStatus(_, let one, _, _), .outcome(let one, _, _, _):
        one.id == attempt.id ? one.activity : nil
      default: nil
      }
    }
    #expect(named == Array(repeating: activity, count: 5))
    // A message of the device is passed on with the name of the activity that is known here.
    let there = Message.Continuation(id: attempt.id, origin: app, activity: activity)
    let receiver = try #require(world.hub?.parts.peers.apps.first?.app?.id)
    try desk.say(.response(1, there, to: receiver, channel: 0, size: 0, SegueError(.declined, "no")))
    try desk.say(.streamStatus(world.identifier(), there, to: receiver, nil))
    let heard = requester.heard.compactMap { message -> Identifier? in
      switch message {
      case .response(_, let one, _, _, _, _), .streamStatus(_, let one, _, _): one.activity
      default: nil
      }
    }
    #expect(heard == [known, known])
  }
}
