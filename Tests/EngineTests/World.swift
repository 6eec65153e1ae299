import SegueEngine
import SegueModel
import SegueWire
import Testing

/// A device in virtual time: apps, and one hub at a time. Wires engines to each other, without drivers, network or
/// delay: `LinkedDevices` of the fleet has those.
final class World {
  private(set) var now = Moment(uptime: 1_000_000, date: 1_700_000_000)
  private(set) var hub: HubEngine?
  private(set) var apps: [TestApp] = []
  private var generation: UInt64 = 0
  private var nextNumber: UInt64 = 1
  private var numbers: UInt64 = 0
  private let device: UInt64
  /// Takes part at the hub, which then is its hub.
  private(set) var agent: TestAgent?
  /// Links to the hubs of other devices: how to send bytes there.
  var links: [(number: HubEngine.PeerNumber, send: ([UInt8]) -> Void, close: () -> Void)] = []

  init(device: UInt64 = 0) { self.device = device }

  /// Distinct identifiers in arbitrary order.
  func identifier() -> Identifier {
    numbers += 1
    return Identifier(high: 0x5e90e, low: device << 32 | numbers)
  }

  func startHub(frontmostOnly: Bool = false) {
    generation += 1
    hub = HubEngine(
      HubIdentity(id: identifier(), deviceName: "device \(device)"), generation: generation,
      offersFrontmostOnly: frontmostOnly, agent: agent?.description, now)
    if let agent { connect(agent) }
    for app in apps where app.isOpen { connect(app) }
    settle()
  }

  /// An agent starts, and carries the hub.
  func startAgent(_ storage: TestInbox = TestInbox()) -> TestAgent {
    if hub != nil { killHub() }
    let agent = TestAgent(storage, in: self)
    self.agent = agent
    startHub()
    return agent
  }

  /// The agent is killed, and the hub with it. What it has stored stays.
  func killAgent() {
    agent = nil
    killHub()
  }

  /// Connects an app that was not open when the hub started.
  func admit(_ app: TestApp) {
    app.isOpen = true
    connect(app)
    settle()
  }

  /// The hub is killed: no goodbye.
  func killHub() {
    hub = nil
    for app in apps {
      app.number = nil
      app.engine.disconnected(now)
    }
    settle()
  }

  func open(
    _ name: String, types: [String] = ["com.example.note"], team: String = "TEAM", chooser: Bool = false,
    limits: Limits = Limits(), savePolicy: SavePolicy = .whenPulled
  ) -> TestApp {
    let identity = AppIdentity(
      secret: identifier(), bundleIdentifier: "com.example.\(name)", name: name, team: team, types: types,
      isChooser: chooser)
    let app = TestApp(identity, limits, savePolicy)
    apps.append(app)
    if hub != nil { connect(app) }
    settle()
    return app
  }

  /// The app's process is killed.
  func kill(_ app: TestApp) {
    app.isOpen = false
    disconnectFromHub(app)
    settle()
  }

  func close(_ app: TestApp) {
    app.engine.startClosing(now)
    settle()
    app.engine.finishClosing(now)
    settle()
    app.isOpen = false
    disconnectFromHub(app)
    settle()
  }

  /// Calls an engine, and runs all consequences that take no time.
  func tell(_ app: TestApp, _ call: (AppEngine, Moment) -> Void) {
    call(app.engine, now)
    settle()
  }

  /// Lets time pass, stopping at each deadline.
  func wait(_ milliseconds: Int64) {
    let end = now.uptime + milliseconds
    while true {
      let next =
        (apps.filter { $0.isOpen }.map { $0.engine.nextDeadline } + [hub?.nextDeadline, agent?.engine.nextDeadline])
        .compactMap { $0 }.min() ?? end
      let at = max(now.uptime, min(next, end))
      now.date += Double(at - now.uptime) / 1000
      now.uptime = at
      for app in apps where app.isOpen {
        app.engine.tick(now)
        #expect(app.engine.nextDeadline ?? .max > now.uptime, "what was due stays due: it would be busy for ever")
      }
      agent?.engine.tick(now)
      #expect(agent?.engine.nextDeadline ?? .max > now.uptime, "what was due stays due: it would be busy for ever")
      hub?.tick(now)
      #expect(hub?.nextDeadline ?? .max > now.uptime, "what was due stays due: it would be busy for ever")
      settle()
      if at == end { return }
      // A deadline that does not advance would stop the time.
      now.uptime += 1
      now.date += 0.001
    }
  }

  func takeNumber() -> HubEngine.PeerNumber {
    nextNumber += 1
    return nextNumber - 1
  }

  private func connect(_ app: TestApp) {
    app.number = takeNumber()
    _ = hub?.connected(app.number!, now)
    app.engine.connected(now)
  }

  private func disconnectFromHub(_ app: TestApp) {
    guard let number = app.number else { return }
    hub?.disconnected(number, now)
    app.number = nil
  }

  func settle() {
    var isQuiet = false
    while !isQuiet {
      isQuiet = true
      for app in apps where app.isOpen {
        if app.runDeliveries(now) { isQuiet = false }
        guard let number = app.number, let link = app.engine.link, let hub else { continue }
        for (bytes, descriptor) in output(of: link) {
          hub.receive(bytes, with: descriptor, from: number, now)
          isQuiet = false
        }
      }
      if let agent {
        if agent.run(now) { isQuiet = false }
        if let number = agent.number, let link = agent.engine.link, let hub {
          for (bytes, descriptor) in output(of: link) {
            hub.receive(bytes, with: descriptor, from: number, now)
            isQuiet = false
          }
        }
        if let broken = agent.engine.brokenInvariant { fatalError("\(broken)") }
      }
      if flushHub() { isQuiet = false }
      for app in apps { if let broken = app.engine.brokenInvariant { fatalError("\(broken)") } }
      if let broken = hub?.brokenInvariant { fatalError("\(broken)") }
    }
  }

  private func flushHub() -> Bool {
    guard let hub else { return false }
    var hasMoved = false
    while hub.flushNext({ number, link in
      for (bytes, descriptor) in output(of: link) {
        hasMoved = true
        if let link = links.first(where: { $0.number == number }) { link.send(bytes) }
        if let agent, agent.number == number { agent.engine.receive(bytes, with: descriptor, now) }
        guard let app = apps.first(where: { $0.number == number }) else { continue }
        app.engine.receive(bytes, with: descriptor, now)
      }
    }) {}
    for number in hub.takePeersToClose() {
      hub.disconnected(number, now)
      if let link = links.first(where: { $0.number == number }) { link.close() }
      guard let app = apps.first(where: { $0.number == number }) else { continue }
      app.number = nil
      app.engine.disconnected(now)
      hasMoved = true
    }
    return hasMoved
  }

  private func connect(_ agent: TestAgent) {
    agent.number = takeNumber()
    hub?.connected(agent.number ?? 0, now)
    agent.engine.connected(now)
  }

  private func output(of link: Link) -> [([UInt8], PassedDescriptor?)] {
    var pieces: [([UInt8], PassedDescriptor?)] = []
    while link.takeOutput({
      pieces.append((Array($0), link.outgoingDescriptor))
      return $0.count
    }) {}
    return pieces
  }
}
