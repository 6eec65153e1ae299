import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// A hub that an agent carries, as its apps see it (docs/protocol.md, "Versions").
@Suite struct AgentHubTests {
  private let agent = AgentDescription(version: "1.2.3", capabilities: 5)

  private func welcomed(version: UInt64, _ agent: AgentDescription?) throws -> RawHub {
    let hub = try RawHub(welcoming: false)
    hub.world.device.admitsHubs = true
    try hub.say(.welcome(version: version, generation: 7, deviceName: "here", agent: agent))
    return hub
  }

  @Test func `the welcome says that an agent carries the hub, and which`() throws {
    let hub = try welcomed(version: ProtocolVersion.current, agent)
    #expect(hub.app.engine.hubGeneration == 7 && hub.departure == nil)
    #expect(hub.app.engine.hubAgent?.version == "1.2.3" && hub.app.engine.hubAgent?.capabilities == 5)
    let other = try welcomed(version: ProtocolVersion.current, nil)
    #expect(other.app.engine.hubGeneration == 7 && other.app.engine.hubAgent == nil)
  }

  @Test func `an app takes over from an app of an older version, and from no agent`() throws {
    let old = try welcomed(version: 1, nil)
    #expect(old.app.process.hub != nil, "an app would serve newer ones for as long as it runs")
    let hub = try welcomed(version: 1, agent)
    #expect(hub.departure?.status == .unsupportedVersion && hub.app.engine.hubGeneration == nil)
    #expect(hub.app.process.hub == nil, "an agent is superseded")
  }

  @Test(arguments: [
    (1, false, "older"), (2, false, "older"), (4, false, "older"), (5, false, "spoken"), (6, false, "newer"),
    (1, true, "foreign"), (2, true, "foreign"), (3, true, "spoken"), (4, true, "spoken"), (5, true, "spoken"),
    (6, true, "newer"),
  ])
  func `an app with a newer library speaks the agent's version`(_ version: UInt64, _ isAgent: Bool, _ fit: String) {
    #expect("\(ProtocolVersion.fit(of: version, isAgent: isAgent, supported: 3...5))" == fit)
  }

  @Test func `the hub of an agent describes it to each app that it welcomes`() throws {
    let world = World()
    _ = world.startAgent()
    let app = try RawPeer(app: "app", in: world)
    guard case .welcome(_, 1, _, let described?)? = app.heard.first else {
      return #expect(Bool(false), "it says nothing of the agent")
    }
    #expect(described.version == "1.2.3" && described.capabilities == 5)
  }
}
