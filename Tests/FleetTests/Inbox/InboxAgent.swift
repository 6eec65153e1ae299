// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueStore

@testable import SegueFleet

/// The agent of a fleet under a workload, which the oracle watches.
final class InboxAgent: FleetAgent {
  /// The one who asks for continuations.
  private let user = ControlClient(number: 1, principal: .device(Identifier(high: 0, low: 1)))
  private unowned let workload: InboxWorkload

  init(on device: FleetDevice, _ workload: InboxWorkload) {
    self.workload = workload
    super.init(on: device)
  }

  // MARK: For those who ask

  /// Continues an offer in an app; the oracle hears the answer under that number.
  func `continue`(_ activity: Identifier, in app: String, timeout: Int64? = nil, _ number: UInt64) {
    inbox?.continue(activity, app: app, timeout: timeout, environment: [], for: user) { [unowned self] result in
      workload.oracle.answered(number, result, at: fleet.clock.uptime)
    }
  }

  /// The entry may be delivered again.
  func retried(_ continuation: Identifier) { inbox?.retry(continuation) }

  /// The user forgets an entry.
  func forget(_ continuation: Identifier) {
    fleet.trace(name, "is to forget an entry")
    inbox?.remove(continuation) { _ in }
  }

  /// The user withdraws what an app has left.
  func withdraw(_ activity: Identifier) {
    fleet.trace(name, "is to withdraw what was left")
    workload.oracle.kept.withdraws(activity)
    inbox?.withdraw(activity) { [unowned self] error in
      workload.oracle.kept.withdrawn(activity, error, on: device)
    }
  }

  // MARK: FleetAgent

  override func hasStored(_ request: InboxRequest, _ reply: InboxReply?) {
    workload.oracle.note(request, reply, of: self)
  }

  override func hasRemoved(_ continuation: Identifier) { workload.oracle.removed(continuation) }

  override func keeps(_ offer: KeptParticipant) {
    workload.oracle.kept.offers(offer.activity, as: offer.engine.identity.id, on: device)
  }

  override func makeMover() -> any AttachmentMover { InboxMover(self) }

  override func start(_ app: String, _ done: @escaping (SegueError?) -> Void) {
    workload.launch(app, by: self, done)
  }
}
