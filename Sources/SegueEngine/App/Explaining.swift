import SegueModel
import SegueWire

/// A question that the hub has yet to answer; it is asked one at a time.
struct AskedExplanation {
  let request: UInt64
  let activity: Identifier
  let type: String
}

/// "Why is it not offered there?" (R6.5)
extension AppEngine {
  /// The answer is delivered under the number that is returned, at once if it can be known here.
  /// - Parameter state: the activity as it is; nil: it was invalidated.
  public func explain(_ id: Identifier, _ state: Activity?, _ now: Moment) -> UInt64 {
    let request = nextExplanation
    nextExplanation += 1
    let reasons = reasonsHere(id, state, now)
    guard reasons.isEmpty, let state else {
      deliveries.append(.explanation(request: request, reasons))
      return request
    }
    explanations.append(AskedExplanation(request: request, activity: id, type: state.type))
    if explanations.count == 1 { askNextExplanation(now) }
    return request
  }

  @inline(never)
  private func askNextExplanation(_ now: Moment) {
    guard let next = explanations.first else { return }
    sendChecked(.explain(request: next.request, next.activity, type: next.type), now)
  }

  private func reasonsHere(_ id: Identifier, _ state: Activity?, _ now: Moment) -> [Reason] {
    guard let state else { return [Reason("invalidated", "the activity was invalidated, which is for ever")] }
    var reasons: [Reason] = []
    if current?.id != id { reasons.append(Reason("not current", "it is not the current activity of its app")) }
    if state.isExpired(at: now.date) { reasons.append(Reason("expired", "its expiration date is past")) }
    if !state.eligibility.contains(.handoff) {
      reasons.append(Reason("not eligible", "it is not eligible for handoff"))
    }
    if !connection.isWelcome { reasons.append(Reason("no hub", "the app is not connected to a hub")) }
    return reasons
  }

  func explained(_ request: UInt64, _ list: [Message.Explanation], appCount: UInt64, _ now: Moment) {
    guard explanations.first?.request == request else { return }
    explanations.removeFirst()
    askNextExplanation(now)
    var reasons = list.map { explanation in
      switch explanation.obstacle {
      case .isOrigin: Reason("own app", app: explanation.appName, "an app is not offered what is its own")
      case .teamDiffers: Reason("team differs", app: explanation.appName, "it is an app of another team")
      case .typeNotDeclared:
        Reason("type not declared", app: explanation.appName, "it does not declare the type of the activity")
      case .notFrontmost: Reason("not frontmost", "the device offers its frontmost activity only, which is another")
      }
    }
    if appCount == 0 { reasons.append(Reason("no other app", "no other app is open on this device")) }
    deliveries.append(.explanation(request: request, reasons))
  }

  /// The hub that was asked is gone.
  func failExplanations() {
    for asked in explanations {
      let reason = Reason("no hub", "the hub went away while it was asked")
      deliveries.append(.explanation(request: asked.request, [reason]))
    }
    explanations = []
  }
}
