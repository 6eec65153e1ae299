import SegueModel

/// A feature of an app: owns its state, and goes through the same life as all others. Features call those that they were
/// given when they were made, which are in front of them in `AppEngine.features`; none calls back.
protocol AppFeature: AnyObject {
  /// A hub has said welcome: sends what waits for one.
  func connected(_ now: Moment)
  /// The connection to the hub is lost.
  func disconnected(_ now: Moment)
  func tick(_ now: Moment)
  /// Uptime in milliseconds at which `tick` is due; nil: nothing is.
  var nextDeadline: Int64? { get }
  /// The app closes: ends all that is under way.
  func close(_ error: SegueError, _ now: Moment)
  /// Whether all that was under way has ended.
  var isIdle: Bool { get }
  /// State that should have been released by now, or nil (leak check).
  var leak: StaticString? { get }
  /// The first violated invariant, or nil.
  var brokenInvariant: StaticString? { get }
}

extension AppFeature {
  func connected(_ now: Moment) {}
  func disconnected(_ now: Moment) {}
  func tick(_ now: Moment) {}
  var nextDeadline: Int64? { nil }
  func close(_ error: SegueError, _ now: Moment) {}
  var isIdle: Bool { true }
  var leak: StaticString? { nil }
  var brokenInvariant: StaticString? { nil }
}

/// The earlier of two deadlines; nil: there is none.
func earlier(_ one: Int64?, _ other: Int64?) -> Int64? {
  guard let one, let other else { return one ?? other }
  return min(one, other)
}
