import SegueModel

/// What the features of an app share: the limits, and the way to the engine's owner.
final class AppContext {
  let identity: AppIdentity
  let limits: Limits
  /// Outlives the engine, which is its own.
  unowned(unsafe) let owner: any AppEngineOwner
  private var nextNumber: UInt64 = 1

  init(_ identity: AppIdentity, _ limits: Limits, _ owner: any AppEngineOwner) {
    self.identity = identity
    self.limits = limits
    self.owner = owner
  }

  /// A new number for something that comes back in a delivery, whatever it is.
  func takeNumber() -> UInt64 {
    defer { nextNumber += 1 }
    return nextNumber
  }

  func deliver(_ delivery: Delivery) { owner.deliver(delivery) }

  func log(_ severity: Severity, _ message: DiagnosticText) { deliver(.log(severity, message)) }
}
