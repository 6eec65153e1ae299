import SegueEngine
import SegueModel

/// Records what the apps of a story have set and answered, and what their callbacks get, on all devices, to check
/// continuations and requests (R2.2, R3.6, R7.5). This base class records nothing, so that the product does not contain
/// `Keeper`.
class Witness {
  subscript(id: Identifier) -> Attempt? { nil }
  /// An origin has an activity in a new state; nil if it has ended.
  func set(_ id: Identifier, _ state: Activity?) {}
  func begin(_ id: Identifier, _ offer: Offer, by receiver: AppIdentity) {}
  /// The receiver intends this outcome.
  func answer(_ id: Identifier, _ outcome: Outcome) {}
  /// A callback of the receiver runs. Returns the violation, or nil.
  func tell(_ step: ContinuationStep, of id: Identifier) -> StaticString? { nil }
  /// The origin learns how it ended. Returns the violation, or nil.
  func tell(_ receipt: Receipt, of activity: Identifier) -> StaticString? { nil }

  /// An app gets an event of an offer.
  func tell(_ event: Delivery.OfferEvent, of id: Identifier, to app: ScriptedApp) {}
  /// The events of offers at the app since the last call.
  func takeEvents(of app: ScriptedApp) -> [(event: Delivery.OfferEvent, id: Identifier)] { [] }

  /// An app sends a request, and has to get its content as the answer.
  func ask(_ number: UInt64, _ bytes: [UInt8], by app: ScriptedApp) {}
  /// The result of a request; nil if there is none under that number.
  func asked(_ number: UInt64, by app: ScriptedApp) -> Asked? { nil }
  /// From now on the app does not answer what it is asked.
  func hold(requestsOf app: ScriptedApp) {}
  /// It answers again, whatever has become of the request.
  func release(_ app: ScriptedApp) {}
  /// The app got a request. Returns whether it does not answer now.
  func holds(_ number: UInt64, _ bytes: [UInt8], of app: ScriptedApp) -> Bool { false }
  /// An app learns the result of its request. Returns the violation, or nil.
  func tell(_ number: UInt64, _ bytes: [UInt8], _ error: Status?, to app: ScriptedApp) -> StaticString? { nil }

  /// An app has read the end of an attachment.
  func fetched(_ id: Identifier, isComplete: Bool) {}
  /// Whether all of it arrived; nil if its end has not arrived yet.
  func isComplete(_ id: Identifier) -> Bool? { nil }
}

/// A continuation of a story.
final class Attempt {
  /// The callbacks of a receiver in a continuation.
  enum Told: Equatable {
    case willContinue
    case continued(isStale: Bool)
    case failed(Status)
  }

  let activity: Identifier
  let receiver: AppIdentity
  /// The activity as its app had it when the attempt began; nil if it was gone.
  let state: Activity?
  var told: [Told] = []
  /// The state of the activity that the receiver got.
  var number: Int?
  /// The outcome that the receiver intended; nil if it has not answered yet.
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
  /// The number by the app's count.
  let number: UInt64
  let bytes: [UInt8]
  var hasEnded = false
  /// Nil, if it has ended with the answer.
  var error: Status?
}

/// The witness of a story with a quiescent phase.
final class Keeper: Witness {
  /// Dictionaries here are never iterated: their order differs between processes.
  private var attempts: [Identifier: Attempt] = [:]
  private var states: [Identifier: Activity] = [:]
  private var events: [Identifier: [(event: Delivery.OfferEvent, id: Identifier)]] = [:]
  private var fetches: [Identifier: Bool] = [:]
  private var requests: [Asked] = []
  /// Apps whose requests wait.
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
    // Continuations that the story did not begin are unknown here.
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
