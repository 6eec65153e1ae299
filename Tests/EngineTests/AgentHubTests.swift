import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// A hub that an agent carries, as its apps see it (docs/protocol.md, "Versions").
@Suite struct AgentHubTests {
  private let agent = AgentDescription(version: "1.2.3", capabilities: 5)

  private func welcomed(version: UInt64, _ agent: AgentDescription?) throws -> AppEngine {
    let hub = try RawHub(for: try Continued(), welcoming: false)
    try hub.say(.welcome(version: version, generation: 7, deviceName: "here", agent: agent))
    return hub.app.engine
  }

  @Test func `the welcome says that an agent carries the hub, and which`() throws {
    let engine = try welcomed(version: ProtocolVersion.current, agent)
    #expect(engine.hubGeneration == 7 && engine.takeFault() == nil)
    #expect(engine.hubAgent?.version == "1.2.3" && engine.hubAgent?.capabilities == 5)
    let other = try welcomed(version: ProtocolVersion.current, nil)
    #expect(other.hubGeneration == 7 && other.hubAgent == nil)
  }

  @Test func `an app takes over from an app of an older version, and from no agent`() throws {
    guard case .older = try welcomed(version: 1, nil).takeFault() else {
      return #expect(Bool(false), "an app would serve newer ones for as long as it runs")
    }
    let engine = try welcomed(version: 1, agent)
    guard case .refused(let error) = engine.takeFault() else {
      return #expect(Bool(false), "an agent is superseded")
    }
    #expect(error.status == .unsupportedVersion && engine.hubGeneration == nil)
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
    let now = Moment(uptime: 0, date: 0)
    let identity = HubIdentity(id: Identifier(high: 1, low: 1), deviceName: "here")
    let hub = HubEngine(identity, generation: 3, offersFrontmostOnly: false, agent: agent, now)
    hub.connected(1, now)
    let app = Link(side: .connecting)
    let person = try Continued().viewer.engine.identity
    app.send(
      try Message.hello(person, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum).encoded())
    while app.takeOutput({ bytes in
      hub.receive(Array(bytes), from: 1, now)
      return bytes.count
    }) {}
    while hub.flushNext({ _, link in
      while link.takeOutput({ bytes in
        app.receive(Array(bytes))
        return bytes.count
      }) {}
    }) {}
    guard case .message = try app.nextEvent(),
      case .welcome(_, 3, _, let described?) = try app.takeMessage(Message.decode)
    else { return #expect(Bool(false), "it says nothing of the agent") }
    #expect(described.version == "1.2.3" && described.capabilities == 5)
  }
}
