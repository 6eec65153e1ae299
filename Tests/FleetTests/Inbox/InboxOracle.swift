// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

@testable import SegueFleet

/// Knows what the disks of a fleet have acknowledged, what apps were given and have answered, and what origins were
/// told, on all devices. The rule (R3.8): what was stored once is lost by nobody's death; an app gets it twice only if
/// that is marked, and never after its answer is on the disk; an origin has exactly one receipt, which is true.
final class InboxOracle {
  /// A continuation that an agent has tried to store.
  final class Entry {
    let id: Identifier
    let device: FleetDevice
    let app: String
    let origin: Identifier
    /// The number of the activity (`ScriptedApp.number`).
    let number: Int?
    /// The attachments whose content the disk has, once it has taken the entry.
    let attachments: [String]
    /// Whether the disk has taken it.
    var isStored = false
    /// The processes to which a delivery has begun, also those that did not get it, and by which agent's process. Nil:
    /// the first that opens.
    var begun: [(app: Identifier?, agent: Int32)] = []
    /// The processes whose `continue` has run, and by which agent's process.
    var continued: [(app: Identifier?, agent: Int32)] = []
    /// Whether `continue` has run without the mark.
    var wasUnmarked = false
    var answers: [(app: Identifier, outcome: Outcome)] = []
    /// Seconds since 1970; nil: it lasts longer than a workload.
    let expires: Double?
    /// The answer that is on the disk.
    var acknowledged: Outcome?
    var isDropped = false
    /// The receipt that is on the disk.
    var decided: Outcome?
    /// Whether the user, or somebody who continues it, has asked for it once more.
    var wasRetried = false

    init(_ record: InboxRecord, on device: FleetDevice) {
      id = record.continuation
      app = record.app
      self.device = device
      attachments = record.attachments.filter { $0.source != nil }.map { $0.name }
      origin = record.offer.origin
      expires = record.offer.description.expirationDate
      number = (try? ActivityDocument.decode(record.document, ReferenceReader(.none), userInfoLimit: Limits.value))
        .flatMap {
          ScriptedApp.number(of: $0)
        }
    }
  }

  /// A request to continue an offer.
  private struct Asked {
    let deadline: Int64
    let agent: InboxAgent
    var isAnswered = false
  }

  /// In the order of their appearance.
  private(set) var entries: [Entry] = []
  /// Never iterated.
  private var places: [Identifier: Int] = [:]
  private var asked: [Asked] = []
  /// The outcomes that origins were told. Never iterated.
  private var receipts: [Identifier: Outcome] = [:]
  private unowned let fleet: Fleet
  /// The cases that the run has met, for tests that check that the runs mean something.
  private(set) var met: Set<String> = []

  /// The checks of the activities that apps have left with their agents.
  private(set) lazy var kept = KeptOracle(fleet, self)

  init(_ fleet: Fleet) { self.fleet = fleet }

  subscript(id: Identifier) -> Entry? { places[id].map { entries[$0] } }

  func meet(_ what: String) { met.insert(what) }

  private func complain(_ device: FleetDevice, _ what: StaticString) { fleet.report(device.name, "\(what)") }

  /// The progress of the last continuation.
  enum Phase: CaseIterable { case asked, stored, continued, acknowledged, told }

  var phase: Phase {
    guard let entry = entries.last, entry.isStored else { return .asked }
    if receipts[entry.id] != nil { return .told }
    if entry.acknowledged != nil { return .acknowledged }
    return entry.continued.isEmpty ? .stored : .continued
  }

  // MARK: The disk

  /// The disk has done what an agent asked for, or has refused.
  func note(_ request: InboxRequest, _ reply: InboxReply?, of agent: InboxAgent) {
    let device = agent.device
    kept.note(request, reply, on: device)
    switch (request, reply) {
    case (.put(let record, _), .put(_, let result)):
      if case .failure = result { return put(record, isStored: false, device) }
      put(record, isStored: true, device)
      if case .success(let item?) = result { begun(item, nil, agent) }
    case (.begin(let app, _, _), .begun(_, .success(let item?))): begun(item, app, agent)
    case (.acknowledge(let id, let app, _, let receipt), .acknowledged(_, _, .success(let owed))):
      acknowledged(id, app, receipt, owed, device)
    case (.decide(let receipt), .decided(_, .success(true))): self[receipt.continuation]?.decided = receipt.outcome
    // Somebody asks for it once more: a process that has had it, and has not answered, may get it again.
    case (.share, .shared(_, .success(let former?))): self[former.continuation]?.wasRetried = true
    case (.end(_, .crashed), _): meet("crashed on")
    case (.end(let id, .untold), nil):
      if self[id]?.begun.last?.app == nil { self[id]?.begun.removeLast() }
      meet("begun, and no app has opened")
    case (.acknowledge, _), (.decide, .decided(_, .failure)), (.begin, .begun(_, .failure)): meet("refused by the disk")
    default: break
    }
  }

  /// The user has forgotten an entry, and that is on the disk.
  func removed(_ id: Identifier) {
    self[id]?.isDropped = true
    meet("dropped")
  }

  private func put(_ record: InboxRecord, isStored: Bool, _ device: FleetDevice) {
    let entry = Entry(record, on: device)
    if self[record.continuation] != nil { complain(device, "R3.8: an entry is stored twice") }
    places[entry.id] = entries.count
    entries.append(entry)
    entry.isStored = isStored
    fleet.trace(device.name, isStored ? "stores" : "does not store", record.app)
    meet(isStored ? "stored" : "not stored")
  }

  private func begun(_ item: InboxItem, _ app: Identifier?, _ agent: InboxAgent) {
    let device = agent.device
    guard let entry = self[item.continuation] else {
      return complain(device, "R3.8: what was never stored is delivered")
    }
    if entry.acknowledged != nil || entry.isDropped {
      complain(device, "R3.8: it is delivered although it was answered, or dropped")
    }
    if item.isRedelivered != !entry.begun.isEmpty { complain(device, "R3.8: a delivery is marked wrongly") }
    entry.begun.append((app, agent.number))
  }

  private func acknowledged(
    _ id: Identifier, _ app: Identifier, _ receipt: Receipt, _ owed: OwedReceipt?, _ device: FleetDevice
  ) {
    guard let entry = self[id] else { return }
    if entry.acknowledged == nil, !entry.isDropped {
      entry.acknowledged = receipt.outcome
      meet(receipt.outcome == .restored ? "restored" : "declined")
      if entry.begun.count > 1 { meet("restored when it was redelivered") }
    }
    if !entry.answers.contains(where: { $0.app == app && $0.outcome == receipt.outcome }) {
      complain(device, "R3.8: an entry ends without an answer of its app")
    }
    guard let owed else { return }
    if entry.decided != nil { complain(device, "R3.6: a second receipt is decided") }
    entry.decided = owed.receipt.outcome
  }

  // MARK: Apps

  /// Records an event of an app. Returns the rule that it violates, or nil.
  func violation(by event: HistoryEvent, at app: InboxApp) -> StaticString? {
    switch event {
    case .step(.continue(let activity, let from), let id):
      guard let entry = self[id] else { return nil }
      return violation(by: activity, from, entry, at: app.identity)
    case .answers(let id, let outcome):
      self[id]?.answers.append((app.identity.id, outcome))
      return nil
    case .receipt(let receipt, _):
      return violation(by: receipt)
    default: return nil
    }
  }

  private func violation(
    by activity: Activity, _ from: ContinuedFrom, _ entry: Entry, at app: AppIdentity
  ) -> StaticString? {
    guard entry.isStored else { return "R3.8: an app gets what is not stored" }
    guard entry.app == app.bundleIdentifier else { return "R3.8: an app gets what is another's" }
    guard ScriptedApp.number(of: activity) == entry.number else { return "R3.8: an app gets another activity" }
    if let last = entry.begun.last, last.app == nil { entry.begun[entry.begun.count - 1].app = app.id }
    guard let begun = entry.begun.last(where: { $0.app == app.id }) else {
      return "R3.8: an app gets what the disk does not know of"
    }
    if !entry.wasRetried, entry.continued.contains(where: { $0 == begun }) {
      return "R3.8: an app that runs gets an entry twice"
    }
    if !from.isRedelivered, entry.wasUnmarked { return "R3.8: a second delivery is not marked" }
    if from.isRedelivered { meet("redelivered") } else { entry.wasUnmarked = true }
    entry.continued.append(begun)
    return nil
  }

  /// An app has fetched an attachment of what has waited for it, or could not.
  func violation(
    by attachment: Attachment, of id: Identifier, _ bytes: [UInt8], _ error: SegueError?, at app: AppIdentity
  ) -> StaticString? {
    guard let entry = self[id] else { return nil }
    let isHere = entry.attachments.contains(attachment.name)
    guard let error else {
      meet("an attachment fetched")
      guard isHere else { return "R3.8: an app gets an attachment that is not stored" }
      return bytes == CollectedBytes.content(of: attachment) ? nil : "R7.6: an app gets another attachment"
    }
    guard error.status == .notFound else { return nil }
    if !isHere { meet("an attachment left with its origin") }
    // Its answer ends the entry, with its attachments.
    let mayBeGone = entry.isDropped || entry.acknowledged != nil || entry.answers.contains { $0.app == app.id }
    return isHere && !mayBeGone && entry.expires == nil ? "R3.8: an attachment that was stored is lost" : nil
  }

  private func violation(by receipt: Receipt) -> StaticString? {
    let former = receipts.updateValue(receipt.outcome, forKey: receipt.continuation)
    if former != nil { return "R3.6: an origin has two receipts" }
    // Otherwise it is no continuation of an agent, or nothing has come of it yet.
    guard let entry = self[receipt.continuation] else { return nil }
    guard Text.isSame(receipt.receiver.bundleIdentifier, entry.app) else { return "R3.8: a receipt names another app" }
    switch receipt.outcome {
    case .declined where entry.isDropped && entry.acknowledged == nil:
      meet("told that it was removed")
      return entry.decided == .declined ? nil : "R3.6: a receipt says what was not decided"
    case .failed where entry.decided == .failed && entry.expires.map { $0 <= entry.device.now.date } ?? false:
      return nil
    case .restored, .declined:
      guard entry.acknowledged == receipt.outcome else { return "R3.8: a receipt says what is not on the disk" }
      return entry.decided == receipt.outcome ? nil : "R3.6: a receipt says what was not decided"
    case .failed: return entry.isStored ? "R3.8: a receipt says failed, and the entry is stored" : nil
    case .unknown:
      meet("unknown")
      return nil
    }
  }

  // MARK: Those who ask

  /// Somebody asks an agent to continue an offer.
  /// - Returns: the number of the request.
  func ask(_ agent: InboxAgent, by deadline: Int64) -> UInt64 {
    asked.append(Asked(deadline: deadline, agent: agent))
    return UInt64(asked.count - 1)
  }

  func answered(_ number: UInt64, _ result: Result<AgentContinuationReport, SegueError>, at uptime: Int64) {
    let ask = asked[Int(number)]
    if ask.isAnswered { fleet.report(ask.agent.name, "R3.8: a requester is answered twice") }
    asked[Int(number)].isAnswered = true
    if case .failure(let error) = result, error.status == .busy, error.message.contains("waits in the inbox") {
      fleet.report(ask.agent.name, "R3.8: a requester hears that a launch has failed, and it is under way")
    }
    if uptime > max(ask.deadline, ask.agent.resumedAt) + ObligationTracker.slack {
      fleet.report(ask.agent.name, "R3.9: a requester is answered after the deadline")
    }
  }

  /// All faults have ended, and all deadlines have passed.
  func checkAsked() {
    for ask in asked where !ask.isAnswered && ask.agent.isAlive {
      fleet.report(ask.agent.name, "R3.8: a requester is not answered")
    }
  }

  // MARK: The end

  /// Each origin that has lived since has one receipt.
  func checkReceipts(of apps: [ScriptedApp]) {
    for entry in entries where receipts[entry.id] == nil {
      if let origin = apps.first(where: { $0.isAlive && $0.identity.id == entry.origin }) {
        origin.process.complain("R3.6: an origin has no receipt")
      }
    }
  }

  /// Everything could be delivered: what was stored was answered, dropped by the user, or has expired.
  /// - Parameter waiting: what the disks still have.
  func checkNothingIsLost(_ waiting: [Identifier]) {
    for entry in entries where entry.isStored && entry.acknowledged == nil && !entry.isDropped {
      if let date = entry.expires, date <= entry.device.now.date { continue }
      complain(
        entry.device,
        waiting.contains(entry.id) ? "R3.8: what waits is not delivered" : "R3.8: what was stored is lost")
    }
  }
}
