import SegueEngine
import SegueModel

@testable import SegueFleet

/// A scripted app that reports to the checker of its workload's history.
final class ObservedApp: ScriptedApp {
  private let history: HistoryChecker
  /// What it was told of the links that it has asked for, in a few words each.
  private(set) var linkEvents: [String] = []

  init(
    _ identity: AppIdentity, on device: FleetDevice, offersFrontmostOnly: Bool, _ history: HistoryChecker
  ) throws(SegueError) {
    self.history = history
    try super.init(identity, on: device, offersFrontmostOnly: offersFrontmostOnly)
  }

  override func deliver(_ delivery: Delivery) {
    switch delivery {
    case .linked(_, let name): linkEvents.append("linked with \(name)")
    case .linkEnded(_, let error): linkEvents.append("ended \(error.status)")
    default: break
    }
    super.deliver(delivery)
  }

  override func observe(_ event: HistoryEvent) { process.complain(history.violation(by: event, at: self)) }
}
