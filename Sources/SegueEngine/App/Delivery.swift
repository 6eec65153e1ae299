// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A delivery to an app; the runtime calls the delegates with it, in order.
public enum Delivery: Sendable {
  public enum OfferEvent: Int32, Sendable {
    case appeared = 1
    case changed = 2
    case gone = 3
  }

  /// True if registered with a hub, whose offers have all arrived.
  case connection(isReady: Bool)
  case offer(OfferEvent, Offer)
  /// A save is due: call `AppEngine.saveBegan`, which says whom to ask, and answer with `AppEngine.saved`.
  case willSave(activity: Identifier, save: UInt64)
  /// No responder has this managed activity any longer: call `AppEngine.decide` in its turn (R4.4).
  case orphaned(activity: Identifier)
  /// A document's responder has another activity: call `AppEngine.takeChange` in its turn (R5.2).
  case documentChanged(responder: UInt64)
  case wasContinued(activity: Identifier, Receipt)
  case continuationEnded(activity: Identifier, Receipt)
  /// A callback is due in this continuation: call `AppEngine.step` in its turn.
  case continuation(Identifier)
  case explanation(request: UInt64, [Reason])
  /// A link of the app is established; later, or without that, it has ended.
  case linked(UInt64, deviceName: String)
  case linkEnded(UInt64, SegueError)
  /// The result of a request of this app for a stream.
  case streamAnswered(Identifier, SegueError?)
  /// Another app has asked for a stream of this activity.
  case streamCame(Identifier, activity: Identifier)
  /// The other end of a stream has ended, with this status; never `open`.
  case streamEnded(Identifier, StreamStatus)
  /// A request of this app has ended: with these bytes, or with an error (R7.5).
  case answered(UInt64, [UInt8], SegueError?)
  /// A receiver sends a request for this activity. Answer with `AppEngine.respond` or `refuseRequest`.
  case requestCame(UInt64, activity: Identifier, [UInt8])
  /// A line for the log.
  case log(Severity, DiagnosticText)
}

/// The due step of a continuation of this app (R3.1, R3.2), or of `resumeBack`, which ends in `resumedBack` or
/// `didFail`, after `willResumeBack`.
public enum ContinuationStep: Sendable {
  /// Answer with `AppEngine.announced`.
  case willContinue(Offer)
  /// Answer with `AppEngine.answer`.
  case `continue`(Activity, ContinuedFrom)
  /// The state of an activity of this app has come back, and may replace that which is here (R3.10). Answer with
  /// `AppEngine.answerResumption`.
  /// - hasChanged: whether the activity has changed here since it was sent there.
  case willResumeBack(Identifier, hasChanged: Bool)
  /// An activity of this app was replaced by the state that has come back (R3.10). Call `AppEngine.answer`.
  case resumedBack(ResumedState)
  case didFail(type: String, SegueError)
  /// The document of what came by `continue` was not opened (R3.5).
  case openingFailed(type: String, SegueError)
}

/// The state in which an activity of this app has come back. A class, because an activity is large.
public final class ResumedState: Sendable {
  /// The activity of this app.
  public let activity: Identifier
  public let state: Activity
  /// Whether it is an older snapshot (R2.4).
  public let isStale: Bool

  init(_ activity: Identifier, _ state: Activity, isStale: Bool) {
    self.activity = activity
    self.state = state
    self.isStale = isStale
  }
}

/// Why an activity is not offered somewhere (R6.5).
public struct Reason: Sendable {
  /// The reason in a few words, such as "not current"; the same in each language.
  public let reason: String
  /// The app that it concerns; nil if it concerns all, or a device.
  public let app: String?
  /// The device that it concerns; nil if it concerns this one, or all.
  public let device: String?
  public let message: String

  public init(_ reason: String, app: String? = nil, device: String? = nil, _ message: String) {
    self.reason = reason
    self.app = app
    self.device = device
    self.message = message
  }
}
