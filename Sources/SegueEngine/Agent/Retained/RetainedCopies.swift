// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The activities that this agent retains for other devices (R14.5), on its disk with the kept offers (R2.5). It offers
/// one as an app at the hub does, whenever its owner says so.
final class RetainedCopies {
  /// Milliseconds for which the attachments of what was continued can be fetched.
  static let servingTime: Int64 = 10 * 60_000

  private let agent: AgentContext
  private let hub: HubConnection
  let writes: KeptWrites
  /// The oldest first.
  private(set) var list: [KeptOffer] = []
  /// Receipts that the disk has refused to store, and when it is asked again.
  private var unsettled: [(activity: Identifier, revision: UInt64, receipt: Receipt)] = []
  private var settlesAgainAt: Int64?
  private var pause = Backoff()
  private(set) var isLoaded = false
  /// Why the disk has not said what is retained; nil: it has, or is about to.
  private(set) var problem: SegueError?
  /// Whether the hub knows which apps are open, and the uptime at which it will.
  private var isSettled = false
  private var settlesAt: Int64?
  /// The uptime at which what could not be connected to the hub is tried again.
  private var joinsAt: Int64?
  /// The uptime at which to look again at those that their date hides.
  var looksAt: Int64?

  init(_ agent: AgentContext, _ hub: HubConnection) {
    (self.agent, self.hub) = (agent, hub)
    writes = KeptWrites(agent, keepsParts: false)
  }

  func index(of activity: Identifier) -> Int? { list.firstIndex { $0.record.activity == activity } }
  func index(of offer: KeptParticipant) -> Int? { list.firstIndex { $0.offer === offer } }

  /// Whether a copy can be offered now, as far as the hub is concerned.
  var canOffer: Bool { isSettled && joinsAt == nil }

  // MARK: The disk

  /// The disk has said what was retained before a restart, or refuses.
  func loaded(_ result: Result<[KeptRecord], SegueError>, _ now: Instant) {
    do throws(SegueError) {
      for record in try result.get() where index(of: record.activity) == nil {
        writes.found(record.activity)
        // Its age does not count: the date may have been set.
        list.append(copy(of: record, now))
      }
      (isLoaded, problem) = (true, nil)
    } catch {
      // The disk is asked again with the kept offers, which log it. Until it answers nothing is retained.
      problem = SegueError(error.status, "keeps nothing: it cannot read what it has: \(error.message)")
    }
    agent.owner.noteRetention()
  }

  /// The disk has it.
  /// - Returns: whether that is something new.
  func add(_ record: KeptRecord, _ now: Instant) -> Bool {
    let new = copy(of: record, now)
    guard let index = index(of: record.activity) else {
      list.append(new)
      return true
    }
    let hasChanged = !list[index].record.isSame(as: record, attachmentBytes: record.attachmentBytes)
    if let offer = list[index].offer { end(offer, now) }
    unsettled.removeAll { $0.activity == record.activity }
    list[index] = new
    return hasChanged
  }

  private func copy(of record: KeptRecord, _ now: Instant) -> KeptOffer {
    var copy = KeptOffer(
      record: record.withoutContent, principal: nil, isLeftHere: false, since: now.uptime,
      endsAt: now.uptime + Int64(Limits.retainedLife * 1_000), isStored: true)
    _ = copy.look(now)
    return copy
  }

  func remove(at index: Int, _ now: Instant) {
    let copy = list.remove(at: index)
    if let offer = copy.offer { end(offer, now) }
    unsettled.removeAll { $0.activity == copy.record.activity }
    writes.forget(copy.record.activity, now)
    agent.owner.noteRetention()
  }

  func remove(_ now: Instant, where isOver: (RetainedOrigin) -> Bool) {
    while let index = list.firstIndex(where: { $0.record.retained.map { isOver($0) } ?? true }) {
      remove(at: index, now)
    }
  }

  /// Its origin is there, or has just been.
  func renew(at index: Int, _ now: Instant) { list[index].endsAt = now.uptime + Int64(Limits.retainedLife * 1_000) }

  /// It has ended for good: the disk gets the receipt.
  func settle(at index: Int, _ receipt: Receipt) {
    list[index].record.receipt = receipt
    let record = list[index].record
    settle(record.activity, record.retained?.revision ?? 0, receipt)
    agent.owner.noteRetention()
  }

  private func settle(_ activity: Identifier, _ revision: UInt64, _ receipt: Receipt) {
    unsettled.append((activity, revision, receipt))
    agent.owner.perform(.settle(activity, revision: revision, receipt))
  }

  /// The disk has the receipt, or refuses: then it is asked again, or the activity would be offered after a restart.
  func settled(_ activity: Identifier, _ error: SegueError?, _ now: Instant) {
    guard let error else {
      pause.end()
      return unsettled.removeAll { $0.activity == activity }
    }
    agent.log(.error, "retained offers: \(error.message)", now)
    if let time = pause.take(after: error) { settlesAgainAt = now.uptime + time }
  }

  // MARK: Offering

  /// Offers it, unless its date hides it, or it is offered.
  /// - Returns: whether it is about to be.
  @discardableResult
  func offer(at index: Int, _ now: Instant) -> Bool {
    guard canOffer, list[index].offer?.isWithdrawn ?? true else { return false }
    // Its origin was here in between.
    if let former = list[index].offer.take() { end(former, now) }
    if let at = list[index].look(now) {
      looksAt = earlier(looksAt, at)
      return false
    }
    guard let secret = agent.owner.drawIdentifier() else { return false }
    do throws(SegueError) {
      let record = list[index].record
      let offer = try KeptParticipant(record, secret: secret, since: list[index].since, agent, now)
      list[index].offer = offer
      agent.log(.info, "offers \(record.description.type), which is retained for another device", now)
      agent.owner.join(offer)
      return true
    } catch {
      agent.log(.error, "retained offers: \(error.message)", now)
      // It is over at the next tick.
      list[index].endsAt = now.uptime
      return false
    }
  }

  /// Offers it no longer. Whoever continues it just now, or has, still gets all of it.
  func retire(at index: Int, _ now: Instant) {
    guard let offer = list[index].offer else { return }
    guard offer.isAttempted || list[index].servesUntil > now.uptime else {
      list[index].offer = nil
      return end(offer, now)
    }
    if list[index].servesUntil <= now.uptime { list[index].servesUntil = now.uptime + agent.limits.continuation }
    guard !offer.isWithdrawn else { return }
    offer.noteWithdrawn()
    agent.owner.withdraw(offer)
  }

  /// Ends the attempt to continue it.
  func withdraw(at index: Int, _ now: Instant) { if let offer = list[index].offer.take() { end(offer, now) } }

  func notJoined(_ offer: KeptParticipant, _ now: Instant) {
    guard let index = index(of: offer) else { return }
    list[index].offer = nil
    joinsAt = now.uptime + KeptOffers.joinPause
  }

  private func end(_ offer: KeptParticipant, _ now: Instant) {
    offer.end(now)
    agent.owner.leave(offer)
  }

  /// A receiver has continued it, or has tried to: its attachments are served for a while.
  func ended(at index: Int, _ now: Instant) { list[index].servesUntil = now.uptime + Self.servingTime }

  // MARK: Life cycle

  func connected(_ now: Instant) { settlesAt = hub.agent == nil ? nil : now.uptime + KeptOffers.settlingTime }
  func disconnected() { (isSettled, settlesAt) = (false, nil) }

  func tick(_ now: Instant) {
    writes.tick(now)
    if let at = settlesAgainAt, at <= now.uptime {
      settlesAgainAt = nil
      for each in unsettled { agent.owner.perform(.settle(each.activity, revision: each.revision, each.receipt)) }
    }
    if let at = settlesAt, at <= now.uptime { (isSettled, settlesAt) = (true, nil) }
    if let at = joinsAt, at <= now.uptime { joinsAt = nil }
    if let at = looksAt, at <= now.uptime { looksAt = nil }
  }

  /// Removes those whose time is up.
  func removeExpired(_ now: Instant) {
    while let index = list.firstIndex(where: { $0.expiresAt <= now.uptime }) { remove(at: index, now) }
  }

  var nextDeadline: Int64? {
    let next = earlier(writes.nextDeadline, settlesAgainAt)
    guard !list.isEmpty else { return next }
    var all = earlier(earlier(next, settlesAt), earlier(joinsAt, looksAt))
    for copy in list {
      all = earlier(all, copy.expiresAt)
      if copy.offer?.isWithdrawn ?? false, copy.servesUntil > 0 { all = earlier(all, copy.servesUntil) }
    }
    return all
  }

  var brokenInvariant: StaticString? {
    if list.count > Limits.allRetainedOffers { return "R14.5: it retains too many offers" }
    for copy in list {
      guard let origin = copy.record.retained else { return "R14.5: it retains what no device wants" }
      if copy.record.description.isPrivate { return "R14.5: it retains a private activity" }
      if origin.push != nil, copy.record.receipt != nil, copy.offer.map({ !$0.isWithdrawn }) ?? false {
        return "R14.5: it pushes what has ended"
      }
    }
    return nil
  }
}

extension KeptRecord {
  /// Whether the other one, with so many bytes of attachments, has nothing new.
  func isSame(as other: KeptRecord, attachmentBytes bytes: UInt64) -> Bool {
    activity == other.activity && document == other.document && retained?.revision == other.retained?.revision
      && attachmentBytes == bytes
  }
}
