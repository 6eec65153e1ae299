import SegueEngine
import SegueModel

@testable import SegueFleet

/// A scripted app that takes what waits for it at the agent, and reports to the oracle.
final class InboxApp: ScriptedApp {
  private let oracle: InboxOracle
  /// Whether it has a handler for what waits.
  private(set) var accepts = false
  /// Deliveries that have begun, and neither `continue` nor `did_fail` has run.
  private(set) var deliveries: [Identifier] = []

  init(_ identity: AppIdentity, on device: FleetDevice, _ oracle: InboxOracle) throws(SegueError) {
    self.oracle = oracle
    super.init(identity, in: try device.start(identity.name))
  }

  func setAccepts(_ accepts: Bool) {
    guard isAlive, self.accepts != accepts else { return }
    self.accepts = accepts
    process.does(accepts ? "takes what waits" : "takes nothing that waits")
    perform { engine, _ in engine.setAcceptsDeliveries(accepts) }
  }

  /// Its user ends what is being delivered (R3.3).
  func cancelDelivery() {
    guard let id = deliveries.first else { return }
    process.does("cancels")
    perform { $0.cancel(id, SegueError(.userCancelled, "no"), $1) }
  }

  override func deliver(_ delivery: Delivery) {
    if case .continuation(let id) = delivery, let offer = engine?.deliveredOffer(of: id), !deliveries.contains(id) {
      deliveries.append(id)
      if !accepts { process.complain("R3.8: an app gets what waits before it has a handler") }
      process.continues(id, offer, deadline: process.now.uptime + Limits().continuation)
    }
    super.deliver(delivery)
  }

  override func observe(_ event: HistoryEvent) {
    if case .step(let step, let id) = event {
      switch step {
      case .continue, .didFail: deliveries.removeAll { $0 == id }
      case .willContinue, .resumedBack, .openingFailed: break
      }
    }
    process.complain(oracle.violation(by: event, at: self))
  }
}
