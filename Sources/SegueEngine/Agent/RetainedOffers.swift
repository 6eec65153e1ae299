// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The offers that this agent keeps for other devices of the account (R14.5): towards each origin a receiver, whose
/// receipt is *unknown*; and an origin for the others, while the first one is away. What is retained is on the disk
/// first, with the kept offers (R2.5).
final class RetainedOffers: AppFeature {
  /// Activities that are fetched at a time, one of each device.
  static let pullLimit = 4
  /// Milliseconds for which the attachments of what was continued can be fetched.
  static let servingTime: Int64 = 10 * 60_000

  /// All that a device wants to have retained.
  private struct Wish {
    let device: Identifier
    /// In the order in which it has told them.
    var offers: [WantedOffer]
    /// Whether it wants more than that.
    let isTooLong: Bool
    /// Why it does not get all.
    var problem: SegueError?
  }

  private let agent: AgentContext
  private let hub: HubConnection
  private let seen: SeenOffers
  private let outcomes: PendingOutcomes
  private let fetches: StateFetches
  private let writes: KeptWrites
  private var devices: [Identifier] = []
  private var linked: [Identifier] = []
  /// This device, as the account calls it.
  private var name: String?
  /// Nil until the owner has said which devices there are: nothing is dropped before.
  private var knowsDevices = false
  private var wishes: [Wish] = []
  private var pulls: [RetainedPull] = []
  /// Those on the disk, the oldest first.
  private var copies: [KeptOffer] = []
  /// Receipts that the disk has refused to store, and when it is asked again.
  private var unsettled: [(activity: Identifier, revision: UInt64, receipt: Receipt)] = []
  private var settlesAgainAt: Int64?
  private var pause = Backoff()
  private var isLoaded = false
  private var isSettled = false
  private var settlesAt: Int64?
  /// The uptime at which what could not be connected to the hub is tried again.
  private var joinsAt: Int64?
  /// The uptime at which to look again at those that their date hides.
  private var looksAt: Int64?

  init(_ agent: AgentContext, _ hub: HubConnection, _ seen: SeenOffers, _ outcomes: PendingOutcomes) {
    self.agent = agent
    self.hub = hub
    self.seen = seen
    self.outcomes = outcomes
    fetches = StateFetches(hub)
    writes = KeptWrites(agent, keepsParts: false)
  }

  // MARK: For the owner

  var records: [KeptRecord] { copies.map { $0.record } }

  func origin(of activity: Identifier) -> RetainedOrigin? {
    copies.first { $0.record.activity == activity }?.record.retained
  }

  func problem(of device: Identifier) -> SegueError? { wishes.first { $0.device == device }?.problem }

  /// A device says all that it wants to have retained.
  func want(_ wanted: [RetainedOrigin], for device: Identifier, _ now: Instant) {
    guard devices.contains(device) else { return }
    var offers: [WantedOffer] = []
    let known = wishes.first { $0.device == device }?.offers ?? []
    for origin in wanted.prefix(Limits.retainedOffers) where origin.device == device {
      guard !offers.contains(where: { $0.origin.activity == origin.activity }) else { continue }
      var offer = known.first { $0.origin.activity == origin.activity } ?? WantedOffer(origin, at: now.uptime)
      offer.take(origin, now)
      offers.append(offer)
    }
    wishes.removeAll { $0.device == device }
    let isTooLong = wanted.count > Limits.retainedOffers
    wishes.append(
      Wish(device: device, offers: offers, isTooLong: isTooLong, problem: isTooLong ? Self.tooMany : nil))
    // An offer that it no longer wants is over, also while it is loaded: `loaded` looks again.
    dropUnwanted(of: device, now)
    review(now)
    agent.owner.noteRetention()
  }

  func setDevices(_ devices: [Identifier], linked: [Identifier], name: String?, _ now: Instant) {
    self.name = name
    (self.devices, self.linked, knowsDevices) = (devices, linked, true)
    wishes.removeAll { !devices.contains($0.device) }
    dropStrangers(now)
    review(now)
  }

  /// A device that is in the account no longer has nothing here.
  private func dropStrangers(_ now: Instant) {
    guard knowsDevices else { return }
    while let pull = pulls.first(where: { !devices.contains($0.origin.device) }) {
      fail(pull.id, SegueError(.notAllowed, "its device was removed from the account"), now)
    }
    while let index = copies.firstIndex(where: { copy in
      copy.record.retained.map { !devices.contains($0.device) } ?? true
    }) {
      remove(at: index, now)
    }
  }

  private func dropUnwanted(of device: Identifier, _ now: Instant) {
    guard let wish = wishes.first(where: { $0.device == device }) else { return }
    func isWanted(_ origin: RetainedOrigin) -> Bool {
      origin.device != device || wish.offers.contains { $0.origin.activity == origin.activity }
    }
    while let pull = pulls.first(where: { !isWanted($0.origin) }) { fail(pull.id, Self.isUnwanted, now) }
    while let index = copies.firstIndex(where: { $0.record.retained.map { !isWanted($0) } ?? false }) {
      remove(at: index, now)
    }
  }

  private func remove(at index: Int, _ now: Instant) {
    let copy = copies.remove(at: index)
    if let offer = copy.offer { end(offer, now) }
    unsettled.removeAll { $0.activity == copy.record.activity }
    writes.forget(copy.record.activity, now)
    agent.owner.noteRetention()
  }

  private static var isUnwanted: SegueError {
    SegueError(.userCancelled, "its device does not want it retained any longer")
  }

  private static var tooMany: SegueError {
    SegueError(.limitExceeded, "keeps no more: it has \(Limits.retainedOffers) offers of this device")
  }

  private static var isFull: SegueError {
    SegueError(
      .limitExceeded,
      "keeps no more: it has \(Limits.retainedBytes) bytes of this device, or \(Limits.allRetainedBytes) of all")
  }

  private static var isTooLarge: SegueError {
    SegueError(.limitExceeded, "keeps at most \(Limits.storedAttachments) bytes of attachments of an activity")
  }

  private static var isIncomplete: SegueError {
    SegueError(.limitExceeded, "keeps an activity without attachments that it could not fetch")
  }

  // MARK: Fetching

  /// Fetches what is wanted, and offers what is retained for devices that are away.
  func review(_ now: Instant) {
    beginPulls(now)
    reviewCopies(now)
  }

  private func beginPulls(_ now: Instant) {
    guard isLoaded else { return }
    for wish in wishes.indices where linked.contains(wishes[wish].device) {
      guard pulls.count < Self.pullLimit, !pulls.contains(where: { $0.origin.device == wishes[wish].device }) else {
        continue
      }
      let next = wishes[wish].offers.indices.filter { isDue(wishes[wish].offers[$0], now) }
        .min { wishes[wish].offers[$0].at < wishes[wish].offers[$1].at }
      if let next { beginPull(wish, next, now) }
    }
  }

  private func isDue(_ wanted: WantedOffer, _ now: Instant) -> Bool {
    let id = wanted.origin.identifier
    guard wanted.at <= now.uptime, seen.list[id] != nil, agent.origins.device(of: id) == wanted.origin.device else {
      return false
    }
    // An activity that was continued is not offered again before it has changed.
    let copy = copies.first { $0.record.activity == id }
    return copy?.record.receipt == nil || copy?.record.retained?.revision != wanted.origin.revision
  }

  private func beginPull(_ wish: Int, _ index: Int, _ now: Instant) {
    let wanted = wishes[wish].offers[index].origin
    guard let offer = seen.list[wanted.identifier], let id = agent.owner.drawIdentifier() else {
      return wishes[wish].offers[index].failed(now)
    }
    guard hasRoom(for: offer.description.sizeHint, of: wanted) else {
      wishes[wish].problem = Self.isFull
      wishes[wish].offers[index].failed(now)
      agent.log(.error, "\(offer.deviceName): is told that this device \(Self.isFull.message)", now)
      return agent.owner.noteRetention()
    }
    let pull = RetainedPull(
      id: id, origin: wanted, offer: offer, team: agent.origins[wanted.identifier]?.team ?? "",
      deadline: now.uptime + agent.limits.continuation, bytes: offer.description.sizeHint)
    pulls.append(pull)
    fetches.begin(pull.continuation, for: receiver, deadline: pull.deadline, now)
  }

  /// An activity that is retained, or is about to be, and its bytes.
  private struct Share {
    let device: Identifier
    let activity: Identifier
    var bytes: UInt64
  }

  private var shares: [Share] {
    var shares = copies.compactMap { copy in
      copy.record.retained.map {
        Share(device: $0.device, activity: copy.record.activity, bytes: copy.record.storedBytes)
      }
    }
    for pull in pulls {
      if let index = shares.firstIndex(where: { $0.activity == pull.activity }) {
        shares[index].bytes = max(shares[index].bytes, pull.bytes)
      } else {
        shares.append(Share(device: pull.origin.device, activity: pull.activity, bytes: pull.bytes))
      }
    }
    return shares
  }

  /// Whether there is room for an activity of so many bytes, in place of an older state of it.
  private func hasRoom(for bytes: UInt64, of wanted: RetainedOrigin) -> Bool {
    let others = shares.filter { $0.activity != wanted.identifier }
    let own = others.filter { $0.device == wanted.device }
    func fits(_ shares: [Share], _ limit: Int) -> Bool {
      let used = shares.reduce(0) { $0 + $1.bytes }
      return used <= UInt64(limit) && bytes <= UInt64(limit) - used
    }
    return own.count < Limits.retainedOffers && others.count < Limits.allRetainedOffers
      && fits(own, Limits.retainedBytes) && fits(others, Limits.allRetainedBytes)
  }

  private var receiver: Receiver {
    Receiver(
      id: agent.app.identity.id, deviceName: "", appName: agent.app.identity.name, bundleIdentifier: Receiver.agent)
  }

  func isPulling(_ id: Identifier) -> Bool { pulls.contains { $0.id == id } }

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
  /// - Returns: false if nothing is fetched under that name.
  func refused(_ id: Identifier, _ error: SegueError, _ now: Instant) -> Bool {
    guard isPulling(id) else { return false }
    end(fetches.cancel(id, error), isReported: false, now)
    return true
  }

  private func end(_ fetch: StateFetch?, isReported: Bool = true, _ now: Instant) {
    guard let fetch, let index = pulls.firstIndex(where: { $0.id == fetch.id }) else { return }
    if let error = fetch.error { return fail(fetch.id, error, isReported: isReported, now) }
    let pull = pulls[index]
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
      pulls[index].isStale = fetch.isStale
      collect(record, at: index, now)
    } catch {
      fail(fetch.id, error, now)
    }
  }

  private func collect(_ record: KeptRecord, at index: Int, _ now: Instant) {
    let pull = pulls[index]
    let size = UInt64(record.document.count)
    var (bytes, room): (UInt64, UInt64) = (0, UInt64(Limits.storedAttachments))
    let wanted = record.attachments.filter { attachment in
      guard attachment.size <= room else {
        pulls[index].problem = Self.isTooLarge
        return false
      }
      guard hasRoom(for: size + bytes + attachment.size, of: pull.origin) else {
        pulls[index].problem = Self.isFull
        return false
      }
      (room, bytes) = (room - attachment.size, bytes + attachment.size)
      return true
    }
    // Nothing is fetched and written that is there.
    if copies.contains(where: { $0.record.isSame(as: record, attachmentBytes: bytes) }) {
      return finish(pull.id, hasChanged: false, now)
    }
    guard hasRoom(for: size, of: pull.origin) else { return fail(pull.id, Self.isFull, now) }
    pulls[index].bytes = size + bytes
    guard !wanted.isEmpty else { return store(record.keeping([]), at: index, now) }
    pulls[index].phase = .collecting(record, count: wanted.count)
    agent.owner.collect(wanted, of: pull.id, for: nil)
  }

  /// As many attachments as could be fetched are here.
  /// - Returns: false if they are of something else.
  func collected(_ id: Identifier, _ found: [Attachment], _ now: Instant) -> Bool {
    guard let index = pulls.firstIndex(where: { $0.id == id }) else { return false }
    guard case .collecting(let record, let count) = pulls[index].phase else { return true }
    if found.count < count {
      // An older state that is whole is worth more than a new one in part, if the origin has gone in between.
      guard linked.contains(pulls[index].origin.device) else {
        fail(id, SegueError(.connectionUnavailable, "the origin has gone before all was here"), now)
        return true
      }
      pulls[index].problem = Self.isIncomplete
    }
    store(record.keeping(found), at: index, now)
    return true
  }

  /// The origin of a pull whose attachments are fetched.
  func source(of id: Identifier) -> ContinuedFrom? {
    guard let pull = pulls.first(where: { $0.id == id }), case .collecting = pull.phase else { return nil }
    return ContinuedFrom(continuation: id, offer: pull.offer, isStale: pull.isStale, documentURL: nil)
  }

  private func store(_ record: KeptRecord, at index: Int, _ now: Instant) {
    pulls[index].phase = .storing(record)
    writes.keep(record, now)
  }

  /// The disk has stored a copy, or forgotten one.
  /// - Returns: false if that was not asked of it here.
  func stored(_ activity: Identifier, _ error: SegueError?, _ now: Instant) -> Bool {
    guard writes.isAsking(activity) else { return false }
    guard let write = writes.finish(error, now), let record = write.record else { return true }
    let pull = pulls.first { pull in
      if case .storing = pull.phase { return pull.activity == activity }
      return false
    }
    guard let pull else {
      // It was dropped meanwhile.
      if error == nil { writes.forget(activity, now) }
      return true
    }
    if let error {
      fail(pull.id, error, now)
    } else {
      let index = copies.firstIndex { $0.record.activity == activity }
      let hasChanged = index.map { !copies[$0].record.isSame(as: record, attachmentBytes: record.attachmentBytes) }
      let copy = copy(of: record, now)
      if let index { replace(at: index, by: copy, now) } else { copies.append(copy) }
      agent.log(.info, "retains \(record.description.type) of \(pull.offer.deviceName)", now)
      finish(pull.id, hasChanged: hasChanged ?? true, now)
    }
    return true
  }

  private func copy(of record: KeptRecord, _ now: Instant) -> KeptOffer {
    var copy = KeptOffer(
      record: record.withoutContent, principal: nil, isLeftHere: false, since: now.uptime,
      endsAt: now.uptime + Int64(Limits.retainedLife * 1_000), isStored: true)
    _ = copy.look(now)
    return copy
  }

  private func replace(at index: Int, by copy: KeptOffer, _ now: Instant) {
    if let offer = copies[index].offer { end(offer, now) }
    unsettled.removeAll { $0.activity == copy.record.activity }
    copies[index] = copy
  }

  /// The activity is here, and the disk has it.
  private func finish(_ id: Identifier, hasChanged: Bool, _ now: Instant) {
    guard let index = pulls.firstIndex(where: { $0.id == id }) else { return }
    let pull = pulls.remove(at: index)
    if let copy = copies.firstIndex(where: { $0.record.activity == pull.activity }) {
      copies[copy].endsAt = now.uptime + Int64(Limits.retainedLife * 1_000)
    }
    let receipt = SegueError(.remoteApplicationTimedOut, "retained at \(name ?? hub.deviceName)")
    outcomes.report(
      pull.continuation, .unknown, receipt, by: now.uptime + agent.limits.continuation, receiver: receiver, now)
    update(pull) { $0.fetched(hasChanged: hasChanged, now) }
    setProblem(pull.problem, of: pull.origin.device)
    review(now)
  }

  private func fail(_ id: Identifier, _ error: SegueError, isReported: Bool = true, _ now: Instant) {
    _ = fetches.cancel(id, error)
    guard let index = pulls.firstIndex(where: { $0.id == id }) else { return }
    let pull = pulls.remove(at: index)
    if case .collecting = pull.phase { agent.owner.stopCollecting(id) }
    if isReported {
      outcomes.report(
        pull.continuation, .failed, error, by: now.uptime + agent.limits.continuation, receiver: receiver, now)
    }
    update(pull) { $0.failed(now) }
    if error.status == .limitExceeded || error.status == .system { setProblem(error, of: pull.origin.device) }
    agent.app.log(.info, "\(pull.offer.description.type) of \(pull.offer.deviceName) is not retained: \(error.message)")
  }

  private func update(_ pull: RetainedPull, _ body: (inout WantedOffer) -> Void) {
    guard let wish = wishes.firstIndex(where: { $0.device == pull.origin.device }),
      let index = wishes[wish].offers.firstIndex(where: { $0.origin.activity == pull.origin.activity }),
      // It may have changed while it was fetched.
      wishes[wish].offers[index].origin.revision == pull.origin.revision
    else { return }
    body(&wishes[wish].offers[index])
  }

  private func setProblem(_ error: SegueError?, of device: Identifier) {
    guard let index = wishes.firstIndex(where: { $0.device == device }) else { return }
    wishes[index].problem = error ?? (wishes[index].isTooLong ? Self.tooMany : nil)
    agent.owner.noteRetention()
  }

  // MARK: Offering

  /// The disk has said what was retained before a restart.
  func loaded(_ records: [KeptRecord], _ now: Instant) {
    isLoaded = true
    for record in records where !copies.contains(where: { $0.record.activity == record.activity }) {
      writes.found(record.activity)
      // Its age does not count: the date may have been set.
      copies.append(copy(of: record, now))
    }
    dropStrangers(now)
    for wish in wishes { dropUnwanted(of: wish.device, now) }
    review(now)
    agent.owner.noteRetention()
  }

  private func reviewCopies(_ now: Instant) {
    looksAt = nil
    var index = 0
    while index < copies.count {
      let isAway = copies[index].record.retained.map { !linked.contains($0.device) } ?? false
      // A copy that was continued is not fetched again, and its device still wants it.
      if !isAway { copies[index].endsAt = now.uptime + Int64(Limits.retainedLife * 1_000) }
      if copies[index].expiresAt <= now.uptime {
        remove(at: index, now)
        continue
      }
      if !isAway || copies[index].record.receipt != nil {
        retire(at: index, now)
      } else if isSettled, knowsDevices, copies[index].offer?.isWithdrawn ?? true, joinsAt == nil {
        // Its origin was here in between.
        if let former = copies[index].offer.take() { end(former, now) }
        offer(at: index, now)
      }
      index += 1
    }
  }

  /// Offers it no longer. Whoever continues it just now, or has, still gets all of it.
  private func retire(at index: Int, _ now: Instant) {
    guard let offer = copies[index].offer else { return }
    guard offer.isAttempted || copies[index].servesUntil > now.uptime else {
      copies[index].offer = nil
      return end(offer, now)
    }
    if copies[index].servesUntil <= now.uptime { copies[index].servesUntil = now.uptime + agent.limits.continuation }
    guard !offer.isWithdrawn else { return }
    offer.noteWithdrawn()
    agent.owner.withdraw(offer)
  }

  private func offer(at index: Int, _ now: Instant) {
    if let at = copies[index].look(now) { return looksAt = earlier(looksAt, at) }
    guard let secret = agent.owner.drawIdentifier() else { return }
    do throws(SegueError) {
      let record = copies[index].record
      let offer = try KeptParticipant(record, secret: secret, since: copies[index].since, agent, now)
      copies[index].offer = offer
      agent.log(.info, "offers \(record.description.type), which is retained for another device", now)
      agent.owner.join(offer)
    } catch {
      agent.log(.error, "retained offers: \(error.message)", now)
      remove(at: index, now)
    }
  }

  func notJoined(_ offer: KeptParticipant, _ now: Instant) {
    guard let index = copies.firstIndex(where: { $0.offer === offer }) else { return }
    copies[index].offer = nil
    joinsAt = now.uptime + KeptOffers.joinPause
  }

  private func end(_ offer: KeptParticipant, _ now: Instant) {
    offer.end(now)
    agent.owner.leave(offer)
  }

  /// A receiver has continued it, or has tried to. What is restored is over, once: the disk gets the receipt.
  func ended(_ receipt: Receipt, of offer: KeptParticipant, _ now: Instant) {
    guard let index = copies.firstIndex(where: { $0.offer === offer }) else { return }
    copies[index].servesUntil = now.uptime + Self.servingTime
    if receipt.outcome == .restored {
      copies[index].record.receipt = receipt
      settle(copies[index].record.activity, copies[index].record.retained?.revision ?? 0, receipt)
      agent.owner.noteRetention()
    }
    review(now)
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

  // MARK: Life cycle

  func flush() { writes.flush() }

  func connected(_ now: Instant) {
    fetches.connected(now)
    settlesAt = hub.agent == nil ? nil : now.uptime + KeptOffers.settlingTime
  }

  func disconnected(_ now: Instant) {
    fetches.disconnected(now)
    (isSettled, settlesAt) = (false, nil)
  }

  func tick(_ now: Instant) {
    while let fetch = fetches.tick(now) { end(fetch, now) }
    while let pull = pulls.first(where: { pull in
      if case .collecting = pull.phase { return pull.deadline <= now.uptime }
      return false
    }) {
      fail(pull.id, SegueError(.remoteApplicationTimedOut, "not fetched within its time"), now)
    }
    writes.tick(now)
    if let at = settlesAgainAt, at <= now.uptime {
      settlesAgainAt = nil
      for each in unsettled { agent.owner.perform(.settle(each.activity, revision: each.revision, each.receipt)) }
    }
    if let at = settlesAt, at <= now.uptime { (isSettled, settlesAt) = (true, nil) }
    if let at = joinsAt, at <= now.uptime { joinsAt = nil }
    review(now)
  }

  var nextDeadline: Int64? {
    var next = earlier(fetches.nextDeadline, writes.nextDeadline)
    next = earlier(next, settlesAgainAt)
    for pull in pulls { if case .collecting = pull.phase { next = earlier(next, pull.deadline) } }
    for wish in wishes
    where linked.contains(wish.device) && !pulls.contains(where: { $0.origin.device == wish.device }) {
      for offer in wish.offers where mayBePulled(offer) { next = earlier(next, offer.at) }
    }
    guard !copies.isEmpty else { return next }
    next = earlier(earlier(next, settlesAt), earlier(joinsAt, looksAt))
    for copy in copies where copy.offer?.isWithdrawn ?? false && copy.servesUntil > 0 {
      next = earlier(next, copy.servesUntil)
    }
    return copies.reduce(next) { earlier($0, $1.expiresAt) }
  }

  /// Whether only the time is missing.
  private func mayBePulled(_ wanted: WantedOffer) -> Bool {
    isLoaded && pulls.count < Self.pullLimit
      && isDue(wanted, Instant(uptime: max(wanted.at, 0), date: 0))
  }

  var leak: StaticString? { pulls.isEmpty ? nil : "agent: it keeps a fetch of what it retains" }

  var brokenInvariant: StaticString? {
    if copies.count > Limits.allRetainedOffers { return "R14.5: it retains too many offers" }
    for copy in copies {
      if copy.record.retained == nil { return "R14.5: it retains what no device wants" }
      if copy.record.description.isPrivate { return "R14.5: it retains a private activity" }
      if knowsDevices, let device = copy.record.retained?.device, !devices.contains(device) {
        return "R14.5: it retains an offer of a device that is not in the account"
      }
    }
    return nil
  }
}

extension KeptRecord {
  /// Whether the other one, with so many bytes of attachments, has nothing new.
  fileprivate func isSame(as other: KeptRecord, attachmentBytes bytes: UInt64) -> Bool {
    activity == other.activity && document == other.document && retained?.revision == other.retained?.revision
      && attachmentBytes == bytes
  }
}
