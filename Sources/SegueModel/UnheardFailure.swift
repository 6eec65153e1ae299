// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A continuation that has failed in an app whose host has neither `did_fail` nor a log to be told by (R3.13).
public struct UnheardFailure: Sendable {
  /// The most that are kept, of an app until an agent runs, and of all apps of a device.
  public static let limit = 16

  public let bundleIdentifier: String
  public let appName: String
  public let type: String
  public let error: SegueError
  public var date: Double
  /// The process that has reported it (`Account.id`).
  public var principal: Identifier

  public init(
    bundleIdentifier: String, appName: String, type: String, error: SegueError, date: Double, principal: Identifier
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.appName = appName
    self.type = type
    self.error = error
    self.date = date
    self.principal = principal
  }

  /// Whether an app has failed in the same way, at whatever time.
  public func isSame(as other: UnheardFailure) -> Bool {
    Text.isSame(bundleIdentifier, other.bundleIdentifier) && Text.isSame(type, other.type) && error == other.error
  }
}
