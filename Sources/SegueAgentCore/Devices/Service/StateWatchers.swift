// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The clients that wait for a change of a state: of the account and its devices, or of pushes. For one thread.
public final class StateWatchers {
  private static let limit = 64

  private struct Watcher {
    let client: ControlClient
    let deadline: Int64
    let answer: ControlClient.Answer
  }

  /// Names a state; another one after each change. It starts at random, so that a new agent is noticed.
  private var change: Int64
  private var entries: [(key: Value, value: Value)] = []
  private var encoding: [UInt8] = []
  private var watchers: [Watcher] = []
  private var attendance = PromptAvailability()
  private let what: StaticString
  private let environment: any AgentEnvironment

  /// - Parameter what: for errors.
  /// Throws SYSTEM without random numbers.
  convenience init(of what: StaticString, in environment: any AgentEnvironment) throws(SegueError) {
    let drawn = try environment.drawIdentifier().bytes
    self.init(what, environment, change: drawn.prefix(4).reduce(1) { $0 << 8 | Int64($1) })
  }

  private init(_ what: StaticString, _ environment: any AgentEnvironment, change: Int64) {
    (self.what, self.environment, self.change) = (what, environment, change)
  }

  /// Sets the state, and answers those who wait if it is another one.
  func publish(_ entries: [(key: Value, value: Value)]) throws(SegueError) {
    let encoding = try Value.dictionary(entries).encoding
    guard encoding != self.encoding else { return }
    self.encoding = encoding
    self.entries = entries
    change += 1
    let due = watchers
    watchers = []
    tell(due)
  }

  private var value: Result<Value, SegueError> {
    ControlClient.map(.success(())) { () throws(SegueError) in
      try .dictionary(entries + [(key: .string("change"), value: .integer(change))])
    }
  }

  /// - Parameters:
  ///   - after: nil: answers at once. Otherwise once the state is another one than that, or the time is up.
  ///   - timeout: milliseconds.
  func get(
    after: Int64?, timeout: Int64, for client: ControlClient, _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    guard after == change else {
      attendance.told(hasWaited: after != nil, at: environment.uptime)
      return answer(value)
    }
    guard watchers.count < Self.limit else {
      throw SegueError(.limitExceeded, "\(what): \(Self.limit) wait for a change already")
    }
    watchers.append(Watcher(client: client, deadline: environment.uptime + timeout, answer: answer))
  }

  /// Whether somebody waits for a change.
  var isAwaited: Bool { !watchers.isEmpty }

  /// Whether somebody waits for a change, or was told of one lately.
  func isAttended(_ uptime: Int64) -> Bool { attendance.isAttended(waiting: watchers.count, at: uptime) }

  private func tell(_ due: [Watcher]) {
    if !due.isEmpty { attendance.told(hasWaited: true, at: environment.uptime) }
    for watcher in due { watcher.answer(value) }
  }

  func abandon(_ client: ControlClient) { watchers.removeAll { $0.client.number == client.number } }

  var nextDeadline: Int64? { watchers.map { $0.deadline }.min() }

  func tick(_ uptime: Int64) {
    let late = watchers.filter { $0.deadline <= uptime }
    watchers.removeAll { $0.deadline <= uptime }
    tell(late)
  }
}
