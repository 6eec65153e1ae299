import SegueModel

@testable import SegueFleet

/// A scripted app that reports to the checker of its workload's history.
final class ObservedApp: ScriptedApp {
  private let history: HistoryChecker

  init(
    _ identity: AppIdentity, on device: FleetDevice, offersFrontmostOnly: Bool, _ history: HistoryChecker
  ) throws(SegueError) {
    self.history = history
    try super.init(identity, on: device, offersFrontmostOnly: offersFrontmostOnly)
  }

  override func observe(_ event: HistoryEvent) { process.complain(history.violation(by: event, at: self)) }
}
