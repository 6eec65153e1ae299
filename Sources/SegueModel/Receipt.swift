// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The outcome of an attempt to continue an activity (R3.6). Raw values are those of `segue_outcome`.
public enum Outcome: Int32, Sendable {
  case restored = 1
  case declined = 2
  case failed = 3
  case unknown = 4
}

/// The app that continued an activity, or tried to. A class, because it is passed on often, like `Receipt`.
public final class Receiver: Sendable {
  public let id: Identifier
  public let deviceName: String
  public let appName: String
  public let bundleIdentifier: String

  public init(id: Identifier, deviceName: String, appName: String, bundleIdentifier: String) {
    self.id = id
    self.deviceName = deviceName
    self.appName = appName
    self.bundleIdentifier = bundleIdentifier
  }

  /// The bundle identifier of agents. One that is a receiver itself retains the activity for other devices (R14.5).
  public static let agent = "org.segue.agent"
  /// Whether it has retained the activity, and so keeps no state that could go back (R3.10).
  public var isMailbox: Bool { Text.isSame(bundleIdentifier, Self.agent) }
}

/// The record of how an attempt ended, for the origin.
public final class Receipt: Sendable {
  public let continuation: Identifier
  public let receiver: Receiver
  public let outcome: Outcome
  /// `.ok` if restored, otherwise the cause.
  public let status: Status
  /// The reason in words; of a stale state that was restored, why the save failed; may be empty.
  public let reason: String
  /// Whether an older snapshot was handed over (R2.4).
  public let isStale: Bool
  /// Seconds since 1970.
  public let date: Double

  public init(
    continuation: Identifier, receiver: Receiver, outcome: Outcome, status: Status, reason: String,
    isStale: Bool, date: Double
  ) {
    self.continuation = continuation
    self.receiver = receiver
    self.outcome = outcome
    self.status = status
    self.reason = reason
    self.isStale = isStale
    self.date = date
  }
}

/// The source of a continued activity (R3.12).
public struct ContinuedFrom: Sendable {
  public let continuation: Identifier
  /// Its name on the wire: another one if the agent has delivered it (R3.8).
  public let wireName: Identifier
  public let offer: Offer
  public let isStale: Bool
  /// Why it is, if the origin says so.
  public let staleReason: String?
  /// Whether the agent has delivered it before, so that the app may have restored it already (R3.8).
  public let isRedelivered: Bool
  /// The URL of the activity's document, if it came as container + path, and the app has that container (R3.5).
  public let documentURL: String?
  /// The token by which the app may bring its window to the front, if the agent has delivered it to a running app.
  public let activationToken: String?

  public init(
    continuation: Identifier, wireName: Identifier? = nil, offer: Offer, isStale: Bool, staleReason: String? = nil,
    isRedelivered: Bool = false, documentURL: String? = nil, activationToken: String? = nil
  ) {
    self.continuation = continuation
    self.wireName = wireName ?? continuation
    self.offer = offer
    self.isStale = isStale
    self.staleReason = staleReason
    self.isRedelivered = isRedelivered
    self.documentURL = documentURL
    self.activationToken = activationToken
  }
}
