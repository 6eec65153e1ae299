/// A continuation that has failed in an app whose host has neither `did_fail` nor a log to be told by (R3.13).
public struct UnheardFailure: Sendable {
  /// The most that are kept, of an app and of a device; the oldest goes first.
  public static let limit = 16

  public let bundleIdentifier: String
  public let appName: String
  public let type: String
  public let error: SegueError
  public let date: Double

  public init(bundleIdentifier: String, appName: String, type: String, error: SegueError, date: Double) {
    self.bundleIdentifier = bundleIdentifier
    self.appName = appName
    self.type = type
    self.error = error
    self.date = date
  }
}
