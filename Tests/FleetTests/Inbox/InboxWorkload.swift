// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel

@testable import SegueFleet
import SegueStore

/// A workload whose devices have agents with inboxes: somebody asks for apps that do not run, they are launched, take
/// what waits or crash on it, and agent, app, origin and power go at any step of that. Ends in a quiescent phase, in
/// which everything that waits is delivered.
final class InboxWorkload: Workload {
  private(set) lazy var oracle = InboxOracle(fleet)
  private var systems: [SystemProcess] = []
  private var chance: SeededRandom
  /// For what apps leave, and for those that die before they answer.
  private var keptFaults: SeededRandom
  /// Whether all that is launched opens and takes what waits.
  private var isQuiescent = false

  private static let bundles = ["com.example.notes", "com.example.mail", "com.example.draw"]

  override class func play(in fleet: Fleet, devices: Int, apps: Int, events: Int) throws(SegueError) {
    _ = try run(in: fleet, devices: devices, apps: apps, events: events)
  }

  /// - Returns: what it has met.
  static func run(in fleet: Fleet, devices: Int, apps: Int, events: Int) throws(SegueError) -> Set<String> {
    let workload = InboxWorkload(fleet, appCount: apps)
    try workload.start(devices)
    try workload.faultPhase(events)
    try workload.keepingPhase()
    try workload.quiescentPhase()
    try workload.end()
    return workload.oracle.met
  }

  override init(_ fleet: Fleet, appCount: Int) {
    chance = SeededRandom(seed: fleet.seed ^ 0x1b0c_1b0c_1b0c_1b0c)
    keptFaults = SeededRandom(seed: fleet.seed ^ 0x4e97_4e97_4e97_4e97)
    super.init(fleet, appCount: appCount)
  }

  /// The manifests of all apps.
  let catalogue = Catalogue(
    bundles.map { bundle in
      (
        path: bundle,
        result: .success(
          AppDeclaration(
            path: bundle, bundleIdentifier: bundle, team: "TEAM", types: types,
            launch: .command(LaunchCommand(arguments: [bundle]))))
      )
    })

  // MARK: Devices

  private func system(of device: FleetDevice) -> SystemProcess {
    while systems.count <= device.index { systems.append(SystemProcess(on: fleet.devices[systems.count])) }
    return systems[device.index]
  }

  func startAgent(on device: FleetDevice) {
    guard device.isUp, device.agent == nil else { return }
    for app in catalogue.apps { device.install(app) {} }
    device.start(agent: InboxAgent(on: device, self))
  }

  func agent(of device: FleetDevice) -> InboxAgent? {
    // This workload starts no other.
    device.agent.map { unsafeDowncast($0, to: InboxAgent.self) }
  }

  // MARK: Apps

  private var open: [InboxApp] { apps.filter { $0.isAlive }.map { unsafeDowncast($0, to: InboxApp.self) } }

  func open(_ bundle: String, on device: FleetDevice) throws(SegueError) -> InboxApp {
    let app = try InboxApp(
      AppIdentity(
        secret: chance.identifier(), bundleIdentifier: bundle, name: bundle, team: "TEAM", types: Self.types,
        isChooser: false),
      on: device, oracle)
    apps.append(app)
    return app
  }

  override func openApp() throws(SegueError) {
    let up = devices.filter { $0.isUp }
    guard !up.isEmpty else { return }
    let app = try open(Self.bundles[chance.below(Self.bundles.count)], on: up[chance.below(up.count)])
    app.setAccepts(isQuiescent || chance.chance(0.7))
  }

  /// The launcher starts an app, which may fail, crash, or take its time.
  func launch(_ bundle: String, by agent: InboxAgent, _ done: @escaping (SegueError?) -> Void) {
    let device = agent.device
    let system = system(of: device)
    let fate = isQuiescent ? 9 : chance.below(10)
    fleet.trace(device.name, "launches", bundle)
    oracle.meet("launched")
    system.later(chance.within(0, 200)) { [weak agent] in
      if agent?.isAlive ?? false { done(fate == 0 ? SegueError(.system, "launch: cannot be started") : nil) }
      if fate == 0 { agent?.launchEnded(bundle) }
    }
    guard fate > 0 else { return }
    system.later(200 + chance.within(0, 2_000)) { [unowned self, weak agent] in
      agent?.launchEnded(bundle)
      guard fate > 1, device.isUp, let app = try? open(bundle, on: device) else { return }
      if fate == 2 { return oracle.meet("launched, and never ready") }
      system.later(fate == 3 ? chance.within(0, 20_000) : chance.within(0, 100)) { app.setAccepts(true) }
    }
  }

  override func resumeApps() {
    super.resumeApps()
    for app in open { app.setAccepts(true) }
  }

  /// Some have attachments, and of some only the origin can have the content.
  override func activity() throws(SegueError) -> Activity {
    var activity = try super.activity()
    activity.keepsOffering = keptFaults.chance(0.4)
    guard chance.chance(0.4) else { return activity }
    for number in 0...chance.below(2) {
      let size = chance.chance(0.2) ? UInt64(Limits.storedAttachments) + 1 : UInt64(chance.below(9_000))
      try activity.attach(CollectedBytes.attachment("\(number) of \(activity.title ?? "")", size: size))
    }
    return activity
  }

  // MARK: Events

  override func actBeside() throws(SegueError) {
    let device = devices[chance.below(devices.count)]
    guard let agent = agent(of: device) else {
      if chance.chance(0.5) { startAgent(on: device) }
      return
    }
    if keptFaults.chance(0.1) { open.first { $0.isAwake && !$0.pendingAnswers.isEmpty }?.process.kill() }
    if keptFaults.chance(0.06) { withdraw(agent) }
    if keptFaults.chance(0.1) { anyApp?.setForeground(keptFaults.chance(0.3)) }
    switch chance.below(24) {
    case 0..<8: try ask(agent)
    case 8: device.disk.isFull.toggle()
    case 9: device.disk.slowness = chance.chance(0.5) ? 3 : 6_000
    case 10, 11:
      guard let app = anyApp else { return }
      app.setAccepts(!app.accepts)
    case 12: anyApp?.cancelDelivery()
    case 13: try drop(agent)
    case 14: try retry(agent)
    case 15, 16: anyApp?.close()
    case 17: anyApp?.process.kill()
    case 18: agent.kill()
    case 19:
      agent.leave()
      if chance.chance(0.5) { startAgent(on: device) }
    case 20: agent.kill(leavingChildFor: chance.within(500, 20_000))
    case 21: agent.stall(for: chance.within(1, 8_000))
    default: break
    }
  }

  /// The user withdraws what an app has left.
  private func withdraw(_ agent: InboxAgent) {
    let kept = oracle.kept.records(on: agent.device)
    guard agent.isAwake, !kept.isEmpty else { return }
    agent.withdraw(kept[keptFaults.below(kept.count)].activity)
  }

  private var anyApp: InboxApp? {
    let open = open.filter { $0.isAwake }
    return open.isEmpty ? nil : open[chance.below(open.count)]
  }

  /// Somebody asks for an app here, and half of the time somebody who has to do with it is gone a few steps later.
  private func ask(_ agent: InboxAgent) throws(SegueError) {
    let origins = open.filter { $0.current != nil }
    guard agent.isAwake, !origins.isEmpty else { return }
    let origin = origins[chance.below(origins.count)]
    guard let activity = origin.engine?.currentActivity else { return }
    let bundle = Self.bundles[chance.below(Self.bundles.count)]
    // A full or slow disk is for some of them.
    let timeout = chance.chance(0.3) ? chance.within(1, 5_000) : Limits().continuation
    fleet.trace(agent.name, "is asked for", bundle)
    let number = oracle.ask(agent, by: fleet.clock.uptime + timeout)
    agent.continue(activity, in: bundle, timeout: timeout, number)
    guard chance.chance(0.5) else { return }
    let end = fleet.clock.uptime + 3_000
    for _ in 0..<chance.below(150) where !fleet.step(until: end) { break }
    let device = agent.device
    switch chance.below(5) {
    case 0: agent.kill()
    case 1: origin.process.kill()
    case 2, 3: open.first { $0.process.device === device && $0.identity.bundleIdentifier == bundle }?.process.kill()
    default: device.crash()
    }
  }

  private func entries(of agent: InboxAgent) throws(SegueError) -> [InboxEntry] {
    try agent.device.disk.entries()
  }

  /// The user wants an entry no more.
  private func drop(_ agent: InboxAgent) throws(SegueError) {
    let entries = try entries(of: agent)
    guard !entries.isEmpty, !agent.device.disk.isFull else { return }
    let id = entries[chance.below(entries.count)].continuation
    if agent.isAwake { agent.forget(id) }
  }

  /// The user wants what an app has crashed on to be delivered.
  private func retry(_ agent: InboxAgent) throws(SegueError) {
    let disk = agent.device.disk
    guard !disk.isFull else { return }
    for entry in try entries(of: agent) where entry.isHeld {
      try retry(entry.continuation, agent)
    }
  }

  private func retry(_ id: Identifier, _ agent: InboxAgent) throws(SegueError) {
    oracle.meet("held, and asked for")
    oracle[id]?.wasRetried = true
    _ = try agent.device.disk.perform { inbox throws(SegueError) in try inbox.retry(id) }
    agent.retried(id)
  }

  // MARK: One cold start

  enum Victim: CaseIterable { case agent, app, origin, device }

  /// Somebody asks for an app that does not run, and somebody is gone that many steps later. The rest is that of each
  /// workload.
  /// - Returns: how far it had come.
  static func coldStart(
    in fleet: Fleet, killing victim: Victim, after steps: Int
  ) throws(SegueError) -> InboxOracle.Phase {
    let workload = InboxWorkload(fleet, appCount: 0)
    workload.isQuiescent = true
    try workload.start(1)
    let device = workload.devices[0]
    workload.startAgent(on: device)
    let origin = try workload.open(bundles[0], on: device)
    var activity = try workload.activity()
    try activity.attach(Attachment(name: "photo", size: 3_000))
    origin.becomeCurrent(fleet.drawIdentifier(), activity)
    fleet.advance(2_000)
    try workload.ask(origin, for: bundles[1])
    for _ in 0..<steps where !fleet.step() { break }
    let phase = workload.oracle.phase
    switch victim {
    case .agent: device.agent?.kill()
    case .app: workload.open.first { $0 !== origin }?.process.kill()
    case .origin: origin.process.kill()
    case .device: device.crash()
    }
    try workload.faultPhase(0)
    try workload.quiescentPhase()
    try workload.end()
    return phase
  }

  private func ask(_ origin: InboxApp, for bundle: String) throws(SegueError) {
    guard let agent = agent(of: origin.process.device), let activity = origin.engine?.currentActivity else { return }
    let number = oracle.ask(agent, by: fleet.clock.uptime + Limits().continuation)
    agent.continue(activity, in: bundle, number)
  }

  // MARK: The end

  override func endFaults() {
    isQuiescent = true
    for device in devices {
      device.restart()
      device.agent?.resume()
      let disk = device.disk
      disk.isFull = false
      disk.slowness = 3
    }
    // An agent that has lost its folder ends, once it runs.
    fleet.advance(2_000)
    for device in devices { startAgent(on: device) }
    super.endFaults()
    for app in open { app.checkFetches() }
  }

  /// Everything that waits is delivered: first to the apps that are open and have not had it, then to others.
  private func quiescentPhase() throws(SegueError) {
    oracle.checkAsked()
    oracle.checkReceipts(of: apps)
    fleet.network = Network()
    for device in devices {
      guard let agent = agent(of: device) else {
        fleet.report(device.name, "its agent does not live")
        continue
      }
      if let leak = agent.leak { fleet.report(agent.name, "\(leak)") }
      try checkOpenAppsHaveTheirs(agent)
    }
    for app in apps { app.close() }
    fleet.advance(Self.endingTime)
    for device in devices {
      guard let agent = agent(of: device) else { continue }
      for entry in try entries(of: agent) where entry.isHeld { try retry(entry.continuation, agent) }
      for bundle in Self.bundles { try open(bundle, on: device).setAccepts(true) }
    }
    fleet.advance(Self.endingTime)
    var waiting: [Identifier] = []
    for device in devices {
      if let agent = agent(of: device) { waiting += try entries(of: agent).map { $0.continuation } }
    }
    oracle.checkNothingIsLost(waiting)
  }

  /// An app that is open and takes what waits has had all of it that it can get.
  private func checkOpenAppsHaveTheirs(_ agent: InboxAgent) throws(SegueError) {
    for entry in try entries(of: agent) where !entry.isHeld && entry.expiresAt > agent.device.now.date {
      for app in open where app.process.device === agent.device && app.identity.bundleIdentifier == entry.app {
        if oracle[entry.continuation]?.begun.contains(where: { ($0.app ?? app.identity.id) == app.identity.id }) != true
        {
          app.process.complain("R3.8: what waits is not delivered to an app that takes it")
        }
      }
    }
  }
}

/// The system of a device, whose launcher outlives agents.
private final class SystemProcess: FleetProcess {
  private var agenda: [(at: Int64, run: () -> Void)] = []

  init(on device: FleetDevice) { super.init("\(device.name)/system", on: device, offersFrontmostOnly: false) }

  override var isAlive: Bool { true }

  func later(_ milliseconds: Int64, _ body: @escaping () -> Void) {
    agenda.append((fleet.clock.uptime + milliseconds, body))
    wake(in: milliseconds)
  }

  override func woken() {
    while let index = agenda.firstIndex(where: { $0.at <= fleet.clock.uptime }) { agenda.remove(at: index).run() }
  }
}
