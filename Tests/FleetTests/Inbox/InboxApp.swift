// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel
import SegueWire

@testable import SegueFleet

/// A scripted app that takes what waits for it at the agent, and reports to the oracle.
final class InboxApp: ScriptedApp {
  /// An attachment that it fetches, of a continuation, and where it comes.
  private struct Fetch {
    let id: Identifier
    let from: ContinuedFrom
    let attachment: Attachment
    let socket: FleetSocket
    var isAnswered = false
    var bytes: [UInt8] = []
  }

  private let oracle: InboxOracle
  /// Whether it has a handler for what waits.
  private(set) var accepts = false
  private var fetches: [Fetch] = []
  /// Its current activity after its last call, and the one that it has in the background, since a date (R2.5).
  private var lastCurrent: Identifier?
  private var away: (activity: Identifier, since: Double)?
  /// Deliveries that have begun, and neither `continue` nor `did_fail` has run.
  private(set) var deliveries: [Identifier] = []
  /// Deliveries for which `continue` has run, and that have no answer: what follows of them is no new continuation.
  private var continued: [Identifier] = []

  init(_ identity: AppIdentity, on device: FleetDevice, _ oracle: InboxOracle) throws(SegueError) {
    self.oracle = oracle
    super.init(try Self.open(identity, on: device, acceptsWaiting: false))
  }

  func setAccepts(_ accepts: Bool) {
    guard isAlive, self.accepts != accepts else { return }
    self.accepts = accepts
    process.does(accepts ? "takes what waits" : "takes nothing that waits")
    app.setAcceptsWaiting(accepts)
  }

  // MARK: The activity that it leaves with the agent (R2.5)

  override func engineCalled() {
    continued.removeAll { engine?.deliveredOffer(of: $0) == nil }
    let current = engine?.currentActivity
    guard isAlive, current != lastCurrent else { return }
    lastCurrent = current
    if away?.activity != current { away = nil }
    if let current { oracle.kept.current(current, of: identity, on: process.device) }
  }

  override func becomeCurrent(_ index: Int) {
    super.becomeCurrent(index)
    // Once more is another time.
    if let current = engine?.currentActivity { oracle.kept.current(current, of: identity, on: process.device) }
  }

  override func setForeground(_ isForeground: Bool) {
    super.setForeground(isForeground)
    guard let id = engine?.currentActivity else { return }
    away = isForeground ? nil : away ?? (id, process.now.date)
    if isForeground { oracle.kept.current(id, of: identity, on: process.device) }
  }

  override func close() {
    guard isAlive else { return }
    let left = leaving(isClosing: true)
    super.close()
    if let left { oracle.kept.ended(identity, on: process.device, leaving: left.activity, since: left.since) }
  }

  override func died() {
    let left = leaving(isClosing: false)
    super.died()
    if let left { oracle.kept.ended(identity, on: process.device, leaving: left.activity, since: left.since) }
  }

  /// The activity that it leaves as it ends, and the date since which it is left. Nil: it leaves none, as an app that
  /// dies in the foreground.
  private func leaving(isClosing: Bool) -> (activity: Identifier, since: Double)? {
    guard let id = engine?.currentActivity, let state = activity(id), state.keepsOffering, !identity.isChooser,
      state.isOfferable(at: process.now.date)
    else { return nil }
    if let away, away.activity == id { return away }
    return isClosing ? (id, process.now.date) : nil
  }

  /// Its user ends what is being delivered (R3.3).
  func cancelDelivery() {
    guard let id = deliveries.first else { return }
    process.does("cancels")
    perform { $0.cancel(id, SegueError(.userCancelled, "no"), $1) }
  }

  /// Fetches the attachments of what has waited, before it answers; and of what an agent offers for an app that has
  /// gone.
  private func fetch(_ activity: Activity, _ from: ContinuedFrom) {
    for attachment in activity.attachments {
      let (near, far) = process.makeSockets()
      let id = process.fleet.drawIdentifier()
      fetches.append(Fetch(id: id, from: from, attachment: attachment, socket: near))
      perform { engine, now in
        process.began(.attachment(id), deadline: now.uptime + engine.limits.continuation)
        engine.askStream(
          id, from, attachment: Message.AttachmentPart(name: attachment.name, offset: 0),
          otherEnd: FleetDescriptor(far), timeout: nil, now)
      }
    }
  }

  private func fetched(_ id: Identifier, _ error: SegueError?) {
    guard let index = fetches.firstIndex(where: { $0.id == id }) else { return }
    guard error == nil else { return end(fetches.remove(at: index), error) }
    fetches[index].isAnswered = true
    read(at: index)
  }

  override func attend(to socket: FleetSocket) {
    super.attend(to: socket)
    if let index = fetches.firstIndex(where: { $0.socket === socket && $0.isAnswered }) { read(at: index) }
  }

  /// Over a link the bytes may come later than the answer.
  private func read(at index: Int) {
    let socket = fetches[index].socket
    while let count = socket.read(atMost: 8_192, { fetches[index].bytes.append(contentsOf: $0) }) {
      if count == 0 { return }
    }
    end(fetches.remove(at: index), nil)
  }

  private func end(_ fetch: Fetch, _ error: SegueError?) {
    fetch.socket.close()
    if error == nil { process.does("has read", "\(fetch.bytes.count) of \(fetch.attachment.size) bytes") }
    process.complain(
      oracle.kept.violation(by: fetch.attachment, of: fetch.from, fetch.bytes, error, at: process.device)
        ?? oracle.violation(by: fetch.attachment, of: fetch.from.continuation, fetch.bytes, error, at: identity))
  }

  /// All faults have ended, and all deadlines have passed.
  func checkFetches() { if !fetches.isEmpty { process.complain("R7.4: an attachment neither comes nor ends") } }

  override func queued(_ delivery: Delivery) {
    if case .streamAnswered(let id, let error) = delivery { fetched(id, error) }
    if case .continuation(let id) = delivery, engine?.deliveredOffer(of: id) != nil, !deliveries.contains(id),
      !continued.contains(id)
    {
      deliveries.append(id)
      if !accepts { process.complain("R3.8: an app gets what waits before it has a handler") }
    }
    super.queued(delivery)
  }

  override func observe(_ event: HistoryEvent) {
    if case .step(let step, let id) = event {
      switch step {
      case .continue(let activity, let from):
        if deliveries.contains(id) { continued.append(id) }
        if deliveries.contains(id) || oracle.kept.isOffered(by: from.offer.origin) { fetch(activity, from) }
        deliveries.removeAll { $0 == id }
      case .didFail: deliveries.removeAll { $0 == id }
      case .willContinue, .willResumeBack, .resumedBack, .openingFailed: break
      }
    }
    process.complain(oracle.violation(by: event, at: self))
  }
}
