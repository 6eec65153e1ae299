// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// Checks the invariants of a fleet after each step: reports the first violation, and never traps.
final class InvariantChecker {
  /// Milliseconds after the last fault by which all devices agree, plus the time of the network, and of a crowd.
  static let agreementTime: Int64 = 2_000
  /// Milliseconds more for each process of the device that has most: a hub whose backlog is short accepts one after the
  /// other, and the last one keeps the offers of the former hub for 1.5 s (`OfferList`).
  private static let timeInCrowd: Int64 = 2
  /// The same after a silent fault: 30 s until the silent side counts as gone, and 2 s.
  static let silenceTime: Int64 = 32_000
  /// The most links that messages usually pass one after the other, for the time of the network: more in a row of
  /// devices.
  private static let usualTrips = 4
  /// The most bytes of pending messages for a peer: the hub disconnects it at a megabyte.
  private static let queueLimit = 1024 * 1024 + 128 * 1024
  /// Steps of a hub between two checks of all its state, not only of changes. More for a hub with more peers.
  private static let lookInterval = 64
  /// The most links that an offer passes: it names the hubs that it has passed.
  private static let linkLimit = Route.limit - 1

  /// The fleet owns it.
  unowned(unsafe) let fleet: Fleet
  /// The number of stopped processes, and of devices that admit no hub.
  private var stalledCount = 0
  /// The uptime until which devices may differ.
  private var disturbedUntil: Int64 = 0
  private var isAuditQueued = false
  /// The most processes that a device has had at a time.
  private var largestCrowd = 0
  /// Dead processes whose offers may still be listed somewhere.
  private var departures: [FleetProcess] = []

  init(_ fleet: Fleet) { self.fleet = fleet }

  // MARK: After each step

  func check(_ process: FleetProcess, _ engine: AppEngine) {
    if let broken = engine.brokenInvariant { report(process.name, "\(broken)") }
  }

  func check(_ hub: FleetHub, after steps: Int) {
    let isDue = steps % max(Self.lookInterval, hub.peerCount) == 0
    let broken = hub.engine.brokenByChange() ?? (isDue ? hub.brokenInvariant : nil)
    if let broken { report(String(joining: "hub of \(hub.process.device.name)"), "\(broken)") }
  }

  /// Checks the bound of what waits in a link.
  func checkQueue(_ link: FramedConnection, of process: FleetProcess) {
    guard link.pendingBytes > Self.queueLimit else { return }
    report(process.name, "a queue grows without bound: \(link.pendingBytes) bytes wait")
  }

  // MARK: Offers

  /// Records what an app offers after a call of its engine.
  func noteOffer(of process: FleetProcess, _ engine: AppEngine) {
    let current = engine.currentActivity
    guard current != nil || process.offered.id != nil, let activities = process.program?.activitySource else { return }
    let now = process.now
    let changedAt = current.map { activities.lastChange(of: $0) } ?? 0
    if let current, process.offered.isAsSeen(current, changedAt: changedAt, now) { return }
    var (id, title, type, expirationDate): (Identifier?, String?, String, Double?) = (nil, nil, "", nil)
    var isPublic = false
    if let current, let activity = activities.activity(current) {
      expirationDate = activity.expirationDate
      if activity.isOfferable(at: now.date) {
        (id, title, type, isPublic) = (current, activity.title, activity.type, activity.isPublic)
      }
    }
    process.offered.see(current, changedAt: changedAt, expirationDate: expirationDate, now)
    let isSame = id == process.offered.id && isPublic == process.offered.isPublic
    guard !isSame || !Text.isSame(title, process.offered.title) else { return }
    if let former = process.offered.id, former != id { process.offered.former.append(former) }
    if let id { process.offered.former.removeAll { $0 == id } }
    process.offered.id = id
    process.offered.title = title
    process.offered.type = type
    process.offered.isPublic = isPublic
    process.offered.since = fleet.clock.uptime
    queueAudit(of: process)
  }

  /// A process ends: its offers have to disappear everywhere.
  func noteDeparture(_ process: FleetProcess) {
    if process.isStalled { stalledCount -= 1 }
    if let id = process.offered.id {
      process.offered.former.append(id)
      process.offered.id = nil
    }
    disturb(for: Self.agreementTime)
  }

  func departed(_ process: FleetProcess) {
    if !process.offered.former.isEmpty { departures.append(process) }
  }

  /// A process is stopped, or a device admits no hub: nothing is checked meanwhile that needs all of them.
  func stalled() { stalledCount += 1 }
  func resumed() { stalledCount -= 1 }

  /// Allows devices to differ for that long from now on.
  func disturb(for milliseconds: Int64) {
    disturbedUntil = max(disturbedUntil, fleet.clock.uptime + milliseconds + delays)
    guard !isAuditQueued else { return }
    isAuditQueued = true
    fleet.push(.auditAll, at: disturbedUntil)
  }

  /// A route passes each link of the way, then the hub at its end follows it, and the offer comes.
  private var trips: Int64 { Int64(max(Self.usualTrips, min(fleet.devices.count - 1, Self.linkLimit) + 2)) }

  /// Milliseconds for network and crowd.
  private var delays: Int64 { trips * fleet.network.longestDelay + Int64(largestCrowd) * Self.timeInCrowd }

  /// A device has that many processes.
  func noteCrowd(_ count: Int) { largestCrowd = max(largestCrowd, count) }

  private func queueAudit(of process: FleetProcess) {
    guard !process.offered.isAuditQueued else { return }
    process.offered.isAuditQueued = true
    fleet.push(.audit(process), at: auditTime(of: process))
  }

  private func auditTime(of process: FleetProcess) -> Int64 {
    max(disturbedUntil, process.offered.since + Self.agreementTime + delays)
  }

  // MARK: Timed checks

  func judge(_ event: FleetEvent) {
    switch event {
    case .overdue(let process, let key): judge(process, key)
    case .audit(let process):
      process.offered.isAuditQueued = false
      guard process.isAlive else { return }
      if auditTime(of: process) > fleet.clock.uptime { return queueAudit(of: process) }
      // Otherwise another event follows when the stopped processes continue.
      if stalledCount == 0 { audit(process) }
    case .auditAll:
      isAuditQueued = false
      guard disturbedUntil <= fleet.clock.uptime else { return disturb(for: 0) }
      if stalledCount == 0 { auditAll() }
    default: break
    }
  }

  private func judge(_ process: FleetProcess, _ key: ObligationTracker.Key) {
    guard process.isAlive, let due = process.obligations.due(key) else { return }
    guard !process.postpones(.overdue(process, key)) else { return }
    guard due <= fleet.clock.uptime else { return fleet.push(.overdue(process, key), at: due) }
    guard !process.awaitsDispatch else {
      return fleet.push(.overdue(process, key), at: fleet.clock.uptime + Self.agreementTime)
    }
    switch key {
    case .continuation: report(process.name, "R3.9: a continuation has not ended by its deadline")
    case .answer:
      report(process.name, "R3.9: continue was not answered by its deadline, and opening_failed is not told")
    case .receipt: report(process.name, "R3.6: the end of an attempt is not told")
    case .question: report(process.name, "R6.5: explain was not answered")
    case .request: report(process.name, "R7.5: a request has not ended by its deadline")
    case .resumption: report(process.name, "R3.10: a state has not come back, or failed to, by its deadline")
    case .stream: report(process.name, "R7.3: it was not told in time of a stream, or of how one has ended")
    }
  }

  private func auditAll() {
    for device in fleet.devices {
      if device.hubs.count > 1 { report(device.name, "section 9: it has more than one hub") }
      for process in device.processes where process.isAlive {
        guard let engine = process.engine else { continue }
        if !engine.isReady {
          report(process.name, "it is not registered with a hub long after the last disturbance")
        } else if !process.isAtHub {
          report(process.name, "section 9: it is at a hub that does not count")
        }
        let isDue = auditTime(of: process) <= fleet.clock.uptime
        if isDue, process.offered.id != nil || !process.offered.former.isEmpty { audit(process) }
      }
    }
    for process in departures { auditGone(process) }
    departures = []
  }

  private func audit(_ origin: FleetProcess) {
    if let engine = origin.engine {
      // The offer may have ended by its date since the last call of the engine. Then another audit follows.
      noteOffer(of: origin, engine)
      guard auditTime(of: origin) <= fleet.clock.uptime else { return }
    }
    auditGone(origin)
    origin.offered.former = []
    guard let id = origin.offered.id, let app = origin.engine?.identity else { return }
    let hidesOthers = origin.device.hub?.process.offersFrontmostOnly ?? true
    let isPrivate = origin.program?.activitySource?.activity(id)?.isPrivate ?? false
    let staysOffAccount = origin.device.fleetAgent?.isPrivate(origin.offered.type, of: app.bundleIdentifier) ?? false
    let distances = distances(from: origin.device, overAccount: !staysOffAccount)
    for device in fleet.devices {
      let distance = distances[device.index]
      for viewer in device.processes where viewer !== origin {
        guard let engine = viewer.engine else { continue }
        let seen = offer(id, of: origin, seenBy: engine)
        // When it became private is not known here: others may still have it for a moment (R10.2).
        if isPrivate, device !== origin.device { continue }
        guard distance >= 0 else {
          if seen != nil, !isRetained(id, of: origin) {
            report(viewer, "sees an offer that cannot be reached, of", origin)
          }
          continue
        }
        let (type, isPublic) = (origin.offered.type, origin.offered.isPublic)
        guard Routing.obstacle(for: engine.identity, origin: app, type: type, isPublic: isPublic) == nil else {
          if seen != nil { report(viewer, "R6.2, R13.1: sees an offer that is not for it, of", origin) }
          continue
        }
        guard !hidesOthers, distance < Self.linkLimit else { continue }
        if seen == nil {
          report(viewer, "R1.11, R13.1: does not see the offer of", origin)
        } else if seen?.description.isPublic != isPublic {
          report(viewer, "R13.1: does not know whether all teams see the offer of", origin)
        } else if !Text.isSame(seen?.description.title, origin.offered.title) {
          report(viewer, "R2.8: sees an old state of the offer of", origin)
        }
      }
    }
  }

  /// Its earlier offers are gone everywhere.
  private func auditGone(_ origin: FleetProcess) {
    guard !origin.offered.former.isEmpty else { return }
    for device in fleet.devices {
      for viewer in device.processes {
        guard let engine = viewer.engine else { continue }
        for id in origin.offered.former where offer(id, of: origin, seenBy: engine) != nil && !isOffered(id) {
          // It may be away since before that.
          if isRetained(id, of: origin) { continue }
          report(viewer, "R1.11: still sees a former offer of", origin)
        }
      }
    }
  }

  /// The offer of an activity as an app sees it. Over links of an account it has a name of its own (A13).
  private func offer(_ activity: Identifier, of origin: FleetProcess, seenBy viewer: AppEngine) -> Offer? {
    if let offer = viewer.offers[activity] { return offer }
    guard let device = origin.device.fleetAgent?.accountDevice else { return nil }
    return viewer.offers[Identifier(of: activity, onDevice: device)]
  }

  /// Whether a process offers it now: an agent may, what an app has left that has gone (R2.5).
  private func isOffered(_ activity: Identifier) -> Bool {
    fleet.devices.contains { device in device.processes.contains { $0.isAlive && $0.offers(activity) } }
  }

  /// Whether the agent of another device offers it, which has retained it (R14.5).
  private func isRetained(_ activity: Identifier, of origin: FleetProcess) -> Bool {
    origin.device.fleetAgent?.accountDevice.map { isOffered(Identifier(of: activity, onDevice: $0)) } ?? false
  }

  func report(_ who: String, _ what: DiagnosticText) { fleet.report(who, what) }

  private func report(_ viewer: FleetProcess, _ what: StaticString, _ origin: FleetProcess) {
    report(viewer.name, "\(what) \(origin.name)")
  }

  /// Nil if it cannot be reached.
  func distance(from one: FleetDevice, to other: FleetDevice) -> Int? {
    let distance = distances(from: one)[other.index]
    return distance < 0 ? nil : distance
  }

  /// The number of links to each device, by its index; -1 if it cannot be reached.
  /// - Parameter overAccount: whether offers pass the links of the device's account (R10.2). Over such a link a device
  ///   announces its own offers only.
  private func distances(from device: FleetDevice, overAccount: Bool = true) -> [Int] {
    var distances = [Int](repeating: -1, count: fleet.devices.count)
    distances[device.index] = 0
    var found = [device]
    var next = 0
    while next < found.count {
      let here = found[next]
      let distance = distances[here.index] + 1
      next += 1
      for link in here.links {
        let other = link.other(here)
        guard distances[other.index] < 0, link.isUp else { continue }
        distances[other.index] = distance
        found.append(other)
      }
      guard overAccount, here === device else { continue }
      for other in here.accountDevices where distances[other.index] < 0 && !fleet.isCut(here, other) {
        distances[other.index] = distance
        found.append(other)
      }
    }
    return distances
  }
}
