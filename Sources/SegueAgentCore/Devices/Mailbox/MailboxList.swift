// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The list of offers that the mailbox of this device is to retain (R14.5): the one that it has, and when it is told
/// another one.
struct MailboxList {
  /// Milliseconds from a change of what is offered until the mailbox hears of it, and between two lists.
  private static let tellingPause: Int64 = 500
  /// Milliseconds for the mailbox to answer; twice as long each time that it has not, up to the last.
  private static let firstAnswerTime: Int64 = 10_000
  private static let lastAnswerTime: Int64 = 16 * 60_000

  /// The signed requests of the last list: they are not signed again.
  private var requests: [RetainRequest] = []
  /// The list that the mailbox has over this link; nil: none.
  private var told: [RetainedState]?
  private var tellsAt: Int64?
  /// The uptime by which the mailbox has answered that list, or is told again: a message may be lost in a queue.
  private var answerBy: Int64?
  private var answerTime = MailboxList.firstAnswerTime

  /// The signed request for an offer; nil if it has none.
  func request(for activity: Identifier, _ revision: UInt64) -> RetainRequest? {
    requests.first { $0.activity == activity && $0.revision == revision }
  }

  /// Has the mailbox told soon, since the offers may have changed.
  /// - Returns: whether that sets a deadline.
  mutating func tellSoon(at uptime: Int64) -> Bool {
    guard tellsAt == nil else { return false }
    tellsAt = uptime + Self.tellingPause
    return true
  }

  /// Takes the present list.
  /// - Returns: whether the mailbox is to be told it, as it has another one.
  mutating func take(_ present: [RetainRequest], at uptime: Int64) -> Bool {
    requests = present
    let states = present.map { RetainedState(activity: $0.activity, revision: $0.revision) }
    guard told != states else { return false }
    told = states
    answerBy = uptime + answerTime
    return true
  }

  /// The mailbox has answered.
  mutating func answered() { (answerBy, answerTime) = (nil, Self.firstAnswerTime) }
  /// The link with the mailbox has begun anew.
  mutating func linkBegan() { told = nil }
  /// The mailbox is not linked.
  mutating func linkEnded() { (told, answerBy) = (nil, nil) }
  /// Another device is the mailbox, or none.
  mutating func mailboxChanged() { (told, answerBy, requests) = (nil, nil, []) }

  /// The uptime at which `takeDue` has something to do.
  var nextDeadline: Int64? { [tellsAt, answerBy].compactMap { $0 }.min() }

  /// - Returns: whether the mailbox is to be told now, unless it has the present list.
  mutating func takeDue(at uptime: Int64) -> Bool {
    var isDue = false
    if let by = answerBy, by <= uptime {
      (told, answerBy) = (nil, nil)
      answerTime = min(2 * answerTime, Self.lastAnswerTime)
      isDue = true
    }
    guard let at = tellsAt, at <= uptime else { return isDue }
    tellsAt = nil
    return true
  }
}
