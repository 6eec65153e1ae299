import SegueModel

/// What an app is told; the runtime calls the delegates with it, in order.
public enum Delivery: Sendable {
  public enum OfferEvent: Int32, Sendable {
    case appeared = 1
    case changed = 2
    case gone = 3
  }

  /// True: registered with a hub, and all its offers are told.
  case connection(isReady: Bool)
  case offer(OfferEvent, Offer)
  /// Answer with `AppEngine.saved`.
  case willSave(activity: Identifier, save: UInt64)
  case wasContinued(activity: Identifier, Receipt)
  case continuationEnded(activity: Identifier, Receipt)
  /// Something is due in this continuation: ask `AppEngine.step` when its turn has come.
  case continuation(Identifier)
  case explanation(request: UInt64, [Reason])
  /// A link that the app asked for is there; then, or without that, it has ended.
  case linked(UInt64, deviceName: String)
  case linkEnded(UInt64, SegueError)
  /// A stream that the app asked for is there, or will not be.
  case streamAnswered(Identifier, SegueError?)
  /// Another app has asked for a stream of this activity.
  case streamCame(Identifier, activity: Identifier)
  /// How the other end of a stream has ended; never `open`.
  case streamEnded(Identifier, StreamWord)
  /// A request of this app has ended: with these bytes, or with an error (R7.5).
  case answered(UInt64, [UInt8], SegueError?)
  /// Another app asks for something of this activity. Answer with `AppEngine.respond` or `refuseRequest`.
  case requestCame(UInt64, activity: Identifier, [UInt8])
  /// A line for the log, whoever reads that.
  case log(Severity, DiagnosticText)
}

/// What is due in a continuation of this app (R3.1, R3.2).
public enum ContinuationStep: Sendable {
  /// Answer with `AppEngine.announced`.
  case willContinue(Offer)
  /// Answer with `AppEngine.answer`.
  case `continue`(Activity, ContinuedFrom)
  case didFail(type: String, SegueError)
}

/// Why an activity is not offered somewhere (R6.5).
public struct Reason: Sendable {
  /// In a few words, as in "not current"; the same in each language.
  public let reason: String
  /// The app that it is about; nil: it concerns all.
  public let app: String?
  public let message: String

  public init(_ reason: String, app: String? = nil, _ message: String) {
    self.reason = reason
    self.app = app
    self.message = message
  }
}
