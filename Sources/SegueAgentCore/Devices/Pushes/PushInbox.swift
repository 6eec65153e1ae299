// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The observer of an inbox. It is called in turns of its own, not inside another call.
public protocol InboxObserver: AnyObject {
  /// An offer is over: its app has ended it, or is gone.
  func offerEnded(_ activity: Identifier)
  /// The offers of apps of this device may have changed, or what is retained for other devices.
  func retentionChanged()
}

/// The inbox of the agent, as pushes between devices use it (R3.15). For one thread.
public protocol PushInbox: AnyObject {
  /// Hears of the events of the inbox; nil: none does. The observer sets this to nil before it is released.
  var observer: (any InboxObserver)? { get set }
  /// Looks for an offer that may just have been made, for 1 s.
  /// - Parameters:
  ///   - wanted: the bundle identifier of the app that is to continue it; nil: whatever fits.
  ///   - done: called once, not inside this call, unless the agent ends before. NOT_FOUND, BUSY.
  func look(
    for activity: Identifier, wanted: String?, _ done: @escaping (Result<AppChoice, SegueError>) -> Void)
  /// The question which app continues an offer that is there. NOT_FOUND, BUSY.
  func choice(for activity: Identifier, wanted: String?) -> Result<AppChoice, SegueError>
  /// Chooses the app (R6.2). Throws NOT_FOUND.
  func choose(_ choice: AppChoice) throws(SegueError) -> ChosenApp
  /// Continues an offer in an app that need not run.
  /// - Parameters:
  ///   - retained: the push that a mailbox gives to this device, which is stored with the entry; nil: it is none.
  ///   - began: called in place of `answer` if the app could be chosen.
  ///   - answer: called once, unless `began` was, or the agent ends before.
  func `continue`(
    _ activity: Identifier, app: String?, timeout: Int64?, environment: [LaunchVariable], for client: ControlClient,
    retained: PushMark?, began: ((_ continuation: Identifier, _ app: ChosenApp, _ isShared: Bool) -> Void)?,
    _ answer: @escaping (Result<AgentContinuationReport, SegueError>) -> Void)
  /// Whether a push to this device was taken or declined before, or a later one of its activity.
  /// - Parameter done: called once, not inside this call, unless the agent ends before.
  func hasTaken(_ push: PushMark, _ done: @escaping (Result<Bool, SegueError>) -> Void)
  /// Remembers that a push was taken or declined.
  func noteTaken(_ push: PushMark)
}
