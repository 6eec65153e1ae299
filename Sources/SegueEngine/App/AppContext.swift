import SegueModel

/// What the features of an app share: the limits, its activities, and the way to its owner.
final class AppContext {
  let identity: AppIdentity
  let limits: Limits
  /// Outlives the engine: it is the engine's owner.
  unowned(unsafe) let source: any ActivitySource
  /// The host does not take what it is told: what comes from others is refused.
  var isBacklogged = false
  /// Oldest first.
  private(set) var deliveries: [Delivery] = []

  init(_ identity: AppIdentity, _ limits: Limits, _ source: any ActivitySource) {
    self.identity = identity
    self.limits = limits
    self.source = source
  }

  func deliver(_ delivery: Delivery) { deliveries.append(delivery) }

  func log(_ severity: Severity, _ message: DiagnosticText) { deliver(.log(severity, message)) }

  func takeDeliveries() -> [Delivery] {
    defer { deliveries = [] }
    return deliveries
  }
}
