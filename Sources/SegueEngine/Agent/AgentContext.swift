// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The context that the parts of an agent share.
final class AgentContext {
  let limits: Limits
  /// For what agents and apps have in common.
  let app: AppContext
  private let events: Events
  private var lines = LogLimiter()

  init(_ identity: AppIdentity, _ limits: Limits, _ owner: any AgentOwner) {
    self.limits = limits
    events = Events(owner)
    app = AppContext(identity, limits, events)
  }

  var owner: any AgentOwner { events.owner }
  var origins: Origins { events.origins }

  /// Logs what apps cause, unless they cause too much.
  func log(_ severity: Severity, _ message: @autoclosure () -> DiagnosticText, _ now: Instant) {
    guard let leftOut = lines.take(now) else { return }
    if leftOut > 0 { app.log(.error, "\(leftOut) lines about what apps do were left out here") }
    app.log(severity, message())
  }

  /// The origins of the offers that the agent sees.
  final class Origins {
    private var byActivity: [Identifier: OfferOrigin] = .init()

    subscript(activity: Identifier) -> OfferOrigin? {
      get { byActivity[activity] }
      set { byActivity[activity] = newValue }
    }

    /// The device of the account that offers an activity; nil: none does.
    func device(of activity: Identifier) -> Identifier? {
      byActivity[activity].flatMap { $0.version.number == OfferOrigin.device ? $0.version.hub : nil }
    }

    /// Whether an app of this device offers an activity.
    func isOfThisDevice(_ activity: Identifier) -> Bool {
      byActivity[activity].map { $0.version.number == OfferOrigin.app } ?? false
    }
  }

  /// The agent has no activities, and needs only some of the events.
  private final class Events: AppEngineOwner {
    let origins = Origins()
    /// The owner outlives its engine.
    unowned(unsafe) let owner: any AgentOwner

    init(_ owner: any AgentOwner) { self.owner = owner }

    func deliver(_ delivery: Delivery) {
      switch delivery {
      case .log(let severity, let message): owner.log(severity, message)
      case .streamAnswered(let id, let error): owner.streamAnswered(id, error)
      case .offer(.gone, let offer):
        origins[offer.description.id] = nil
        owner.gone(offer.description.id)
      default: break
      }
    }

    func activity(_ id: Identifier) -> Activity? { nil }
    func setNeedsSave(_ needsSave: Bool, of id: Identifier) {}
    func lastChange(of id: Identifier) -> Int64 { 0 }
    func answersWillSave(_ id: Identifier) -> Bool { false }
    func continuation(of id: Identifier) -> Identifier? { nil }
    func kept(by continuation: Identifier) -> (activity: Identifier, origin: Identifier)? { nil }
    func takesStreams(_ id: Identifier) -> Bool { false }
    func takesRequests(_ id: Identifier) -> Bool { false }
    func streamEnd(_ id: Identifier) -> StreamStatus { .broken }
  }
}
