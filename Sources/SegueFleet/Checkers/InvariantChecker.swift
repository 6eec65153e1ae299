import SegueEngine
import SegueModel
import SegueWire

/// Checks the invariants of a fleet after each step: reports the first violation, and never traps.
extension Fleet {
  /// Milliseconds after the last fault by which all devices agree, plus the time of the network.
  static let agreementTime: Int64 = 2_000
  /// The same after a silent fault: 30 s until the silent side counts as gone, and 2 s.
  static let silenceTime: Int64 = 32_000
  /// The most hubs that a message passes, for the time of the network.
  private static let hops: Int64 = 4
  /// The most bytes of pending messages for a peer: the hub disconnects it at a megabyte.
  private static let queueLimit = 1024 * 1024 + 128 * 1024
  /// Steps of a hub between two checks of all its state, not only of changes. More for a hub with more peers.
  private static let lookInterval = 64
  /// The most links that an offer passes: it names the hubs that it has passed.
  private static let linkLimit = Route.limit - 1

  // MARK: After each step

  func check(_ process: FleetProcess, _ engine: AppEngine) {
    if let broken = engine.brokenInvariant { report(process.name, "\(broken)") }
  }

  func check(_ hub: FleetHub, after steps: Int) {
    let isDue = steps % max(Self.lookInterval, hub.peerCount) == 0
    let broken = hub.engine.brokenByChange() ?? (isDue ? hub.brokenInvariant : nil)
    if let broken { report("hub of \(hub.process.device.name)", "\(broken)") }
  }

  /// Checks the bounds of all queues.
  static func isOverfull(_ link: Link) -> Bool { link.pendingBytes > queueLimit }

  func reportOverfull(_ link: Link, of process: FleetProcess) {
    report(process.name, "a queue grows without bound: \(link.pendingBytes) bytes wait")
  }

  // MARK: What is offered

  /// Records what an app offers after a call of its engine.
  func noteOffer(of process: FleetProcess, _ engine: AppEngine) {
    let current = engine.currentActivity
    guard current != nil || process.offered.id != nil, let program = process.program else { return }
    let now = process.now
    let changedAt = current.map { program.lastChange(of: $0) } ?? 0
    if let current, process.offered.isAsSeen(current, changedAt: changedAt, now) { return }
    var (id, title, type, expirationDate): (Identifier?, String?, String, Double?) = (nil, nil, "", nil)
    if let current, let activity = program.activity(current) {
      expirationDate = activity.expirationDate
      if activity.isOfferable(at: now.date) { (id, title, type) = (current, activity.title, activity.type) }
    }
    process.offered.see(current, changedAt: changedAt, expirationDate: expirationDate, now)
    guard id != process.offered.id || !Text.isSame(title, process.offered.title) else { return }
    if let former = process.offered.id, former != id { process.offered.former.append(former) }
    if let id { process.offered.former.removeAll { $0 == id } }
    process.offered.id = id
    process.offered.title = title
    process.offered.type = type
    process.offered.since = clock.uptime
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

  /// Allows devices to differ for that long from now on.
  func disturb(for milliseconds: Int64) {
    disturbedUntil = max(disturbedUntil, clock.uptime + milliseconds + Self.hops * network.longestDelay)
    guard !isAuditQueued else { return }
    isAuditQueued = true
    push(.auditAll, at: disturbedUntil)
  }

  private func queueAudit(of process: FleetProcess) {
    guard !process.offered.isAuditQueued else { return }
    process.offered.isAuditQueued = true
    push(.audit(process), at: auditTime(of: process))
  }

  private func auditTime(of process: FleetProcess) -> Int64 {
    max(disturbedUntil, process.offered.since + Self.agreementTime + Self.hops * network.longestDelay)
  }

  // MARK: Timed checks

  func judge(_ event: FleetEvent) {
    switch event {
    case .overdue(let process, let key): judge(process, key)
    case .audit(let process):
      process.offered.isAuditQueued = false
      guard process.isAlive else { return }
      if auditTime(of: process) > clock.uptime { return queueAudit(of: process) }
      // Otherwise another event follows when the stopped processes continue.
      if stalledCount == 0 { audit(process) }
    case .auditAll:
      isAuditQueued = false
      guard disturbedUntil <= clock.uptime else { return disturb(for: 0) }
      if stalledCount == 0 { auditAll() }
    default: break
    }
  }

  private func judge(_ process: FleetProcess, _ key: ObligationTracker.Key) {
    guard process.isAlive, let due = process.obligations.due(key) else { return }
    guard !process.postpones(.overdue(process, key)) else { return }
    guard due <= clock.uptime else { return push(.overdue(process, key), at: due) }
    guard !process.awaitsDispatch else {
      return push(.overdue(process, key), at: clock.uptime + Fleet.agreementTime)
    }
    switch key {
    case .continuation: report(process.name, "R3.9: a continuation has not ended by its deadline")
    case .question: report(process.name, "R6.5: explain was not answered")
    case .request: report(process.name, "R7.5: a request has not ended by its deadline")
    case .stream: report(process.name, "R7.3: it was not told in time of a stream, or of how one has ended")
    }
  }

  private func auditAll() {
    for device in devices {
      if device.hubs.count > 1 { report(device.name, "section 9: it has more than one hub") }
      for process in device.processes where process.isAlive {
        if let engine = process.engine, !engine.isReady {
          report(process.name, "it is not registered with a hub long after the last disturbance")
        } else if !process.isAtHub {
          report(process.name, "section 9: it is at a hub that does not count")
        }
        let isDue = auditTime(of: process) <= clock.uptime
        if isDue, process.offered.id != nil || !process.offered.former.isEmpty { audit(process) }
      }
    }
    for process in departures { auditGone(process) }
    departures = []
  }

  private func audit(_ origin: FleetProcess) {
    auditGone(origin)
    origin.offered.former = []
    guard let id = origin.offered.id, let app = origin.engine?.identity else { return }
    let hidesOthers = origin.device.hub?.process.offersFrontmostOnly ?? true
    let distances = distances(from: origin.device)
    for device in devices {
      let distance = distances[device.index]
      for viewer in device.processes where viewer !== origin {
        guard let engine = viewer.engine else { continue }
        let seen = engine.offers[id]
        guard distance >= 0 else {
          if seen != nil { report(viewer, "sees an offer that cannot be reached, of", origin) }
          continue
        }
        guard Routing.obstacle(for: engine.identity, origin: app, type: origin.offered.type) == nil else {
          if seen != nil { report(viewer, "R6.2: sees an offer that is not for it, of", origin) }
          continue
        }
        guard !hidesOthers, distance < Self.linkLimit else { continue }
        if seen == nil {
          report(viewer, "R1.11: does not see the offer of", origin)
        } else if !Text.isSame(seen?.description.title, origin.offered.title) {
          report(viewer, "R2.8: sees an old state of the offer of", origin)
        }
      }
    }
  }

  /// Its earlier offers are gone everywhere.
  private func auditGone(_ origin: FleetProcess) {
    guard !origin.offered.former.isEmpty else { return }
    for device in devices {
      for viewer in device.processes {
        guard let engine = viewer.engine else { continue }
        for id in origin.offered.former where engine.offers[id] != nil {
          report(viewer, "R1.11: still sees a former offer of", origin)
        }
      }
    }
  }

  private func report(_ viewer: FleetProcess, _ what: StaticString, _ origin: FleetProcess) {
    report(viewer.name, "\(what) \(origin.name)")
  }

  /// Nil if it cannot be reached.
  func distance(from one: FleetDevice, to other: FleetDevice) -> Int? {
    let distance = distances(from: one)[other.index]
    return distance < 0 ? nil : distance
  }

  /// The number of links to each device, by its index; -1 if it cannot be reached.
  private func distances(from device: FleetDevice) -> [Int] {
    var distances = [Int](repeating: -1, count: devices.count)
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
    }
    return distances
  }
}

/// The reports of the program in a process, for the trace and for the check of R3.2.
extension FleetProcess {
  /// The app begins a continuation.
  /// - Parameter deadline: the uptime by which it has to end.
  public func continues(_ id: Identifier, _ offer: Offer, deadline: Int64) {
    trace("continues", offer.description.type, offer.description.title)
    obligations.begin(id, deadline: deadline)
    fleet.push(.overdue(self, .continuation(id)), at: deadline + ObligationTracker.slack)
  }

  /// The app asks why an activity is not offered.
  public func asks(_ request: UInt64) {
    fleet.trace(name, "asks why")
    let deadline = fleet.clock.uptime + ObligationTracker.questionTime
    expects(.question(request), by: deadline)
  }

  /// The app sends a request to the origin of a continued activity.
  /// - Parameter deadline: the uptime by which it has to have an answer.
  public func requests(_ number: UInt64, deadline: Int64) {
    fleet.trace(name, "requests")
    expects(.request(number), by: deadline)
  }

  /// The app asks the origin of a continued activity for a stream, or how a stream has ended.
  /// - Parameter deadline: the uptime by which it has to have an answer.
  public func waits(forStream id: Identifier, _ what: StaticString, deadline: Int64) {
    fleet.trace(name, what)
    expects(.stream(id), by: deadline)
  }

  private func expects(_ key: ObligationTracker.Key, by deadline: Int64) {
    obligations.ask(key, deadline: deadline)
    fleet.push(.overdue(self, key), at: deadline + ObligationTracker.slack)
  }

  /// Any other call of the app, such as making an activity current.
  public func does(_ what: StaticString, _ detail: String? = nil) { fleet.trace(name, what, detail) }

  /// A callback of the app runs.
  public func isTold(_ delivery: Delivery) {
    switch delivery {
    case .connection(let isReady): fleet.trace(name, "connection", isReady ? "ready" : "searching")
    case .offer(let event, let offer):
      complain(obligations.see(event, offer.description.id))
      switch event {
      case .appeared: trace("offer appeared", offer.description.type, offer.description.title, on: offer.deviceName)
      case .changed: trace("offer changed", offer.description.type, offer.description.title, on: offer.deviceName)
      case .gone: trace("offer gone", offer.description.type, offer.description.title, on: offer.deviceName)
      }
    case .willSave: fleet.trace(name, "will_save")
    case .wasContinued(_, let receipt):
      complain(obligations.receive(wasContinued: receipt.continuation))
      fleet.trace(name, "was_continued", text: "by \(receipt.receiver.deviceName)/\(receipt.receiver.appName)")
    case .continuationEnded(_, let receipt):
      fleet.trace(name, "continuation_ended", Self.name(of: receipt.outcome))
      complain(obligations.receive(receiptOf: receipt.continuation, receipt.outcome))
    case .explanation(let request, let reasons):
      complain(obligations.answer(.question(request)))
      fleet.trace(name, "explanation", text: "\(reasons.count) reasons")
    case .answered(let number, _, let error):
      fleet.trace(name, "answered", error?.message)
      complain(obligations.answer(.request(number)))
    case .requestCame: fleet.trace(name, "request")
    // These are handled in `isTold(_:of:)`; the log is not for the app.
    case .continuation, .log: break
    // No app can ask for one: the fleet links its devices itself.
    case .linked, .linkEnded: break
    case .streamAnswered(let id, let error):
      fleet.trace(name, "stream answered", error?.message)
      complain(obligations.answer(.stream(id)))
    case .streamCame: fleet.trace(name, "stream came")
    case .streamEnded(let id, let word):
      fleet.trace(name, "stream ended", Self.name(of: word))
      complain(obligations.answer(.stream(id)))
    }
  }

  /// A callback of the app about a continuation runs.
  public func isTold(_ step: ContinuationStep, of id: Identifier) {
    switch step {
    case .willContinue(let offer):
      fleet.trace(name, "will_continue", offer.description.type)
      complain(obligations.announce(id))
    case .continue(let activity, let from):
      trace(from.isStale ? "continue (stale)" : "continue", activity.type, activity.title)
      complain(obligations.end(id))
    case .didFail(let type, let error):
      fleet.trace(name, "did_fail", text: "\(type): \(error.message)")
      complain(obligations.end(id))
    }
  }

  /// The app has closed and gets no more callbacks: nothing may be open.
  public func checkIsTold() {
    if !obligations.isEmpty { fleet.report(name, "R3.2: closed, and something has not ended") }
  }

  func complain(_ what: StaticString?) { if let what { fleet.report(name, "\(what)") } }

  /// Adds a line about an activity to the trace.
  private func trace(_ what: StaticString, _ type: String, _ title: String?, on device: String? = nil) {
    let fleet = fleet
    fleet.log.add(fleet.clock.elapsed, name, what, type: type, title: title, on: device)
  }

  private static func name(of word: StreamStatus) -> String {
    switch word {
    case .open: "open"
    case .ended: "ended"
    case .aborted: "aborted"
    case .broken: "broken"
    }
  }

  private static func name(of outcome: Outcome) -> String {
    switch outcome {
    case .restored: "restored"
    case .declined: "declined"
    case .failed: "failed"
    case .unknown: "unknown"
    }
  }
}
