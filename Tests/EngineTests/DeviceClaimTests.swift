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

  /// Which links lead to the honest hub and to the liar; nil: those of apps.
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
    peer.heard.compactMap { if case .fetch(let one, _, _, _, let isBack) = $0 { (one, isBack) } else { nil } }
  }

  private func isRefused(_ attempt: Identifier, _ peer: RawPeer) -> Bool {
    peer.heard.contains { if case .refused(attempt, _, _) = $0 { true } else { false } }
  }

  // MARK: What comes back (R3.10)

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
}
