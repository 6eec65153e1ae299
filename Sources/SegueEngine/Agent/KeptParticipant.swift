// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// An activity that the agent offers in place of its app, which has ended (R2.5): an app at the hub with one activity,
/// under the names of that app. It refuses streams and requests: only the app could give them.
///
/// Its owner connects `engine` to the hub as an app's, and calls `refuseRequests` after each of its calls.
public final class KeptParticipant: AppEngineOwner {
  public let activity: Identifier
  public private(set) lazy var engine = AppEngine(identity: identity, limits: agent.limits, owner: self)
  private let identity: AppIdentity
  private let state: Activity
  /// In the travelling form (R5.3).
  private let document: [UInt8]
  private let agent: AgentContext
  /// Requests of receivers, which are refused.
  private var requests: [UInt64] = []
  /// Whether it is continued once, by one device at a time (R14.5).
  public let continuesOnce: Bool
  public private(set) var isContinued = false
  /// Whether it is offered no longer: attachments of what was continued are still served.
  private(set) var isWithdrawn = false

  /// - Parameter since: the uptime at which the app has left it, by which it is ranked among all offers.
  /// Throws MALFORMED.
  convenience init(
    _ record: KeptRecord, secret: Identifier, since: Int64, _ agent: AgentContext, _ now: Instant
  ) throws(SegueError) {
    var state = try ActivityDocument.decode(record.document, ReferenceReader(.none), userInfoLimit: Limits.value)
    state.setSupportsContinuationStreams(false)
    // The app itself has had it saved (R8.1).
    state.setEligible(.search, false)
    state.markNeedsSave(false)
    // The clock of the device for which it is retained may be another one.
    if record.retained != nil { try state.setExpirationDate(record.description.expirationDate) }
    self.init(record, secret, state, agent)
    engine.becomeCurrent(activity, Instant(uptime: since, date: now.date))
  }

  private init(_ record: KeptRecord, _ secret: Identifier, _ state: Activity, _ agent: AgentContext) {
    activity = record.activity
    document = record.document
    continuesOnce = record.retained != nil
    self.state = state
    self.agent = agent
    let app = record.app
    identity = AppIdentity(
      secret: secret, bundleIdentifier: app.bundleIdentifier, name: app.name, team: app.team, types: [],
      isChooser: false)
  }

  /// Whether a receiver is about to continue it.
  var isAttempted: Bool { engine.isAttempted(activity) }

  /// Offers it no longer (`AgentOwner.withdraw`).
  public func withdraw(_ now: Instant) { engine.resignCurrent(activity, now) }
  func noteWithdrawn() { isWithdrawn = true }

  /// Withdraws it, and refuses what is in progress.
  func end(_ now: Instant) {
    engine.startClosing(now)
    engine.finishClosing(now)
  }

  /// Refuses what receivers have asked for meanwhile, except attachments, which its owner sends.
  public func refuseRequests() {
    for request in engine.takeStreamRequests() {
      if request.attachment == nil {
        engine.refuse(request, Self.appHasEnded)
      } else if let error = engine.rejection(to: request) {
        engine.refuse(request, error)
      } else {
        agent.owner.serve(request, of: self)
      }
    }
    let requests = self.requests
    self.requests = []
    for number in requests { engine.refuseRequest(number, Self.appHasEnded) }
  }

  /// The attachment that a receiver fetches is about to be sent, or cannot be.
  public func answer(_ request: StreamRequest, _ error: SegueError?) {
    if let error { engine.refuse(request, error) } else { _ = engine.take(request) }
  }

  private static var appHasEnded: SegueError {
    SegueError(.invalidState, "its app has ended, and the agent offers what it has left: no streams, no requests")
  }

  // MARK: For its engine

  public func deliver(_ delivery: Delivery) {
    switch delivery {
    case .log(let severity, let message): agent.owner.log(severity, message)
    case .requestCame(let number, _, _): requests.append(number)
    case .continuationEnded(_, let receipt) where continuesOnce:
      if receipt.outcome == .restored { isContinued = true }
      agent.owner.ended(receipt, of: self)
    default: break
    }
  }

  public func activity(_ id: Identifier) -> Activity? { id == activity ? state : nil }
  public func leftDocument(of id: Identifier) -> [UInt8]? { document }
  public func setNeedsSave(_ needsSave: Bool, of id: Identifier) {}
  public func lastChange(of id: Identifier) -> Int64 { 0 }
  public func answersWillSave(_ id: Identifier) -> Bool { false }
  public func continuation(of id: Identifier) -> Identifier? { nil }
  public func kept(by continuation: Identifier) -> (activity: Identifier, origin: Identifier)? { nil }
  public func takesStreams(_ id: Identifier) -> Bool { false }
  public func takesRequests(_ id: Identifier) -> Bool { true }
  public func streamEnd(_ id: Identifier) -> StreamStatus { .broken }
}
