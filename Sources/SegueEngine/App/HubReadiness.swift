// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The progress of a hub that tells a new connection all offers, until the app is ready.
struct HubReadiness {
  /// Milliseconds for a hub to send the next offer, or that all have been sent. One that does not gets as long again:
  /// perhaps this process was stopped.
  private static let readyTime: Int64 = 5_000
  /// The most milliseconds for which the app waits for the other apps of a hub that has just taken over.
  private static let registrationLimit: Int64 = 1_000

  private(set) var isReady = false
  /// The uptime at which it is ready, while it waits for the other apps.
  private(set) var readyAt: Int64?
  /// Whether it was ready before, at this hub or a former one, so that it knows the offers of that.
  private var hasBeenReady = false
  /// The uptime by which the hub sends an offer or `ready`; nil before welcome and after ready.
  private var readyBy: Int64?
  /// Whether the hub was late once since its welcome or its last offer.
  private var isLate = false

  /// The connection is lost, or opens.
  mutating func reset() {
    isReady = false
    readyAt = nil
    readyBy = nil
  }

  /// The hub has welcomed: offers follow.
  mutating func awaitOffers(_ now: Instant) {
    readyBy = now.uptime + Self.readyTime
    isLate = false
  }

  /// The hub has sent an offer: others may follow.
  mutating func heardOffer(_ now: Instant) { if readyBy != nil { awaitOffers(now) } }

  /// All offers that the hub knows have arrived. An app that was never ready knows no offers of a former hub. So it
  /// waits for the apps that may still register.
  /// - Parameter settling: milliseconds that these apps have.
  /// - Returns: whether it is ready.
  mutating func receiveReady(settling: Int64, _ now: Instant) -> Bool {
    readyBy = nil
    guard !hasBeenReady, settling > 0 else { return becomeReady() }
    readyAt = now.uptime + min(settling, Self.registrationLimit)
    return false
  }

  private mutating func becomeReady() -> Bool {
    readyAt = nil
    (isReady, hasBeenReady) = (true, true)
    return true
  }

  /// - Returns: whether it has become ready.
  mutating func becomeReadyIfDue(_ now: Instant) -> Bool {
    guard let at = readyAt, at <= now.uptime else { return false }
    return becomeReady()
  }

  /// - Returns: whether the hub is late for the second time.
  mutating func takeLateness(_ now: Instant) -> Bool {
    guard let by = readyBy, by <= now.uptime else { return false }
    readyBy = isLate ? nil : now.uptime + Self.readyTime
    defer { isLate = true }
    return isLate
  }

  var nextDeadline: Int64? { earlier(readyBy, readyAt) }
}
