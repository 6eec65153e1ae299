import SegueModel

/// The activities of an app, as its engine sees them. Calls come from inside the engine's own calls.
public protocol ActivitySource: AnyObject {
  /// Nil: it was invalidated.
  func activity(_ id: Identifier) -> Activity?
  /// Marks it as needing to be saved, or not.
  func setNeedsSave(_ needsSave: Bool, of id: Identifier)
  /// Uptime of the last change, in milliseconds.
  func lastChange(of id: Identifier) -> Int64
  /// Whether somebody wants will_save for it.
  func answersWillSave(_ id: Identifier) -> Bool
  /// The continuation by which it came here; nil: it was made here.
  func continuation(of id: Identifier) -> Identifier?
  /// Whether somebody wants the streams that others ask for.
  func takesStreams(_ id: Identifier) -> Bool
  /// Whether somebody answers the requests of others.
  func takesRequests(_ id: Identifier) -> Bool
  /// What can be seen of the end of a stream that is here: `open`, or `aborted` if it was closed.
  func streamEnd(_ id: Identifier) -> StreamWord
}

/// Who has an app's engine. Calls come from inside the engine's own calls.
public protocol AppEngineOwner: ActivitySource {
  /// The app is to be told this, after the calls that came before.
  func deliver(_ delivery: Delivery)
  /// The host does not take what it is told: what comes from others is refused.
  var isBacklogged: Bool { get }
}

extension AppEngineOwner {
  public var isBacklogged: Bool { false }
}
