// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// A device of a fleet: apps, and one hub at a time, in a process without an app. Tests say what happens, and when
/// there is a hub: no app becomes one.
final class World {
  /// Milliseconds in which a call and all that follows from it are over, unless a process or the system delays them.
  private static let settlingTime: Int64 = 20

  let fleet = Fleet(seed: 1)
  let device: FleetDevice
  /// Another one, without a hub.
  let away: FleetDevice
  /// A process that is as many apps as it likes (`RawPeer`); the first one.
  let crowd: FleetProcess
  static let crowdNumber: Int32 = 1
  private(set) var apps: [TestApp] = []
  /// Takes part at the hub, which then is its hub.
  private(set) var agent: TestAgent?
  /// The process of the hub.
  private var carrier: FleetProcess?
  private var generation: UInt64 = 0
  private var names: UInt64 = 0
  private var participants: [Participant] = []

  /// A participant whose engine, if it has one, the fleet does not know.
  private struct Participant { weak var object: (any WorldParticipant)? }

  /// - Parameter hasHub: whether a hub runs from the start.
  init(hasHub: Bool = false) {
    fleet.linksAll = false
    // The names are good, and differ; devices are up.
    (device, away) = (try! fleet.addDevice("here"), try! fleet.addDevice("away"))
    device.admitsHubs = false
    crowd = try! device.start("crowd")
    if hasHub { startHub() }
  }

  /// The failures that the hubs of agents have passed on (R3.13).
  private(set) var unheardFailures: [UnheardFailure] = []

  var now: Instant { device.now }
  var hub: HubEngine? { device.hub?.engine }

  /// Distinct identifiers in arbitrary order.
  func identifier() -> Identifier {
    names += 1
    return Identifier(high: 0x5e90e, low: names)
  }

  // MARK: The hub

  func startHub(frontmostOnly: Bool = false) { startHub(in: process("hub", frontmostOnly: frontmostOnly)) }

  private func startHub(in carrier: FleetProcess) {
    generation += 1
    let engine = HubEngine(
      HubIdentity(id: identifier(), deviceName: device.name), generation: generation,
      offersFrontmostOnly: carrier.offersFrontmostOnly, agent: agent?.description, now)
    if agent != nil { engine.unheardFailure = { [unowned self] failure in unheardFailures.append(failure) } }
    let hub = FleetHub(engine, generation, in: carrier)
    carrier.hub = hub
    self.carrier = carrier
    let folder = device.openFolder()
    folder.list(folder.lock(for: hub))
    device.started(hub)
    agent?.connect(to: hub)
    for app in apps where app.isOpen { app.process.seek(.seek(minimum: generation, after: 0)) }
    settle()
  }

  /// The hub is killed: no goodbye.
  func killHub() {
    device.hub?.cut()
    device.hub?.end()
    settle()
  }

  /// An agent starts, and carries the hub.
  func startAgent(_ storage: TestInbox = TestInbox()) -> TestAgent {
    killHub()
    let agent = TestAgent(storage, in: self)
    self.agent = agent
    startHub(in: agent.process)
    return agent
  }

  /// The agent is killed, and the hub with it. Its inbox stays.
  func killAgent() {
    agent = nil
    killHub()
  }

  // MARK: Apps

  func open(
    _ name: String, types: [String] = ["com.example.note"], team: String = "TEAM", chooser: Bool = false,
    limits: Limits = Limits(), savePolicy: SavePolicy = .whenPulled
  ) -> TestApp {
    let identity = AppIdentity(
      secret: identifier(), bundleIdentifier: "com.example.\(name)", name: name, team: team, types: types,
      isChooser: chooser)
    let app = TestApp(identity, limits, savePolicy, in: process(name))
    apps.append(app)
    settle()
    return app
  }

  /// A new process, without an app.
  func process(_ name: String, frontmostOnly: Bool = false) -> FleetProcess {
    // The device is up.
    try! device.start("\(name) \(names)", offersFrontmostOnly: frontmostOnly)
  }

  /// An app that was stopped goes on.
  func resume(_ app: TestApp) {
    app.process.resume()
    if device.hub != nil { app.process.seek(.seek(minimum: generation, after: 0)) }
    settle()
  }

  /// The app's process is killed.
  func kill(_ app: TestApp) {
    app.process.kill()
    settle()
  }

  func close(_ app: TestApp) {
    tell(app) { $0.startClosing($1) }
    tell(app) { $0.finishClosing($1) }
    app.process.leave()
    settle()
  }

  /// Calls an engine, and runs all that follows at once.
  @discardableResult func tell<Result>(_ app: TestApp, _ call: (AppEngine, Instant) -> Result) -> Result {
    var result: Result?
    app.perform { result = call($0, $1) }
    settle()
    return result!
  }

  /// The hub's end of the app's connection.
  func peer(of app: TestApp) -> SegueEngine.Peer? { hub?.parts.peers[app: app.engine.identity.id] }

  // MARK: Time

  /// Lets time pass.
  func wait(_ milliseconds: Int64) {
    let end = fleet.clock.uptime + milliseconds
    while !isStuck {
      let next = min(end, agent?.nextDeadline ?? end)
      if poll() || fleet.step(until: next) { continue }
      guard next < end else { break }
      fleet.moveTime(to: max(next, fleet.clock.uptime))
      agent?.tick()
    }
    fleet.moveTime(to: end)
    agent?.tick()
    settle()
  }

  /// Runs all that takes no time.
  func settle() {
    let end = fleet.clock.uptime + Self.settlingTime
    var isBusy = true
    while isBusy, !isStuck {
      isBusy = poll()
      while fleet.isBusy, !isStuck, fleet.step(until: end) { isBusy = true }
    }
    if let violation = fleet.violation { Issue.record("\(violation)") }
  }

  /// Whether something stays due, so that the time would not advance any more.
  private var isStuck: Bool { fleet.violation?.contains("busy for ever") ?? false }

  func add(_ participant: any WorldParticipant) { participants.append(Participant(object: participant)) }

  /// - Returns: whether a participant has read or written something.
  private func poll() -> Bool {
    participants.removeAll { $0.object == nil }
    var hasMoved = false
    for participant in participants where participant.object?.poll() ?? false { hasMoved = true }
    return hasMoved
  }
}

/// A participant at the hub of a `World` that drives itself.
protocol WorldParticipant: AnyObject {
  /// Reads and writes. Returns whether it did.
  func poll() -> Bool
}
