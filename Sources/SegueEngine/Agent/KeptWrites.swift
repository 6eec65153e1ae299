// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The requests to the disk about kept offers (R2.5): one at a time, and of each activity the latest only. So an app
/// that leaves one activity after the other keeps no other app from the disk. A request to forget an activity is
/// repeated until the disk has done it: otherwise the activity would be offered again after a restart.
final class KeptWrites {
  /// The most activities that wait to be forgotten.
  static let limit = 256

  struct Write {
    let activity: Identifier
    /// Nil: the activity is to be forgotten.
    var record: KeptRecord?
    /// The numbers of those who wait until it is forgotten.
    var requesters: [UInt64] = []
    /// Whether the disk is asked again if it refuses: not for requesters alone, who are told.
    var isRepeated = true
    /// The uptime from which on the disk may be asked.
    var at: Int64 = 0

    var request: InboxRequest { record.map { .keep($0) } ?? .withdraw(activity) }
  }

  private let agent: AgentContext
  /// Whether an activity for which the disk has no room is stored without its attachments.
  private let keepsParts: Bool
  private var waiting: [Write] = []
  /// The one that the disk has not answered.
  private var running: Write?
  /// The activities of which something may be on the disk.
  private var stored: Set<Identifier> = .init()
  private var pause = Backoff()

  init(_ agent: AgentContext, keepsParts: Bool = true) { (self.agent, self.keepsParts) = (agent, keepsParts) }

  /// It is on the disk since before a restart.
  func found(_ activity: Identifier) { stored.insert(activity) }

  // MARK: Asking

  /// Stores what was left, instead of what is known of that activity.
  func keep(_ record: KeptRecord, _ now: Instant) {
    dropWaiting(record.activity, SegueError(.notFound, "activity: its app has left it again"))
    waiting.append(Write(activity: record.activity, record: record))
    next(now)
  }

  /// Forgets an activity, for good.
  func forget(_ activity: Identifier, _ now: Instant) {
    waiting.removeAll { $0.activity == activity && $0.record != nil }
    if let index = waiting.firstIndex(where: { $0.activity == activity }) {
      waiting[index].isRepeated = true
    } else if stored.contains(activity) {
      if waiting.count(where: { $0.record == nil }) >= Self.limit { dropOldest(now) }
      waiting.append(Write(activity: activity, record: nil))
    }
    next(now)
  }

  /// Forgets an activity for a requester, who is answered once the disk has done it, or refuses.
  func forget(_ activity: Identifier, for requester: UInt64, _ now: Instant) {
    if let index = waiting.firstIndex(where: { $0.activity == activity && $0.record == nil }) {
      waiting[index].requesters.append(requester)
    } else {
      waiting.append(Write(activity: activity, record: nil, requesters: [requester], isRepeated: false))
    }
    next(now)
  }

  private func dropWaiting(_ activity: Identifier, _ error: SegueError) {
    while let index = waiting.firstIndex(where: { $0.activity == activity }) {
      for requester in waiting.remove(at: index).requesters { agent.owner.withdrawn(requester, error) }
    }
  }

  private func dropOldest(_ now: Instant) {
    guard let index = waiting.firstIndex(where: { $0.record == nil }) else { return }
    agent.log(
      .error, "keep offering: the disk forgets nothing; what was taken back may be offered after a restart", now)
    for requester in waiting.remove(at: index).requesters {
      agent.owner.withdrawn(requester, SegueError(.busy, "the disk does not keep up"))
    }
  }

  private func next(_ now: Instant) {
    guard running == nil, let index = waiting.firstIndex(where: { $0.at <= now.uptime }) else { return }
    let write = waiting.remove(at: index)
    running = write
    if write.record != nil { stored.insert(write.activity) }
    agent.owner.perform(write.request)
  }

  // MARK: The disk

  /// The disk has answered.
  /// - Returns: what it was asked for, unless it is asked for that again.
  func finish(_ error: SegueError?, _ now: Instant) -> Write? {
    guard var write = running.take() else { return nil }
    defer { next(now) }
    guard let error else {
      pause.end()
      if write.record == nil { stored.remove(write.activity) }
      return write
    }
    // Without its attachments it may have room.
    if keepsParts, let record = write.record, record.hasContent,
      error.status == .limitExceeded || error.status == .system
    {
      guard !isKeeping(write.activity) else { return write }
      agent.log(.error, "what \(record.app.name) has left is kept without its attachments: \(error.message)", now)
      write.record = record.keeping([])
      waiting.append(write)
      return nil
    }
    // A full disk keeps nothing new, and the app may leave it again. A queue that is full has room later.
    let isRepeated = write.record == nil ? write.isRepeated : error.status == .busy
    guard isRepeated, !waiting.contains(where: { $0.activity == write.activity }) else { return write }
    agent.log(.error, "keep offering: \(error.message)", now)
    let requesters = write.requesters
    (write.requesters, write.at) = ([], now.uptime + pause.take())
    waiting.append(write)
    for requester in requesters { agent.owner.withdrawn(requester, error) }
    return nil
  }

  /// Whether the disk has not stored yet what was left of an activity last.
  func isKeeping(_ activity: Identifier) -> Bool {
    let isRunning = running.map { $0.activity == activity && $0.record != nil } ?? false
    return isRunning || waiting.contains { $0.activity == activity && $0.record != nil }
  }

  /// Whether the answer of the disk about an activity is to a request of this object.
  func isAsking(_ activity: Identifier) -> Bool { running?.activity == activity }

  /// Whether the disk is to forget it, and has not answered.
  func isForgetting(_ activity: Identifier) -> Bool {
    let isRunning = running.map { $0.activity == activity && $0.record == nil } ?? false
    return isRunning || waiting.contains { $0.activity == activity && $0.record == nil }
  }

  /// The agent ends: passes everything to the disk at once, without waiting for answers.
  func flush() {
    for write in waiting { agent.owner.perform(write.request) }
    waiting = []
  }

  // MARK: Time

  func tick(_ now: Instant) { next(now) }

  var nextDeadline: Int64? { running == nil ? waiting.reduce(nil) { earlier($0, $1.at) } : nil }
}
