// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// A random workload of a fleet: apps open and close, activities change and are continued, and faults occur. Depends on
/// nothing but the fleet's seed, so the traces of two builds of the library can be compared.
public class Workload {
  /// Milliseconds in which everything that has begun ends: longer than any deadline, and any silence.
  static let endingTime: Int64 = 90_000

  let fleet: Fleet
  /// Separate from the network's randomness, so that the network's draws do not change the events.
  var random: SeededRandom
  private(set) var devices: [FleetDevice] = []
  var apps: [ScriptedApp] = []
  private var number = 0
  let appCount: Int

  /// Chance of the agents: workloads without any are what they would be if there were none.
  private var agentFaults: AgentFaults
  private var resumptionFaults: ResumptionFaults
  private var responderFaults: ResponderFaults
  private var documentFaults: DocumentFaults
  private var saveFaults: SaveFaults
  private var cancelFaults: CancelFaults
  private var publicityChanges: PublicityChanges

  static let types = ["com.example.note", "com.example.mail"]

  /// Runs a workload with that many devices, at least 1, apps and random events. Throws LIMIT_EXCEEDED if the fleet
  /// does not come to rest.
  public class func play(
    in fleet: Fleet, devices: Int, apps: Int, events: Int
  ) throws(SegueError) {
    let workload = Workload(fleet, appCount: apps)
    try workload.start(devices)
    try workload.faultPhase(events)
    try workload.end()
  }

  init(_ fleet: Fleet, appCount: Int) {
    self.fleet = fleet
    self.appCount = appCount
    random = SeededRandom(seed: fleet.seed ^ 0x5e90_e5e9_0e5e_90e5)
    agentFaults = AgentFaults(seed: fleet.seed)
    resumptionFaults = ResumptionFaults(seed: fleet.seed)
    responderFaults = ResponderFaults(seed: fleet.seed)
    documentFaults = DocumentFaults(seed: fleet.seed)
    saveFaults = SaveFaults(seed: fleet.seed)
    cancelFaults = CancelFaults(seed: fleet.seed)
    publicityChanges = PublicityChanges(seed: fleet.seed)
  }

  func start(_ count: Int) throws(SegueError) {
    // Every other workload begins with a good network.
    if random.chance(0.5) { try degradeNetwork() }
    // Links all devices with each other, or in a row, so that messages cross several hubs.
    let isRow = random.chance(0.25)
    fleet.linksAll = !isRow
    for index in 0..<count {
      let device = try fleet.addDevice(String(joining: "device\(index)"))
      if isRow, let last = devices.last { try fleet.setLinked(last, device, true) }
      device.clockOffset = Double(random.within(-90_000, 90_000)) / 1000
      if random.chance(0.2) { device.resources.backlogLimit = 1 + random.below(3) }
      if random.chance(0.3) { device.resources.openingStops = 0.3 }
      devices.append(device)
    }
    for _ in 0..<appCount { try openApp() }
    fleet.advance(random.within(0, 3_000))
  }

  /// Runs random events, faults among them, and then ends all faults.
  func faultPhase(_ events: Int) throws(SegueError) {
    for _ in 0..<events { try runEvent() }
    endFaults()
  }

  func endFaults() {
    for device in devices {
      device.restart()
      device.admitsHubs = true
      device.resources.backlogLimit = FleetFolder.usualBacklog
      device.resources.openingStops = 0
    }
    fleet.heal()
    resumeApps()
    fleet.advance(Self.endingTime)
    checkStreams()
  }

  /// Resumes all stopped apps, and lets all apps answer.
  func resumeApps() {
    for device in devices { device.agent?.resume() }
    for app in apps {
      app.process.resume()
      app.process.learnsLate = false
      app.answers = ScriptedAnswers()
      app.releaseResponders()
      app.closeDocuments()
      app.answer()
    }
  }

  /// Checks that each stream has ended: its reader has read everything, or knows that the rest is lost (R7.4).
  func checkStreams() {
    for app in apps where !app.streams.isEmpty { app.process.complain("R7.4: a stream neither moves nor ends") }
  }

  func end() throws(SegueError) {
    for app in apps { app.close() }
    for device in devices { device.agent?.leave() }
    try fleet.run()
    fleet.advance(40_000)
  }

  func openApp() throws(SegueError) {
    let up = devices.filter { $0.isUp }
    guard !up.isEmpty else { return }
    let device = up[random.below(up.count)]
    number += 1
    let name = String(joining: "app\(number)")
    let identity = AppIdentity(
      secret: random.identifier(), bundleIdentifier: String(joining: "com.example.\(name)"), name: name,
      team: random.chance(0.9) ? "TEAM" : "OTHER", types: random.chance(0.8) ? Self.types : [Self.types[0]],
      isChooser: random.chance(0.1))
    apps.append(try makeApp(identity, on: device, offersFrontmostOnly: random.chance(0.05)))
  }

  /// Creates an app. Tests override this to check its history.
  func makeApp(
    _ identity: AppIdentity, on device: FleetDevice, offersFrontmostOnly: Bool = false
  ) throws(SegueError) -> ScriptedApp {
    try ScriptedApp(identity, on: device, offersFrontmostOnly: offersFrontmostOnly)
  }

  // MARK: Events

  private func runEvent() throws(SegueError) {
    apps.removeAll { !$0.isAlive }
    if apps.count < appCount, random.chance(0.5) {
      try openApp()
      if random.chance(0.15) { apps.last?.process.learnsLate = true }
    }
    if !apps.isEmpty {
      let app = apps[random.below(apps.count)]
      switch random.below(100) {
      case 0..<60: if app.isAwake { try actAsUser(of: app) }
      case 60..<80: if app.isAwake { changeAnswers(of: app) }
      default: try injectFault(app)
      }
    }
    try actBeside()
    fleet.advance(pause())
  }

  /// Lets agents and apps act by chance, beside the main act of the event.
  func actBeside() throws(SegueError) {
    agentFaults.act(on: devices)
    try resumptionFaults.act(on: apps, nextNumber)
    responderFaults.act(on: apps)
    try documentFaults.act(on: apps, nextNumber)
    saveFaults.act(on: apps)
    cancelFaults.act(on: apps)
    try publicityChanges.act(on: apps)
  }

  /// Returns milliseconds: mostly few, seldom enough for all apps to agree, or to notice that one is gone.
  private func pause() -> Int64 {
    switch random.below(100) {
    case 0..<50: random.within(0, 20)
    case 50..<90: random.within(0, 700)
    case 90..<98: random.within(0, 6_000)
    default: random.within(0, 45_000)
    }
  }

  /// Does what a user does.
  private func actAsUser(of app: ScriptedApp) throws(SegueError) {
    switch random.below(20) {
    case 0..<5: app.becomeCurrent(random.identifier(), try activity())
    case 5..<12:
      let offers = app.offers
      // Mostly the frontmost.
      guard !offers.isEmpty else { return }
      app.continue(offers[random.chance(0.7) ? 0 : random.below(offers.count)], random.identifier())
    default:
      guard app.activityCount > 0 else { return }
      try modify(random.below(app.activityCount), of: app)
    }
  }

  private func modify(_ index: Int, of app: ScriptedApp) throws(SegueError) {
    switch random.below(10) {
    case 0..<4:
      let number = nextNumber()
      // An app that is asked to save at each pull need not report changes.
      if case .whenPulled = app.savePolicy, number % 3 == 0 { return try app.edit(index, number) }
      try app.change(index) { (activity) throws(SegueError) in try ScriptedApp.write(number, to: &activity) }
    case 4: app.becomeCurrent(index)
    case 5: app.resignCurrent(index)
    case 6: app.invalidate(index)
    case 7: app.setForeground(random.chance(0.5))
    case 8: app.explain(index)
    default:
      let isEligible = random.chance(0.7)
      let date = fleet.clock.now.date + app.process.device.clockOffset + Double(random.below(30))
      let expires = random.chance(0.5)
      try app.change(index) { (activity) throws(SegueError) in
        activity.setEligible(.handoff, isEligible)
        try activity.setExpirationDate(expires ? date : nil)
      }
    }
  }

  func nextNumber() -> Int {
    number += 1
    return number
  }

  func activity() throws(SegueError) -> Activity {
    // Mostly few bytes; sometimes more than fit into a window, or into a socket.
    let size = random.chance(0.02) ? random.below(120_000) : random.below(200)
    return try ScriptedApp.activity(Self.types[random.below(2)], nextNumber(), size: size)
  }

  /// Changes how an app answers others.
  private func changeAnswers(of app: ScriptedApp) {
    switch random.below(7) {
    case 6: app.answers.replaces = random.chance(0.5) ? random.chance(0.5) : nil
    case 0: app.answers.saves.toggle()
    case 1: app.answers.continues.toggle()
    case 2: app.answers.declines.toggle()
    case 3: app.answers.handles.toggle()
    case 4: app.answers.restores.toggle()
    default: app.answer()
    }
  }

  private func injectFault(_ app: ScriptedApp) throws(SegueError) {
    let device = devices[random.below(devices.count)]
    switch random.below(28) {
    case 0..<3: app.process.kill()
    case 3..<6: if app.isAwake { app.close() }
    case 6..<9: app.process.stall(for: random.within(1, 8_000))
    case 9: device.crash()
    case 10..<13: device.restart()
    case 13..<15:
      let other = devices[random.below(devices.count)]
      try fleet.partition(device, from: other === device ? nil : other)
    case 15..<18: fleet.heal()
    case 18: for link in device.links where random.chance(0.5) { link.cut(fleet) }
    case 19:
      let other = devices[random.below(devices.count)]
      if other !== device { try fleet.setLinked(device, other, random.chance(0.7)) }
    case 20: device.refuseWrites(Double(random.below(60)) / 100, for: random.within(1, 3_000))
    case 21: device.exhaustDescriptors(for: random.within(1, 3_000))
    case 22:
      device.limitDescriptors(for: random.within(1, 5_000))
      _ = ConnectionFlood(random.below(4 * DeviceResources.fewDescriptors), on: device)
    case 23: app.process.kill(leavingChildFor: random.within(500, 20_000))
    case 24: device.admitsHubs.toggle()
    case 25, 26: device.removeFolder(isKept: random.chance(0.5))
    default: try degradeNetwork()
    }
  }

  private func degradeNetwork() throws(SegueError) {
    var network = fleet.network
    let least = random.within(0, 50)
    try network.setDelay(least, least + random.within(0, random.chance(0.1) ? 1_500 : 100))
    func probability() -> Double { random.chance(0.5) ? 0 : Double(random.below(20)) / 100 }
    try network.setFaults(loss: probability(), duplication: probability(), reordering: probability())
    fleet.network = network
  }
}
