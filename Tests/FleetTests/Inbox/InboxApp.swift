import SegueEngine
import SegueModel
import SegueWire

@testable import SegueFleet

/// A scripted app that takes what waits for it at the agent, and reports to the oracle.
final class InboxApp: ScriptedApp {
  private let oracle: InboxOracle
  /// Whether it has a handler for what waits.
  private(set) var accepts = false
  /// The attachments that it fetches, of which continuations, and where they come.
  private var fetches: [(id: Identifier, continuation: Identifier, attachment: Attachment, socket: FleetSocket)] = []
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

  /// Fetches the attachments of what has waited, before it answers.
  private func fetch(_ activity: Activity, _ from: ContinuedFrom) {
    for attachment in activity.attachments {
      let (near, far) = process.makeSockets()
      let id = process.fleet.drawIdentifier()
      fetches.append((id, from.continuation, attachment, near))
      perform { engine, now in
        process.waits(forStream: id, "asks for an attachment", deadline: now.uptime + engine.limits.continuation)
        engine.askStream(
          id, from, attachment: Message.AttachmentPart(name: attachment.name, offset: 0),
          otherEnd: FleetDescriptor(far), timeout: nil, now)
      }
    }
  }

  private func fetched(_ id: Identifier, _ error: SegueError?) {
    guard let index = fetches.firstIndex(where: { $0.id == id }) else { return }
    let fetch = fetches.remove(at: index)
    var bytes: [UInt8] = []
    while let count = fetch.socket.read(atMost: 8_192, { bytes.append(contentsOf: $0) }), count > 0 {}
    fetch.socket.close()
    process.complain(oracle.violation(by: fetch.attachment, of: fetch.continuation, bytes, error, at: identity))
  }

  override func deliver(_ delivery: Delivery) {
    if case .streamAnswered(let id, let error) = delivery { fetched(id, error) }
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
      case .continue(let activity, let from):
        if deliveries.contains(id) { fetch(activity, from) }
        deliveries.removeAll { $0 == id }
      case .didFail: deliveries.removeAll { $0 == id }
      case .willContinue, .resumedBack, .openingFailed: break
      }
    }
    process.complain(oracle.violation(by: event, at: self))
  }
}
