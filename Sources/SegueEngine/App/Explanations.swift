// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The answers to "why is it not offered there?" (R6.5).
final class Explanations: AppFeature {
  /// An unanswered question; the hub gets one at a time.
  private struct Question {
    let number: UInt64
    let activity: Identifier
    let type: String
    let isPublic: Bool
  }

  private let app: AppContext
  private let hub: HubConnection
  private let current: CurrentActivity
  private var questions: [Question] = []

  init(_ app: AppContext, _ hub: HubConnection, _ current: CurrentActivity) {
    self.app = app
    self.hub = hub
    self.current = current
  }

  func ask(_ id: Identifier, _ state: Activity?, _ now: Instant) -> UInt64 {
    let number = app.takeNumber()
    // The clock may have been set, which no event tells.
    current.changed(id, now)
    let reasons = reasonsHere(id, state, now)
    guard reasons.isEmpty, let state else {
      app.deliver(.explanation(request: number, reasons))
      return number
    }
    questions.append(Question(number: number, activity: id, type: state.type, isPublic: state.isPublic))
    if questions.count == 1 { askNext(now) }
    return number
  }

  @inline(never)
  private func askNext(_ now: Instant) {
    guard let next = questions.first else { return }
    hub.sendChecked(.explain(request: next.number, next.activity, type: next.type), now)
  }

  private func reasonsHere(_ id: Identifier, _ state: Activity?, _ now: Instant) -> [Reason] {
    guard let state else { return [Reason("invalidated", "the activity was invalidated, which is for ever")] }
    var reasons: [Reason] = []
    if current.id != id { reasons.append(Reason("not current", "it is not the current activity of its app")) }
    if state.isExpired(at: now.date) { reasons.append(Reason("expired", "its expiration date is past")) }
    if !state.eligibility.contains(.handoff) {
      reasons.append(Reason("not eligible", "it is not eligible for handoff"))
    }
    if !hub.isWelcome { reasons.append(Reason("no hub", "the app is not connected to a hub")) }
    return reasons
  }

  /// The hub has answered.
  func receive(_ request: UInt64, _ list: [Message.Explanation], appCount: UInt64, _ now: Instant) {
    guard let question = questions.first, question.number == request else { return }
    questions.removeFirst()
    askNext(now)
    var reasons: [Reason] = []
    // The first one of a pair that concerns the page.
    var title: String?
    for explanation in list {
      let name = explanation.name
      let reason: Reason
      switch explanation.obstacle {
      case .isOrigin: reason = Reason("own app", app: name, "an app is not offered what is its own")
      case .teamDiffers:
        reason = Reason(
          "team differs", app: name,
          question.isPublic
            ? "it is an app of another team, and the hub does not know that the activity is public"
            : "it is an app of another team, and the activity is not public")
      case .typeNotDeclared:
        reason = Reason("type not declared", app: name, "it does not declare the type of the activity")
      case .notFrontmost:
        reason = Reason("not frontmost", "the device offers its frontmost activity only, which is another")
      case .isPrivate:
        reason = Reason("private", "it stays on this device: it is private, or the user keeps its type or its app here")
      case .notLinked:
        reason = Reason("not linked", device: name, "there is no link with this device of the account now")
      case .page:
        guard let word = title else {
          title = name
          continue
        }
        reason = Reason(word, name)
        title = nil
      }
      reasons.append(reason)
    }
    if appCount == 0 {
      reasons.append(Reason("no other app", "no other app is open on this device, and no device is linked"))
    }
    app.deliver(.explanation(request: request, reasons))
  }

  func disconnected(_ now: Instant) {
    for question in questions {
      let reason = Reason("no hub", "the hub has ended while it was asked")
      app.deliver(.explanation(request: question.number, [reason]))
    }
    questions = []
  }

  func close(_ error: SegueError, _ now: Instant) { disconnected(now) }

  var leak: StaticString? { questions.isEmpty ? nil : "app: it keeps a question" }
}
