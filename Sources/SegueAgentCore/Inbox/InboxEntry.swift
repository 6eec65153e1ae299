// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A continuation that has to be delivered to an app that does not run yet (R3.8).
public struct InboxEntry: Sendable {
  public enum State: Int64, Sendable {
    /// For the app, or for the end of another delivery to it.
    case waiting = 0
    /// The app has it, and has not answered yet.
    case delivered = 1
  }

  /// Rises with each entry.
  public let number: Int64
  public let continuation: Identifier
  /// The bundle identifier of the app that is to get it.
  public let app: String
  /// The origin's offer. Its rank and time of activation are 0: they were of the hub that had the offer.
  public let offer: Offer
  /// Whether an older snapshot was handed over (R2.4).
  public let isStale: Bool
  /// The activity document and its attachments.
  public let payload: StoredPayload
  public let state: State
  /// The number of times that it was handed to the app, this time included.
  public let attempts: Int
  /// The number of times that the app crashed on it.
  public let crashes: Int
  /// Seconds since 1970, as the clock of the device said when it came.
  public let receivedAt: Double
  /// Seconds since 1970, as its clock says now.
  public let expiresAt: Double

  public init(
    number: Int64, continuation: Identifier, app: String, offer: Offer, isStale: Bool, payload: StoredPayload,
    state: State, attempts: Int, crashes: Int, receivedAt: Double, expiresAt: Double
  ) {
    self.number = number
    self.continuation = continuation
    self.app = app
    self.offer = offer
    self.isStale = isStale
    self.payload = payload
    self.state = state
    self.attempts = attempts
    self.crashes = crashes
    self.receivedAt = receivedAt
    self.expiresAt = expiresAt
  }

  /// Whether its app may still get it, or has it. An entry expired by a date that may be wrong is not deleted yet.
  public func isHere(at now: Double) -> Bool { state == .delivered || expiresAt > now }

  /// Whether an app may have seen it before: this delivery is to be marked *redelivered*.
  public var isRedelivered: Bool { attempts > 1 }
  /// Whether the app has crashed on it too often to get it by itself (`Inbox.retry`).
  public var isHeld: Bool { crashes >= Limits.crashes }
}
