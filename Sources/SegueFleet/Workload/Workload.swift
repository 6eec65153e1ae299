import SegueEngine
import SegueModel

/// A random life of a fleet: apps come and go, activities change and are continued, and everything breaks that can.
/// What happens comes from the fleet's seed alone, so two builds of the library can be held against each other.
public struct Story {
  /// Devices, apps and events at most.
  public static let limit = 1_000_000
  /// Milliseconds after which nothing is left that began before: longer than any deadline, and than any silence.
  static let endingTime: Int64 = 90_000

  let fleet: Fleet
  /// Nil: nobody keeps what is said.
  let witness: Witness?
  /// Chance of its own, so that what the network draws does not change what happens.
  var random: SeededRandom
  private(set) var devices: [FleetDevice] = []
  var apps: [ScriptedApp] = []
  private var number = 0
  let appCount: Int

  static let types = ["com.example.note", "com.example.mail"]

  /// - Parameters: devices is at least 1. Throws LIMIT_EXCEEDED if the fleet does not come to rest.
  public static func play(
    in fleet: Fleet, devices: Int, apps: Int, events: Int
  ) throws(SegueError) {
    var story = Story(fleet, appCount: apps)
    try story.begin(devices)
    for _ in 0..<events { try story.happen() }
    story.heal()
    try story.end()
  }

  /// The same, and then calm, in which each promise is kept in full: for tests of the library, which does not ship it.
  public static func playToCalm(
    in fleet: Fleet, devices: Int, apps: Int, events: Int
  ) throws(SegueError) {
    var story = Story(fleet, appCount: apps, Keeper())
    try story.begin(devices)
    for _ in 0..<events { try story.happen() }
    story.heal()
    try story.calm()
    try story.end()
  }

  private init(_ fleet: Fleet, appCount: Int, _ witness: Witness? = nil) {
    self.witness = witness
    self.fleet = fleet
    self.appCount = appCount
    random = SeededRandom(seed: fleet.seed ^ 0x5e90_e5e9_0e5e_90e5)
  }

  private mutating func begin(_ count: Int) throws(SegueError) {
    // Every other story has a network that behaves.
    if random.chance(0.5) { try spoilNetwork() }
    // Mostly each device is linked with each, else in a row: what passes from the first to the last passes all others.
    let isRow = random.chance(0.25)
    fleet.linksAll = !isRow
    for index in 0..<count {
      let device = try fleet.addDevice("device\(index)")
      if isRow, let last = devices.last { try fleet.setLinked(last, device, true) }
      device.clockOffset = Double(random.within(-90_000, 90_000)) / 1000
      if random.chance(0.2) { device.backlogLimit = 1 + random.below(3) }
      if random.chance(0.3) { device.openingStops = 0.3 }
      devices.append(device)
    }
    for _ in 0..<appCount { try open() }
    fleet.advance(random.within(0, 3_000))
  }

  private mutating func heal() {
    for device in devices {
      device.restart()
      device.admitsHubs = true
      device.backlogLimit = FleetFolder.usualBacklog
      device.openingStops = 0
    }
    fleet.heal()
    settle()
    fleet.advance(Self.endingTime)
    checkStreams()
  }

  /// All that were stopped go on, and everybody answers.
  mutating func settle() {
    for app in apps {
      app.process.resume()
      app.process.learnsLate = false
      app.answersSaves = true
      app.answersContinue = true
      app.declines = false
      app.handles = true
      app.restores = true
      app.moves = false
      app.numberOnSave = nil
      app.readsStreams = true
      app.answer()
    }
  }

  /// What one app writes the other has read by now, or has heard that it will not (R7.4).
  func checkStreams() {
    for app in apps where !app.streams.isEmpty { app.process.complain("R7.4: a stream neither moves nor ends") }
  }

  private mutating func end() throws(SegueError) {
    for app in apps { app.close() }
    try fleet.run()
    fleet.advance(40_000)
  }

  mutating func open() throws(SegueError) {
    let up = devices.filter { $0.isUp }
    guard !up.isEmpty else { return }
    let device = up[random.below(up.count)]
    number += 1
    let identity = AppIdentity(
      secret: random.identifier(), bundleIdentifier: "com.example.app\(number)", name: "app\(number)",
      team: random.chance(0.9) ? "TEAM" : "OTHER", types: random.chance(0.8) ? Self.types : [Self.types[0]],
      isChooser: random.chance(0.1))
    apps.append(try ScriptedApp(identity, on: device, offersFrontmostOnly: random.chance(0.05), witness))
  }

  // MARK: Events

  private mutating func happen() throws(SegueError) {
    apps.removeAll { !$0.isAlive }
    if apps.count < appCount, random.chance(0.5) {
      try open()
      if random.chance(0.15) { apps.last?.process.learnsLate = true }
    }
    if !apps.isEmpty {
      let app = apps[random.below(apps.count)]
      switch random.below(100) {
      case 0..<60: if app.isAwake { try act(app) }
      case 60..<80: if app.isAwake { misbehave(app) }
      default: try breakSomething(app)
      }
    }
    fleet.advance(pause())
  }

  /// Mostly a moment, seldom long enough for everybody to agree, or to find out that somebody is gone.
  private mutating func pause() -> Int64 {
    switch random.below(100) {
    case 0..<50: random.within(0, 20)
    case 50..<90: random.within(0, 700)
    case 90..<98: random.within(0, 6_000)
    default: random.within(0, 45_000)
    }
  }

  /// What a user does.
  private mutating func act(_ app: ScriptedApp) throws(SegueError) {
    switch random.below(20) {
    case 0..<5: app.becomeCurrent(random.identifier(), try activity())
    case 5..<12:
      let offers = app.offers
      // The frontmost, as a rule.
      guard !offers.isEmpty else { return }
      app.continue(offers[random.chance(0.7) ? 0 : random.below(offers.count)], random.identifier())
    default:
      guard app.activityCount > 0 else { return }
      try treat(random.below(app.activityCount), of: app)
    }
  }

  private mutating func treat(_ index: Int, of app: ScriptedApp) throws(SegueError) {
    switch random.below(10) {
    case 0..<4:
      let number = nextNumber()
      // An app that is asked at each pull need not tell.
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

  mutating func nextNumber() -> Int {
    number += 1
    return number
  }

  mutating func activity() throws(SegueError) -> Activity {
    // Mostly small; sometimes more than fits into a window, or into a socket.
    let size = random.chance(0.02) ? random.below(120_000) : random.below(200)
    return try ScriptedApp.activity(Self.types[random.below(2)], nextNumber(), size: size)
  }

  /// What an app may do to others by how it answers.
  private mutating func misbehave(_ app: ScriptedApp) {
    switch random.below(6) {
    case 0: app.answersSaves.toggle()
    case 1: app.answersContinue.toggle()
    case 2: app.declines.toggle()
    case 3: app.handles.toggle()
    case 4: app.restores.toggle()
    default: app.answer()
    }
  }

  private mutating func breakSomething(_ app: ScriptedApp) throws(SegueError) {
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
      _ = Crowd(random.below(4 * DeviceResources.fewDescriptors), on: device)
    case 23: app.process.kill(leavingChildFor: random.within(500, 20_000))
    case 24: device.admitsHubs.toggle()
    case 25, 26: device.removeFolder(isKept: random.chance(0.5))
    default: try spoilNetwork()
    }
  }

  private mutating func spoilNetwork() throws(SegueError) {
    var network = fleet.network
    let least = random.within(0, 50)
    try network.setDelay(least, least + random.within(0, random.chance(0.1) ? 1_500 : 100))
    func probability() -> Double { random.chance(0.5) ? 0 : Double(random.below(20)) / 100 }
    try network.setFaults(loss: probability(), duplication: probability(), reordering: probability())
    fleet.network = network
  }
}
