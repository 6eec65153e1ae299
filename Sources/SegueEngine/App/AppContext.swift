import SegueModel

/// The context that the features of an app share: the limits, and the engine's owner.
final class AppContext {
  let identity: AppIdentity
  let limits: Limits
  /// The owner outlives its engine.
  unowned(unsafe) let owner: any AppEngineOwner
  private var nextNumber: UInt64 = 1

  init(_ identity: AppIdentity, _ limits: Limits, _ owner: any AppEngineOwner) {
    self.identity = identity
    self.limits = limits
    self.owner = owner
  }

  /// Returns a new number for an operation whose delivery names it.
  func takeNumber() -> UInt64 {
    defer { nextNumber += 1 }
    return nextNumber
  }

  func deliver(_ delivery: Delivery) { owner.deliver(delivery) }

  func log(_ severity: Severity, _ message: @autoclosure () -> DiagnosticText) {
    if owner.logs(severity) { deliver(.log(severity, message())) }
  }
}
