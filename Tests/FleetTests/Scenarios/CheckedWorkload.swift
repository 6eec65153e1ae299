// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueFleet

/// A workload whose history is checked, and that ends in a quiescent phase: no faults remain, all apps answer, and
/// there is time. Operations that may fail in the fault phase succeed now, and each rule holds in full.
final class CheckedWorkload: Workload {
  let history = HistoryChecker()

  /// The number of scenarios per workload.
  private static let scenarioCount = 4
  /// Milliseconds for any change to reach all apps.
  static let publishTime: Int64 = 400
  /// Milliseconds for an undisturbed continuation.
  static let continuationTime: Int64 = 3_000

  /// An app that offers its last activity, and one that sees it.
  struct Fixture {
    let origin: ObservedApp
    let viewer: ObservedApp
    let id: Identifier

    init(origin: ScriptedApp, viewer: ScriptedApp, id: Identifier) {
      // `makeApp` makes no others.
      self.origin = unsafeDowncast(origin, to: ObservedApp.self)
      self.viewer = unsafeDowncast(viewer, to: ObservedApp.self)
      self.id = id
    }

    /// The index of the activity among those of its app.
    var index: Int { origin.activityCount - 1 }
    var isOnOneDevice: Bool { origin.process.device === viewer.process.device }
    /// Whether no third device is between the two.
    var isDirect: Bool { isOnOneDevice || origin.process.device.link(to: viewer.process.device) != nil }
  }

  override class func play(in fleet: Fleet, devices: Int, apps: Int, events: Int) throws(SegueError) {
    let workload = CheckedWorkload(fleet, appCount: apps)
    try workload.start(devices)
    try workload.faultPhase(events)
    try workload.quiescentPhase()
    try workload.end()
  }

  override func makeApp(
    _ identity: AppIdentity, on device: FleetDevice, offersFrontmostOnly: Bool = false
  ) throws(SegueError) -> ScriptedApp {
    try ObservedApp(identity, on: device, offersFrontmostOnly: offersFrontmostOnly, history)
  }

  private func quiescentPhase() throws(SegueError) {
    fleet.network = Network()
    // Earlier bytes are still in flight, and later ones cannot overtake them.
    fleet.advance(10_000)
    // In turn, so that a few seeds cover all scenarios.
    let first = fleet.seed &* UInt64(Self.scenarioCount)
    for number in 0..<UInt64(Self.scenarioCount) {
      fleet.network = Network()
      let scenario = Scenario.allCases[Int((first &+ number) % UInt64(Scenario.allCases.count))]
      try refillApps()
      guard let fixture = try fixture(for: scenario) else { continue }
      fleet.trace(
        "fleet", "tries", text: "\(scenario.rawValue): \(fixture.origin.process.name) to \(fixture.viewer.process.name)"
      )
      try play(scenario, fixture)
      resumeApps()
    }
    fleet.network = Network()
    checkIdle()
  }

  /// Replaces apps that ended in the last scenario.
  private func refillApps() throws(SegueError) {
    apps.removeAll { !$0.isAlive }
    guard apps.count < min(4, appCount) else { return }
    while apps.count < min(4, appCount) { try openApp() }
    fleet.advance(2 * InvariantChecker.agreementTime)
  }

  private func fixture(for scenario: Scenario) throws(SegueError) -> Fixture? {
    let isOfHub = scenario.isOfThirdHub
    let origins = apps.filter { !isOfHub || $0.process.hub == nil }
    guard !origins.isEmpty else { return nil }
    let origin = origins[random.below(origins.count)]
    let id = random.identifier()
    origin.becomeCurrent(id, try activity())
    fleet.advance(Self.publishTime)
    checkOffer(id, of: origin)
    let viewers = apps.filter {
      sees($0, origin) && (!isOfHub || $0.process.hub == nil && $0.process.device === origin.process.device)
    }
    return viewers.isEmpty ? nil : Fixture(origin: origin, viewer: viewers[random.below(viewers.count)], id: id)
  }

  // MARK: Expectations

  func sees(_ viewer: ScriptedApp, _ origin: ScriptedApp) -> Bool {
    guard viewer.isAlive, let activity = origin.current else { return false }
    let (type, isPublic) = (activity.type, activity.isPublic)
    return Routing.obstacle(for: viewer.identity, origin: origin.identity, type: type, isPublic: isPublic) == nil
      && fleet.checker.distance(from: origin.process.device, to: viewer.process.device) != nil
  }

  func expect(_ isSo: Bool, _ app: ScriptedApp, _ what: StaticString) {
    if !isSo { app.process.complain(what) }
  }

  /// All apps that may see the offer do, up to date and in front; no other app does.
  func checkOffer(_ id: Identifier, of origin: ScriptedApp) {
    guard let activity = origin.current else { return expect(false, origin, "R1.11: what is current is not") }
    let device = origin.process.device
    let description = OfferDescription(
      id: id, type: activity.type, title: activity.title, payloadVersion: activity.payloadVersion,
      sizeHint: UInt64(activity.userInfo?.encoding.count ?? 0), expirationDate: nil,
      supportsContinuationStreams: activity.supportsContinuationStreams, isPublic: activity.isPublic)
    for app in apps where app.isAlive && app !== origin {
      let seen = app.engine?.offers[id]
      guard sees(app, origin) else {
        expect(seen == nil, app, "R6.2, R13.1: it sees what is not for it")
        continue
      }
      guard let seen else {
        expect(false, app, "R1.11, R13.1: it does not see what is offered")
        continue
      }
      expect(seen.description.expiring(nil) == description, app, "R2.8: it sees an old state")
      expect(app.offers.first?.description.id == id, app, "R1.12: the last activated is not in front")
      expect(
        seen.origin == origin.identity.id && Text.isSame(seen.appName, origin.identity.name)
          && Text.isSame(seen.deviceName, device.name), app, "R2.1: it sees an offer under a wrong name")
      let expires = seen.description.expirationDate.map { $0 - app.process.device.clockOffset }
      let date = activity.expirationDate.map { $0 - device.clockOffset }
      expect(abs((expires ?? 0) - (date ?? 0)) < 2, app, "R1.6: it sees another expiration date")
    }
  }

  func checkGone(_ id: Identifier) {
    for app in apps { expect(app.engine?.offers[id] == nil, app, "R1.11: it sees what is not offered any more") }
  }

  /// In the quiescent phase nothing remains to wait for.
  private func checkIdle() {
    fleet.advance(InvariantChecker.agreementTime)
    let connections = devices.flatMap { $0.links.map { $0.connection } }
    fleet.advance(Self.endingTime)
    if !connections.elementsEqual(devices.flatMap { $0.links.map { $0.connection } }, by: { $0 === $1 }) {
      fleet.report("fleet", "R7.4: a link is given up, and nothing was wrong with it")
    }
    checkStreams()
    for device in devices { device.hub?.process.complain(device.hub?.engine.leak) }
    for app in apps {
      checkIsIdle(app)
      app.process.complain(app.engine?.leak)
      // One whose save has failed waits for its next change (R2.4).
      let isSaved = app.current?.needsSave != true || app.unsaved == nil
      expect(isSaved, app, "R2.2: a current activity was not saved by itself")
    }
  }

  /// It waits only for dates.
  func checkIsIdle(_ app: ScriptedApp) {
    guard let engine = app.engine, !app.offers.contains(where: { $0.description.expirationDate != nil }) else { return }
    let isIdle = engine.nextDeadline == nil || app.current?.expirationDate != nil
    expect(isIdle, app, "nothing happens, and it has something to wait for")
  }
}
