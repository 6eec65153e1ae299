// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Continuations of which this agent is the receiver because it retains their activities (R14.5): document and
/// attachments are fetched, and stored. The receipt of the origin is *unknown*.
///
/// A call that may end some leaves them for `takeEnded`.
final class RetainedPulls {
  private let agent: AgentContext
  private let hub: HubConnection
  private let outcomes: PendingOutcomes
  private let fetches: StateFetches
  private let copies: RetainedCopies
  private(set) var list: [RetainedPull] = []
  private var ended: [RetainedPull] = []
  /// This device, as the account calls it.
  var name: String?

  init(_ agent: AgentContext, _ hub: HubConnection, _ outcomes: PendingOutcomes, _ copies: RetainedCopies) {
    (self.agent, self.hub, self.outcomes, self.copies) = (agent, hub, outcomes, copies)
    fetches = StateFetches(hub)
  }

  var room: RetainedRoom { RetainedRoom(copies.list, list) }

  /// One that has ended since; nil: no more.
  func takeEnded() -> RetainedPull? { ended.isEmpty ? nil : ended.removeFirst() }

  func has(_ id: Identifier) -> Bool { list.contains { $0.id == id } }

  /// Fetches an offer of another device.
  func begin(_ id: Identifier, _ origin: RetainedOrigin, _ offer: Offer, _ now: Instant) {
    let pull = RetainedPull(
      id: id, origin: origin, offer: offer, team: agent.origins[offer.description.id]?.team ?? "",
      deadline: now.uptime + agent.limits.continuation, bytes: offer.description.sizeHint)
    list.append(pull)
    fetches.begin(pull.continuation, for: receiver, deadline: pull.deadline, now)
  }

  private var receiver: Receiver {
    Receiver(
      id: agent.app.identity.id, deviceName: "", appName: agent.app.identity.name, bundleIdentifier: Receiver.agent)
  }

  /// Ends those that are not wanted any longer.
  func stop(_ error: @autoclosure () -> SegueError, _ now: Instant, where isOver: (RetainedOrigin) -> Bool) {
    while let pull = list.first(where: { isOver($0.origin) }) { fail(pull.id, error(), now) }
  }

  // MARK: Messages

  func receiveState(
    _ id: Identifier, channel: FramedConnection.Channel, size: UInt64, isStale: Bool, why: String, _ now: Instant
  ) throws(SegueError) {
    end(
      try fetches.receiveState(
        id, channel: channel, size: size, isStale: isStale, why: why, room: Limits.allRetainedBytes), now)
  }

  func received(_ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel, _ now: Instant) {
    end(fetches.received(bytes, on: channel), now)
  }

  func receivedEnd(of channel: FramedConnection.Channel, _ now: Instant) { end(fetches.receivedEnd(of: channel), now) }

  func receivedReset(of channel: FramedConnection.Channel, _ now: Instant) {
    end(fetches.receivedReset(of: channel), now)
  }

  /// No document comes.
  func refused(_ id: Identifier, _ error: SegueError, _ now: Instant) {
    end(fetches.cancel(id, error), isReported: false, now)
  }

  // MARK: The document, and the attachments

  private func end(_ fetch: StateFetch?, isReported: Bool = true, _ now: Instant) {
    guard let fetch, let index = list.firstIndex(where: { $0.id == fetch.id }) else { return }
    if let error = fetch.error { return fail(fetch.id, error, isReported: isReported, now) }
    let pull = list[index]
    do throws(SegueError) {
      let state = try ActivityDocument.decode(fetch.document, ReferenceReader(.none), userInfoLimit: Limits.value)
      guard !state.isPrivate else { throw SegueError(.notAllowed, "the activity is private now") }
      if let error = state.rejection(to: pull.offer.description, at: now.date) { throw error }
      let app = AppIdentity(
        known: pull.offer.origin, bundleIdentifier: pull.offer.bundleIdentifier, name: pull.offer.appName,
        team: pull.team, types: [])
      let record = try KeptRecord(
        pull.activity, of: app, document: fetch.document, keptAt: now.date, retained: pull.origin,
        expirationDate: pull.offer.description.expirationDate)
      list[index].isStale = fetch.isStale
      collect(record, at: index, now)
    } catch {
      fail(fetch.id, error, now)
    }
  }

  private func collect(_ record: KeptRecord, at index: Int, _ now: Instant) {
    let pull = list[index]
    let size = UInt64(record.document.count)
    var (bytes, left): (UInt64, UInt64) = (0, UInt64(Limits.storedAttachments))
    let room = self.room
    let wanted = record.attachments.filter { attachment in
      guard attachment.size <= left else {
        list[index].problem = RetainedRoom.isTooLarge
        return false
      }
      guard room.has(size + bytes + attachment.size, for: pull.origin) else {
        list[index].problem = RetainedRoom.isFull
        return false
      }
      (left, bytes) = (left - attachment.size, bytes + attachment.size)
      return true
    }
    // A push in part is none.
    if pull.origin.push != nil, let problem = list[index].problem { return fail(pull.id, problem, now) }
    // Nothing is fetched and written that is there.
    if copies.list.contains(where: { $0.record.isSame(as: record, attachmentBytes: bytes) }) {
      return finish(pull.id, hasChanged: false, now)
    }
    guard room.has(size, for: pull.origin) else { return fail(pull.id, RetainedRoom.isFull, now) }
    list[index].bytes = size + bytes
    guard !wanted.isEmpty else { return store(record.keeping([]), at: index, now) }
    list[index].phase = .collecting(record, count: wanted.count)
    agent.owner.collect(wanted, of: pull.id, for: nil)
  }

  /// As many attachments as could be fetched are here.
  /// - Parameter isOriginThere: whether its device is linked.
  /// - Returns: false if they are of something else.
  func collected(
    _ id: Identifier, _ found: [Attachment], isOriginThere: (RetainedOrigin) -> Bool, _ now: Instant
  ) -> Bool {
    guard let index = list.firstIndex(where: { $0.id == id }) else { return false }
    guard case .collecting(let record, let count) = list[index].phase else { return true }
    if found.count < count {
      // An older state that is whole is worth more than a new one in part, if the origin has gone in between.
      guard isOriginThere(list[index].origin) else {
        fail(id, SegueError(.connectionUnavailable, "the origin has gone before all was here"), now)
        return true
      }
      guard list[index].origin.push == nil else {
        fail(id, RetainedRoom.isIncomplete, now)
        return true
      }
      list[index].problem = RetainedRoom.isIncomplete
    }
    store(record.keeping(found), at: index, now)
    return true
  }

  /// The origin of a pull whose attachments are fetched.
  func source(of id: Identifier) -> ContinuedFrom? {
    guard let pull = list.first(where: { $0.id == id }), case .collecting = pull.phase else { return nil }
    return ContinuedFrom(continuation: id, offer: pull.offer, isStale: pull.isStale, documentURL: nil)
  }

  // MARK: The disk

  private func store(_ record: KeptRecord, at index: Int, _ now: Instant) {
    list[index].phase = .storing(record)
    copies.writes.keep(record, now)
  }

  /// The disk has stored a copy, or forgotten one.
  /// - Returns: false if that was not asked of it here.
  func stored(_ activity: Identifier, _ error: SegueError?, _ now: Instant) -> Bool {
    guard copies.writes.isAsking(activity) else { return false }
    guard let write = copies.writes.finish(error, now), let record = write.record else { return true }
    let pull = list.first { pull in
      if case .storing = pull.phase { return pull.activity == activity }
      return false
    }
    guard let pull else {
      // It was dropped meanwhile.
      if error == nil { copies.writes.forget(activity, now) }
      return true
    }
    if let error {
      fail(pull.id, error, now)
    } else {
      let hasChanged = copies.add(record, now)
      agent.log(.info, "retains \(record.description.type) of \(pull.offer.deviceName)", now)
      finish(pull.id, hasChanged: hasChanged, now)
    }
    return true
  }

  // MARK: The end

  /// The activity is here, and the disk has it.
  private func finish(_ id: Identifier, hasChanged: Bool, _ now: Instant) {
    guard let index = list.firstIndex(where: { $0.id == id }) else { return }
    let pull = end(at: index, .success(hasChanged))
    let receipt = SegueError(.remoteApplicationTimedOut, "retained at \(name ?? hub.deviceName)")
    outcomes.report(
      pull.continuation, .unknown, receipt, by: now.uptime + agent.limits.continuation, receiver: receiver, now)
  }

  private func fail(_ id: Identifier, _ error: SegueError, isReported: Bool = true, _ now: Instant) {
    _ = fetches.cancel(id, error)
    guard let index = list.firstIndex(where: { $0.id == id }) else { return }
    let pull = end(at: index, .failure(error))
    if case .collecting = pull.phase { agent.owner.stopCollecting(id) }
    if isReported {
      outcomes.report(
        pull.continuation, .failed, error, by: now.uptime + agent.limits.continuation, receiver: receiver, now)
    }
    agent.app.log(.info, "\(pull.offer.description.type) of \(pull.offer.deviceName) is not retained: \(error.message)")
  }

  private func end(at index: Int, _ end: Result<Bool, SegueError>) -> RetainedPull {
    var pull = list.remove(at: index)
    pull.end = end
    ended.append(pull)
    return pull
  }

  // MARK: Life cycle

  func connected(_ now: Instant) { fetches.connected(now) }
  func disconnected(_ now: Instant) { fetches.disconnected(now) }

  func tick(_ now: Instant) {
    while let fetch = fetches.tick(now) { end(fetch, now) }
    while let pull = list.first(where: { pull in
      if case .collecting = pull.phase { return pull.deadline <= now.uptime }
      return false
    }) {
      fail(pull.id, SegueError(.remoteApplicationTimedOut, "not fetched within its time"), now)
    }
  }

  var nextDeadline: Int64? {
    list.reduce(fetches.nextDeadline) { next, pull in
      if case .collecting = pull.phase { earlier(next, pull.deadline) } else { next }
    }
  }
}
