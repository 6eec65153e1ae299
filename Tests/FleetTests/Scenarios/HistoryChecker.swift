// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueFleet

/// Records what the apps of a workload have set and answered, and what their callbacks get, on all devices, to check
/// continuations and requests (R2.2, R3.6, R7.5).
final class HistoryChecker {
  /// Dictionaries here are never iterated: their order differs between processes.
  private var attempts: [Identifier: Attempt] = [:]
  private var states: [Identifier: Activity] = [:]
  private var events: [Identifier: [(event: Delivery.OfferEvent, id: Identifier)]] = [:]
  private var fetches: [Identifier: Bool] = [:]
  private var requests: [Asked] = []
  private var resumptions = ResumptionHistory()

  subscript(id: Identifier) -> Attempt? { attempts[id] }

  /// Records an event of an app. Returns the rule that it violates, or nil.
  func violation(by event: HistoryEvent, at app: ScriptedApp) -> StaticString? {
    switch event {
    case .activity(let id, let state): states[id] = state
    case .kept(let from, let state): resumptions.note(state, from)
    case .resumes(let id, let activity): resumptions.begin(id, of: activity)
    case .replaced(let id, let state):
      states[id] = state
      resumptions.noteReplaced(id, state)
    case .continues(let id, let offer):
      let activity = offer.description.id
      attempts[id] = Attempt(
        activity, app.identity, states[activity], replacements: resumptions.replacements(of: activity).count)
    case .answers(let id, let outcome): attempts[id]?.answer = outcome
    case .step(let step, let id): return violation(by: step, of: id)
    case .receipt(let receipt, let activity): return violation(by: receipt, of: activity)
    case .offer(let event, let id): events[app.identity.id, default: []].append((event, id))
    case .requests(let number, let bytes):
      requests.append(Asked(app: app.identity.id, number: number, bytes: bytes))
    case .answered(let number, let bytes, let error):
      guard let index = index(number, app) else { return "R7.5: an answer out of nothing" }
      requests[index].hasEnded = true
      requests[index].error = error
      return error == nil && bytes != requests[index].bytes ? "R7.5: it gets another answer than was given" : nil
    case .fetched(let id, let isComplete): fetches[id] = isComplete
    }
    return nil
  }

  private func violation(by step: ContinuationStep, of id: Identifier) -> StaticString? {
    switch step {
    case .willContinue: attempts[id]?.callbacks.append(.willContinue)
    case .didFail(_, let error): attempts[id]?.callbacks.append(.failed(error.status))
    case .openingFailed, .willResumeBack: break
    case .resumedBack(let resumed): return resumptions.violation(by: resumed, id)
    case .continue(let activity, let from):
      attempts[id]?.callbacks.append(.continued(isStale: from.isStale))
      attempts[id]?.number = ScriptedApp.number(of: activity)
      guard let attempt = attempts[id] else { break }
      return violation(by: activity, from, attempt)
    }
    return nil
  }

  private func violation(by activity: Activity, _ from: ContinuedFrom, _ attempt: Attempt) -> StaticString? {
    if activity.needsSave { return "R3.12: a continued activity arrives dirty" }
    guard let number = attempt.number else { return "R1.2: a payload was damaged on its way" }
    guard let state = attempt.state, let before = ScriptedApp.number(of: state), !from.isStale else { return nil }
    // The activity may have been replaced by an older state since (R3.10).
    let replacements = resumptions.replacements(of: attempt.activity)[attempt.replacements...]
    if number < min(before, replacements.min() ?? before) {
      return "R2.2: an older state was handed over than there was when it was continued"
    }
    // The URL of a document is the library's, and the file may have been moved.
    let isSame = activity.userInfo?["d"] == state.userInfo?["d"]
    if number == before, !isSame { return "R1.2: a payload was changed on its way" }
    return nil
  }

  private func violation(by receipt: Receipt, of activity: Identifier) -> StaticString? {
    // Continuations that the workload did not begin are unknown here.
    guard let attempt = attempts[receipt.continuation] else { return nil }
    attempts[receipt.continuation]?.receipt = receipt
    if attempt.activity != activity || attempt.receiver.id != receipt.receiver.id
      || !Text.isSame(attempt.receiver.name, receipt.receiver.appName)
    {
      return "R3.6: a receipt of another continuation"
    }
    switch receipt.outcome {
    case .restored, .declined:
      return attempt.answer == receipt.outcome ? nil : "R3.6: a receipt says what the receiver did not"
    case .failed:
      return attempt.answer == .restored ? "R3.6: a receipt says failed, and it was restored" : nil
    case .unknown: return nil
    }
  }

  /// The events of offers at an app since the last call.
  func takeEvents(of app: ScriptedApp) -> [(event: Delivery.OfferEvent, id: Identifier)] {
    events.removeValue(forKey: app.identity.id) ?? []
  }

  /// The number of the state that came back; nil if none did.
  func cameBack(_ id: Identifier) -> Int? { resumptions.ended[id] }

  /// Returns the request of an app; nil if there is none under that number.
  func asked(_ number: UInt64, by app: ScriptedApp) -> Asked? { index(number, app).map { requests[$0] } }

  private func index(_ number: UInt64, _ app: ScriptedApp) -> Int? {
    requests.lastIndex { $0.number == number && $0.app == app.identity.id }
  }

  /// Whether all of an attachment has arrived.
  func isComplete(_ id: Identifier) -> Bool { fetches[id] ?? false }
}
