// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel

/// The reports of the program in a process, for the trace and for the check of R3.2.
extension FleetProcess: AppObserver {
  public func began(_ operation: AppOperation, deadline: Int64?) {
    let deadline = deadline ?? fleet.clock.uptime + ObligationTracker.questionTime
    switch operation {
    case .continuation(let id, let offer):
      trace("continues", offer.description.type, offer.description.title)
      obligations.begin(id, at: fleet.clock.uptime, deadline: deadline)
      fleet.push(.overdue(self, .continuation(id)), at: deadline + ObligationTracker.slack)
    case .resumption(let id): expects(.resumption(id), by: deadline, "resumes back")
    case .explanation(let number): expects(.question(number), by: deadline, "asks why")
    case .request(let number): expects(.request(number), by: deadline, "requests")
    case .stream(let id): expects(.stream(id), by: deadline, "asks for a stream")
    case .attachment(let id): expects(.stream(id), by: deadline, "asks for an attachment")
    case .streamEnd(let id): expects(.stream(id), by: deadline, "reads the end of a stream")
    }
  }

  private func expects(_ key: ObligationTracker.Key, by deadline: Int64, _ what: StaticString) {
    fleet.trace(name, what)
    obligations.ask(key, deadline: deadline)
    fleet.push(.overdue(self, key), at: deadline + ObligationTracker.slack)
  }

  /// Any other call of the app, such as making an activity current.
  public func does(_ what: StaticString, _ detail: String? = nil) { fleet.trace(name, what, detail) }

  /// A continuation that the agent delivers begins without a call of the app.
  public func queued(_ delivery: Delivery) {
    guard case .continuation(let id) = delivery, let engine, let offer = engine.deliveredOffer(of: id) else { return }
    guard obligations.deliver(id) else { return }
    began(.continuation(id, offer), deadline: now.uptime + engine.limits.continuation)
  }
  public func answered(_ continuation: Identifier) { obligations.answered(continuation) }
  public func replaced(_ activity: Identifier, with state: Activity) {}

  public func willRun(_ delivery: Delivery) {
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
    case .orphaned: fleet.trace(name, "left alone")
    case .documentChanged: fleet.trace(name, "document changed")
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
    // These are handled in `willRun(_:of:)`; the log is not for the app.
    case .continuation, .log: break
    // No app can ask for one: the fleet links its devices itself.
    case .linked, .linkEnded: break
    case .streamAnswered(let id, let error):
      fleet.trace(name, "stream answered", error?.message)
      complain(obligations.answer(.stream(id)))
    case .streamCame: fleet.trace(name, "stream came")
    case .streamEnded(let id, let status):
      fleet.trace(name, "stream ended", Self.name(of: status))
      complain(obligations.answer(.stream(id)))
    }
  }

  public func willRun(_ step: ContinuationStep, of id: Identifier) {
    switch step {
    case .willContinue(let offer):
      fleet.trace(name, "will_continue", offer.description.type)
      complain(obligations.announce(id))
    case .continue(let activity, let from):
      trace(from.isStale ? "continue (stale)" : "continue", activity.type, activity.title)
      // A delivery of the agent has another name on the wire, and its origin is long answered.
      let isDelivery = from.wireName != from.continuation
      let (givenUp, violation) = obligations.continue(id, isDelivery: isDelivery)
      complain(violation)
      if let due = obligations.due(.answer(id)) { fleet.push(.overdue(self, .answer(id)), at: due) }
      if !isDelivery, let givenUp { fleet.process(of: from.offer.origin)?.expectReceipt(of: id, by: givenUp) }
      complain(Self.violation(by: activity, from, at: engine?.identity))
    case .didFail(let type, let error):
      fleet.trace(name, "did_fail", text: "\(type): \(error.message)")
      obligations.endDelivery(id)
      complain(obligations.isResumed(id) ? obligations.answer(.resumption(id)) : obligations.end(id))
    case .openingFailed(let type, let error):
      fleet.trace(name, "opening failed", text: "\(type): \(error.message)")
      complain(obligations.failOpening(id, error.status))
    case .willResumeBack(_, let hasChanged): trace("will resume back", hasChanged ? "changed" : "unchanged", nil)
    case .resumedBack(let resumed):
      trace(resumed.isStale ? "resumed back (stale)" : "resumed back", resumed.state.type, resumed.state.title)
      complain(obligations.answer(.resumption(id)))
    }
  }

  /// Another app has got an activity of this one.
  private func expectReceipt(of id: Identifier, by deadline: Int64) {
    obligations.attempt(id, deadline: deadline)
    if let due = obligations.due(.receipt(id)) { fleet.push(.overdue(self, .receipt(id)), at: due) }
  }

  /// The violation by a continued activity; nil if there is none.
  private static func violation(
    by activity: Activity, _ from: ContinuedFrom, at app: AppIdentity?
  ) -> StaticString? {
    let type = activity.type
    if !Text.isSame(type, from.offer.description.type), !(app?.declares(type) ?? true) {
      return "R6.2: what comes has a type that was neither offered nor is declared"
    }
    // The agent keeps no reason.
    let isOfAgent = from.wireName != from.continuation
    if from.isStale, from.staleReason == nil, !isOfAgent { return "R2.4: a state is stale, and nothing says why" }
    return nil
  }

  /// The app has closed and gets no more callbacks: nothing may be open.
  public func checkObligations() {
    if !obligations.isEmpty { fleet.report(name, "R3.2: closed, and something has not ended") }
  }

  func complain(_ what: StaticString?) { if let what { fleet.report(name, "\(what)") } }

  /// Adds a line about an activity to the trace.
  private func trace(_ what: StaticString, _ type: String, _ title: String?, on device: String? = nil) {
    let fleet = fleet
    fleet.log.add(fleet.clock.elapsed, name, what, type: type, title: title, on: device)
  }

  private static func name(of status: StreamStatus) -> String {
    switch status {
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
