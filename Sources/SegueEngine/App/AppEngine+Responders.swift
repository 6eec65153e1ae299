// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The calls about responders (R4). After each, the current activity follows the chain.
extension AppEngine {
  /// Adds a responder (R4.1).
  /// - Parameter host: the host's object, which is there until `removeResponder`.
  /// - Parameter updates: whether it has `update_state`.
  /// - Parameter documentURL: if it is a document's: the URL of that (R5.1). It learns of its activities by
  ///   `documentChanged`.
  public func addResponder(_ host: AnyObject, updates: Bool, documentURL: String? = nil) -> Responder {
    responders.add(host, updates: updates, documentURL: documentURL)
  }

  /// The file of a document is elsewhere now.
  public func setDocumentURL(_ url: String, of responder: Responder) { responders.setDocumentURL(url, of: responder) }

  public func removeResponder(_ responder: Responder, _ now: Instant) {
    let former = currentActivity
    responders.remove(responder)
    // The windows of an app that quits may go before it does: as if the host had released the activity (R2.5).
    if let former, responders.orphaned(former) { leave(former, now) }
    follow(now)
  }

  /// Gives a responder an activity, which is managed from now on; nil: none. No effect if it was invalidated.
  public func setActivity(_ id: Identifier?, of responder: Responder, _ now: Instant) {
    guard !isClosed else { return }
    responders.set(id, of: responder)
    follow(now)
  }

  /// All responders of one activity get another one (R5.2, R3.5). No effect if that was invalidated.
  public func moveResponders(of id: Identifier, to other: Identifier, _ now: Instant) {
    guard !isClosed else { return }
    responders.move(id, to: other)
    follow(now)
  }

  /// The activity of a document for which `documentChanged` was delivered; nil: it has none.
  public func takeChange(of responder: Responder) -> Identifier? { responders.takeChange(of: responder) }

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
    invalidate(id, isReleased: true, now)
    return true
  }

  /// The present URL of an activity's document (R5.2); nil if it has none.
  public func documentURL(of activity: Identifier) -> String? { responders.plan(for: activity).documentURL }
}
