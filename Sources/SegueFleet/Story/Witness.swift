import SegueEngine
import SegueModel

/// What the apps of a story have set and answered, and what they are told of it, over all its devices: continuations and
/// requests are held against it (R2.2, R3.6, R7.5). This one takes note of nothing, so that what ships has no `Keeper`.
class Witness {
  subscript(id: Identifier) -> Attempt? { nil }
  /// An origin has an activity in a new state; nil: no more.
  func set(_ id: Identifier, _ state: Activity?) {}
  func begin(_ id: Identifier, _ offer: Offer, by receiver: AppIdentity) {}
  /// The receiver means it to end so.
  func answer(_ id: Identifier, _ outcome: Outcome) {}
  /// The receiver is told something. Returns what is wrong; nil: nothing.
  func tell(_ step: ContinuationStep, of id: Identifier) -> StaticString? { nil }
  /// The origin hears how it ended. Returns what is wrong; nil: nothing.
  func tell(_ receipt: Receipt, of activity: Identifier) -> StaticString? { nil }

  /// An app is told of an offer.
  func tell(_ event: Delivery.OfferEvent, of id: Identifier, to app: ScriptedApp) {}
  /// What the app was told of offers since this was asked last.
  func takeEvents(of app: ScriptedApp) -> [(event: Delivery.OfferEvent, id: Identifier)] { [] }

  /// An app asks something, and is to get the same as the answer.
  func ask(_ number: UInt64, _ bytes: [UInt8], by app: ScriptedApp) {}
  /// What became of it; nil: it asked nothing under that number.
  func asked(_ number: UInt64, by app: ScriptedApp) -> Asked? { nil }
  /// From now on the app does not answer what it is asked.
  func hold(requestsOf app: ScriptedApp) {}
  /// It answers, whatever has become of what it was asked.
  func release(_ app: ScriptedApp) {}
  /// The app was asked something. Returns whether it does not answer now.
  func holds(_ number: UInt64, _ bytes: [UInt8], of app: ScriptedApp) -> Bool { false }
  /// An app hears what became of what it has asked. Returns what is wrong; nil: nothing.
  func tell(_ number: UInt64, _ bytes: [UInt8], _ error: Status?, to app: ScriptedApp) -> StaticString? { nil }

  /// An app has read the end of what is attached.
  func fetched(_ id: Identifier, isComplete: Bool) {}
  /// Whether all of it came; nil: its end has not come yet.
  func isComplete(_ id: Identifier) -> Bool? { nil }
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

/// A request of a story.
struct Asked {
  let app: Identifier
  /// As the app counts.
  let number: UInt64
  let bytes: [UInt8]
  var hasEnded = false
  /// Nil, if it has ended: with the answer.
  var error: Status?
}

/// The witness of a story that ends in calm.
final class Keeper: Witness {
  /// No dictionary here is ever iterated: its order is another in each process.
  private var attempts: [Identifier: Attempt] = [:]
  private var states: [Identifier: Activity] = [:]
  private var events: [Identifier: [(event: Delivery.OfferEvent, id: Identifier)]] = [:]
  private var fetches: [Identifier: Bool] = [:]
  private var requests: [Asked] = []
  /// Whose requests wait.
  private var silent: Identifier?
  private var held: [(number: UInt64, bytes: [UInt8])] = []

  override subscript(id: Identifier) -> Attempt? { attempts[id] }

  override func set(_ id: Identifier, _ state: Activity?) { states[id] = state }

  override func begin(_ id: Identifier, _ offer: Offer, by receiver: AppIdentity) {
    let activity = offer.description.id
    attempts[id] = Attempt(activity, receiver, states[activity])
  }

  override func answer(_ id: Identifier, _ outcome: Outcome) { attempts[id]?.answer = outcome }

  override func tell(_ step: ContinuationStep, of id: Identifier) -> StaticString? {
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

  override func tell(_ receipt: Receipt, of activity: Identifier) -> StaticString? {
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

  override func tell(_ event: Delivery.OfferEvent, of id: Identifier, to app: ScriptedApp) {
    events[app.identity.id, default: []].append((event, id))
  }

  override func takeEvents(of app: ScriptedApp) -> [(event: Delivery.OfferEvent, id: Identifier)] {
    events.removeValue(forKey: app.identity.id) ?? []
  }

  // MARK: Requests and attachments

  override func ask(_ number: UInt64, _ bytes: [UInt8], by app: ScriptedApp) {
    requests.append(Asked(app: app.identity.id, number: number, bytes: bytes))
  }

  override func asked(_ number: UInt64, by app: ScriptedApp) -> Asked? { index(number, app).map { requests[$0] } }

  override func tell(_ number: UInt64, _ bytes: [UInt8], _ error: Status?, to app: ScriptedApp) -> StaticString? {
    guard let index = index(number, app) else { return "R7.5: an answer out of nothing" }
    requests[index].hasEnded = true
    requests[index].error = error
    return error == nil && bytes != requests[index].bytes ? "R7.5: it gets another answer than was given" : nil
  }

  private func index(_ number: UInt64, _ app: ScriptedApp) -> Int? {
    requests.lastIndex { $0.number == number && $0.app == app.identity.id }
  }

  override func hold(requestsOf app: ScriptedApp) { silent = app.identity.id }

  override func holds(_ number: UInt64, _ bytes: [UInt8], of app: ScriptedApp) -> Bool {
    guard app.identity.id == silent else { return false }
    held.append((number, bytes))
    return true
  }

  override func release(_ app: ScriptedApp) {
    silent = nil
    for (number, bytes) in held { app.tell { $0.respond(to: number, bytes, $1) } }
    held = []
  }

  override func fetched(_ id: Identifier, isComplete: Bool) { fetches[id] = isComplete }
  override func isComplete(_ id: Identifier) -> Bool? { fetches[id] }
}
