// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The knowledge about one site, as it is stored. Dates are in seconds since 1970.
struct SiteRecord: Sendable {
  /// Seconds for which an answer is fresh, and is kept if no other comes; and between two attempts without an answer
  /// (R12.9).
  static let freshTime: Double = 24 * 3_600
  static let keptTime: Double = 7 * 24 * 3_600
  static let retryTime: Double = 3 * 3_600
  /// Seconds until the next attempt if this device could not ask.
  static let busyTime: Double = 60
  /// The most seconds by which a site is asked before its answer is old, so that not all are asked at once.
  static let jitterTime: Double = 2 * 3_600

  let host: String
  /// The application identifiers that the answer is about.
  private(set) var apps: [String]
  private(set) var answer: SiteAnswer?
  /// The mode of the claim that it is about: whether a private address may have given the answer.
  private(set) var isForDevelopers: Bool
  private(set) var checkedAt: Double = 0
  private(set) var unreachable: (since: Double, reason: String)?
  /// The date at which the site is asked next.
  private(set) var nextAt: Double

  /// A site that has never been asked.
  init(host: String, apps: [String], isForDevelopers: Bool, at now: Double) {
    self.host = host
    self.apps = apps
    self.isForDevelopers = isForDevelopers
    nextAt = now
  }

  /// A record that was stored.
  init(
    host: String, apps: [String], answer: SiteAnswer?, isForDevelopers: Bool, checkedAt: Double,
    unreachable: (since: Double, reason: String)?, nextAt: Double
  ) {
    self.host = host
    self.apps = apps
    self.answer = answer
    self.isForDevelopers = isForDevelopers
    self.checkedAt = checkedAt
    self.unreachable = unreachable
    self.nextAt = nextAt
  }

  /// The site has answered.
  /// - Parameter jitter: 0 to 1.
  mutating func answered(_ answer: SiteAnswer, about apps: [String], at now: Double, jitter: Double) {
    self.answer = answer
    self.apps = apps
    checkedAt = now
    unreachable = nil
    nextAt = now + Self.freshTime - jitter * Self.jitterTime
  }

  /// The site could not be asked: the former answer is kept for a while.
  mutating func failed(_ reason: String, at now: Double) {
    expire(at: now)
    unreachable = (min(unreachable?.since ?? now, now), Text.start(of: reason, atMost: Limits.identifier))
    nextAt = now + Self.retryTime
  }

  /// This device could not ask: it says nothing of the site.
  mutating func wasNotAsked(at now: Double) { nextAt = now + Self.busyTime }

  /// Apps that the last answer was not about have appeared, or the user asks.
  mutating func ask(about apps: [String], at now: Double) {
    self.apps = apps
    nextAt = now
  }

  /// Whether the answer is about all of these apps.
  func isAbout(_ apps: [String]) -> Bool {
    apps.allSatisfy { app in self.apps.contains { Text.isSame($0, app) } }
  }

  /// A claim of another mode asks the site anew. The answer of a private address counts for developers alone.
  mutating func setMode(isForDevelopers: Bool, at now: Double) {
    guard isForDevelopers != self.isForDevelopers else { return }
    self.isForDevelopers = isForDevelopers
    if !isForDevelopers { answer = nil }
    nextAt = now
  }

  /// Forgets an answer that is too old. A date of the future was stored while the clock was wrong.
  mutating func expire(at now: Double) {
    if checkedAt > now { (answer, checkedAt, nextAt) = (nil, 0, now) }
    if nextAt > now + Self.freshTime { nextAt = now }
    if now - checkedAt >= Self.keptTime { answer = nil }
  }

  /// The state that the router gets.
  var status: SiteStatus { SiteStatus(answer: answer, checkedAt: checkedAt, unreachable: unreachable) }
}
