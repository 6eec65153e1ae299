import SegueEngine
import SegueModel

/// What the apps of a story have set and answered, and what they are told of it, over all its devices: continuations are
/// held against it (R2.2, R3.6). A protocol, so that what ships has no `Keeper`.
protocol Witness: AnyObject {
  subscript(id: Identifier) -> Attempt? { get }
  /// An origin has an activity in a new state; nil: no more.
  func set(_ id: Identifier, _ state: Activity?)
  func begin(_ id: Identifier, _ offer: Offer, by receiver: AppIdentity)
  /// The receiver means it to end so.
  func answer(_ id: Identifier, _ outcome: Outcome)
  /// The receiver is told something. Returns what is wrong; nil: nothing.
  func tell(_ step: ContinuationStep, of id: Identifier) -> StaticString?
  /// The origin hears how it ended. Returns what is wrong; nil: nothing.
  func tell(_ receipt: Receipt, of activity: Identifier) -> StaticString?
}

/// A continuation of a story.
final class Attempt {
  /// What a receiver is told in a continuation.
  enum Told: Equatable {
    case willContinue
    case continued(isStale: Bool)
    case failed(Status)
  }

  let activity: Identifier
  let receiver: AppIdentity
  /// The activity as its app had it when the attempt began; nil: it was gone.
  let state: Activity?
  var told: [Told] = []
  /// That of the activity which the receiver got.
  var number: Int?
  /// As the receiver meant it; nil: it has not said anything yet.
  var answer: Outcome?
  var receipt: Receipt?

  init(_ activity: Identifier, _ receiver: AppIdentity, _ state: Activity?) {
    self.activity = activity
    self.receiver = receiver
    self.state = state
  }
}

/// The witness of a story that ends in calm.
final class Keeper: Witness {
  /// Neither is ever iterated.
  private var attempts: [Identifier: Attempt] = [:]
  private var states: [Identifier: Activity] = [:]

  subscript(id: Identifier) -> Attempt? { attempts[id] }

  func set(_ id: Identifier, _ state: Activity?) { states[id] = state }

  func begin(_ id: Identifier, _ offer: Offer, by receiver: AppIdentity) {
    let activity = offer.description.id
    attempts[id] = Attempt(activity, receiver, states[activity])
  }

  func answer(_ id: Identifier, _ outcome: Outcome) { attempts[id]?.answer = outcome }

  func tell(_ step: ContinuationStep, of id: Identifier) -> StaticString? {
    switch step {
    case .willContinue: attempts[id]?.told.append(.willContinue)
    case .didFail(_, let error): attempts[id]?.told.append(.failed(error.status))
    case .continue(let activity, let from):
      attempts[id]?.told.append(.continued(isStale: from.isStale))
      attempts[id]?.number = ScriptedApp.number(of: activity)
      guard let attempt = attempts[id] else { break }
      return problem(of: activity, from, attempt)
    }
    return nil
  }

  private func problem(of activity: Activity, _ from: ContinuedFrom, _ attempt: Attempt) -> StaticString? {
    if activity.needsSave { return "R3.12: a continued activity arrives dirty" }
    guard let number = attempt.number else { return "R1.2: a payload was damaged on its way" }
    guard let state = attempt.state, let before = ScriptedApp.number(of: state), !from.isStale else { return nil }
    if number < before { return "R2.2: an older state was handed over than there was when it was continued" }
    if number == before, activity.userInfo != state.userInfo { return "R1.2: a payload was changed on its way" }
    return nil
  }

  func tell(_ receipt: Receipt, of activity: Identifier) -> StaticString? {
    // Of a continuation that a story did not begin it knows nothing.
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
}
