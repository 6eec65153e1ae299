// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The detection of a hub that does not answer: when it gets a ping, and by when it has to answer.
struct HubSilence {
  /// Milliseconds for a hub to send welcome.
  private static let welcomeTime: Int64 = 500
  /// Milliseconds of silence after which a hub gets a ping, and then as long again to answer.
  private static let answerTime: Int64 = 500

  /// The uptimes of the next ping, and at which the hub counts as silent.
  private var pingAt: Int64?
  private var answerBy: Int64?
  /// Whether a message that needs a live hub was sent after the unanswered ping.
  private var isToBeAskedAgain = false

  /// The state of a connection that has just opened: hello waits for welcome.
  mutating func awaitWelcome(_ now: Instant) { answerBy = now.uptime + Self.welcomeTime }

  /// The hub has welcomed.
  mutating func welcomed() { answerBy = nil }

  /// A message was sent that needs a live hub, which gets no ping while messages arrive from it.
  mutating func sentChecked(_ now: Instant) {
    if answerBy != nil {
      isToBeAskedAgain = true
    } else if pingAt == nil {
      pingAt = now.uptime + Self.answerTime
    }
  }

  /// The hub was alive when it sent something, perhaps before it got the last messages: delays the ping, but sends it.
  mutating func heard(_ now: Instant) {
    let later = now.uptime + Self.answerTime
    if pingAt != nil { pingAt = later }
    if answerBy != nil { answerBy = later }
  }

  /// The hub has received everything sent before the ping.
  mutating func answered(_ now: Instant) {
    answerBy = nil
    guard isToBeAskedAgain else { return }
    isToBeAskedAgain = false
    pingAt = now.uptime + Self.answerTime
  }

  /// Gives the hub as long again.
  mutating func waitLonger(_ now: Instant) { answerBy = now.uptime + Self.answerTime }

  /// - Returns: whether to send a ping now.
  mutating func takePing(_ now: Instant) -> Bool {
    guard let at = pingAt, at <= now.uptime else { return false }
    pingAt = nil
    answerBy = now.uptime + Self.answerTime
    return true
  }

  /// - Returns: whether the hub has not answered in time, once.
  mutating func takeSilence(_ now: Instant) -> Bool {
    guard let by = answerBy, by <= now.uptime else { return false }
    answerBy = nil
    return true
  }

  var nextDeadline: Int64? { earlier(pingAt, answerBy) }
}
