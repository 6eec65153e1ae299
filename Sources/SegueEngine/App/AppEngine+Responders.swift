import SegueModel

/// The calls about responders (R4). After each, the current activity follows the chain.
extension AppEngine {
  /// Adds a responder (R4.1).
  /// - Parameter host: the host's object, which is there until `removeResponder`.
  /// - Parameter updates: whether it has `update_state`.
  public func addResponder(_ host: AnyObject, updates: Bool) -> Responder { responders.add(host, updates: updates) }

  public func removeResponder(_ responder: Responder, _ now: Instant) {
    responders.remove(responder)
    follow(now)
  }

  /// Gives a responder an activity, which is managed from now on; nil: none. No effect if it was invalidated.
  public func setActivity(_ id: Identifier?, of responder: Responder, _ now: Instant) {
    guard !isClosed else { return }
    responders.set(id, of: responder)
    follow(now)
  }

  /// Nil if it has none.
  public func activity(of responder: Responder) -> Identifier? { responders.activity(of: responder) }

  /// Sets the next responder in the chain; nil: none.
  /// - Returns: the error for a loop, or nil.
  public func setNext(_ next: Responder?, of responder: Responder, _ now: Instant) -> SegueError? {
    let error = responders.setNext(next, of: responder)
    if error == nil { follow(now) }
    return error
  }

  /// Sets where the chain starts; nil: nowhere.
  public func setMainResponder(_ responder: Responder?, _ now: Instant) {
    responders.setMain(responder)
    follow(now)
  }

  /// Whether responders have the activity, or had it until the next delivery.
  public func manages(_ id: Identifier) -> Bool { responders.manages(id) }

  /// Decides at its turn whether an activity without responders ends (R4.4).
  /// - Returns: whether it does: it was invalidated.
  public func decide(_ id: Identifier, _ now: Instant) -> Bool {
    guard responders.decide(id) else { return false }
    invalidate(id, now)
    return true
  }
}
