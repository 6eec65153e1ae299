// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The activities that apps have left with the agent (R2.5): stored first, and offered while the app of each is not
/// open. An offer ends when it expires, the app makes another activity current or takes this one back, or the user
/// withdraws it.
final class KeptOffers: AppFeature {
  /// Milliseconds for the apps of a former hub to register with the agent's, before they count as ended.
  static let settlingTime = InboxDeliveries.reconnectTime
  /// Milliseconds until an offer that could not be connected to the hub is tried again.
  static let joinPause: Int64 = 5_000

  let agent: AgentContext
  private let hub: HubConnection
  let seen: SeenOffers
  let deliveries: InboxDeliveries
  private let copies: KeptCopies
  private let writes: KeptWrites
  private var incoming: IncomingSnapshots
  var load = KeptLoad()
  /// The oldest first.
  private(set) var kept: [KeptOffer] = []
  /// Whether it is known which apps are open, and the uptime at which it will be: not while an app carries the hub.
  private var isSettled = false
  private var settlesAt: Int64?
  /// The uptime at which the next one may expire.
  private var expiresAt: Int64?
  /// The uptime at which to look again at those that their date hides.
  private var looksAt: Int64?
  /// The uptime at which what could not be connected to the hub is tried again.
  private var joinsAt: Int64?

  init(_ agent: AgentContext, _ hub: HubConnection, _ seen: SeenOffers, _ deliveries: InboxDeliveries) {
    self.agent = agent
    self.hub = hub
    self.seen = seen
    self.deliveries = deliveries
    copies = KeptCopies(agent)
    writes = KeptWrites(agent)
    incoming = IncomingSnapshots(agent, hub)
  }

  // MARK: From apps

  /// An app leaves an activity, or takes it back (channel 0).
  func receive(
    _ activity: Identifier, by app: Identifier, channel: FramedConnection.Channel, size: UInt64, _ now: Instant
  ) throws(SegueError) {
    guard let link = hub.link else { return }
    if channel != 0 { try link.accept(channel) }
    incoming.drop(of: app)
    guard channel != 0 else { return takeBack(activity, by: app, now) }
    guard let (identity, principal) = deliveries.app(app), let size = Int(exactly: size),
      size <= ActivityDocument.limit, load.hasRoom(for: principal, size)
    else { return link.reset(channel) }
    incoming.append(
      IncomingSnapshot(
        channel: channel, activity: activity, app: identity, principal: principal, size: size,
        deadline: now.uptime + agent.limits.continuation))
  }

  func received(_ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel, _ now: Instant) {
    incoming.received(bytes, on: channel, besides: load.size, now)
  }

  /// The app has handed over the file of an attachment of what it leaves. One that has no room is not kept.
  func receiveAttachment(
    _ name: String, changed: UInt64, of channel: FramedConnection.Channel, _ descriptor: PassedDescriptor?
  ) {
    guard let descriptor, !descriptor.isLost, let principal = incoming.principal(of: channel),
      hasRoomForFile(of: principal)
    else { return }
    incoming.append(
      Attachment(name: name, size: 0, source: HandedAttachment(descriptor, changed: changed)), of: channel)
  }

  private func hasRoomForFile(of principal: Identifier) -> Bool {
    func count(of principal: Identifier?) -> Int {
      copies.fileCount(of: principal) + load.fileCount(of: principal) + incoming.fileCount(of: principal)
    }
    return count(of: nil) < KeptCopies.fileLimit && count(of: principal) < KeptCopies.fileLimit / Principal.share
  }

  func receivedEnd(of channel: FramedConnection.Channel, _ now: Instant) {
    guard let arrival = incoming.receivedEnd(of: channel) else { return }
    do throws(SegueError) {
      let record = try KeptRecord(arrival.activity, of: arrival.app, document: arrival.document, keptAt: now.date)
      keep(KeptCopies.choose(arrival.files, for: record), principal: arrival.principal, now)
    } catch {
      agent.log(.error, "\(arrival.app.name) leaves an activity that cannot be read: \(error.message)", now)
    }
  }

  func receivedReset(of channel: FramedConnection.Channel) { incoming.receivedReset(of: channel) }

  /// In place of what the same app has left before.
  private func keep(_ record: KeptRecord, principal: Identifier, _ now: Instant) {
    guard load.isDone else {
      // Others of its process may have come since this one was announced.
      if load.hasRoom(for: principal, record.document.count) { load.add(.left(record, principal: principal)) }
      return
    }
    // An app cannot replace an activity that another app has left or offers.
    if isOthers(record) || index(of: record.activity).map({ kept[$0].record.app.id != record.app.id }) ?? false {
      return agent.log(.error, "\(record.app.name) leaves an activity of another app", now)
    }
    var former: [KeptOffer] = []
    while let index = kept.firstIndex(where: { $0.record.app.id == record.app.id }) {
      // The store replaces an older state of the same activity.
      let isSame = kept[index].record.activity == record.activity
      if isSame { former = kept[index].isStored ? [kept[index]] : kept[index].former }
      remove(at: index, fromDisk: !isSame, now)
    }
    append(record, principal, isStored: false, now)
    kept[kept.count - 1].former = former
    if !record.hasContent || !copies.begin(record, principal: principal, now) { write(record.keeping([]), now) }
    makeRoom(inShareOf: principal, now)
    makeRoom(now)
  }

  /// As many attachments as could be copied of what an app has left are here.
  /// - Returns: false if they are none of these.
  func collected(_ id: Identifier, _ found: [Attachment], _ now: Instant) -> Bool {
    guard let record = copies.end(id, found) else { return false }
    write(record, now)
    return true
  }

  /// The disk gets it, with its attachments.
  private func write(_ record: KeptRecord, _ now: Instant) {
    let (all, kept) = (record.attachments.count, record.fileCount)
    if kept < all {
      agent.log(.error, "of what \(record.app.name) leaves \(all - kept) of \(all) attachments are not kept", now)
    }
    writes.keep(record, now)
  }

  /// The oldest make room for new ones.
  private func makeRoom(_ now: Instant) {
    while kept.count > Limits.keptOffers || isTooMuch(1, of: { _ in true }) { makeRoom(at: 0, now) }
    setExpiry()
  }

  /// The activities that a process leaves, under whatever names, take at most a quarter, or are one document: the
  /// oldest of them make room.
  private func makeRoom(inShareOf principal: Identifier, _ now: Instant) {
    while true {
      let own = kept.indices.filter { kept[$0].principal == principal }
      guard own.count > 1,
        own.count > Limits.keptOffers / Principal.share || isTooMuch(Principal.share, of: { $0.principal == principal })
      else { return }
      makeRoom(at: own[0], now)
    }
  }

  private func makeRoom(at index: Int, _ now: Instant) {
    agent.log(.info, "what \(kept[index].record.app.name) has left makes room for newer offers", now)
    remove(at: index, now)
  }

  /// Whether the documents of some, or their attachments, have more bytes than a share of what is kept.
  private func isTooMuch(_ share: Int, of isCounted: (KeptOffer) -> Bool) -> Bool {
    let counted = kept.filter(isCounted)
    return counted.reduce(0) { $0 + $1.documentBytes } > Limits.keptBytes / share
      || counted.reduce(0) { $0 + $1.record.attachmentBytes } > UInt64(Limits.keptAttachments / share)
  }

  private func takeBack(_ activity: Identifier, by app: Identifier, _ now: Instant) {
    guard load.isDone else {
      if let principal = deliveries.app(app)?.principal, load.hasRoom(for: principal) {
        load.add(.takenBack(activity, by: app, principal: principal))
      }
      return
    }
    if let index = index(of: activity), kept[index].record.app.id == app { remove(at: index, now) }
  }

  private func append(_ record: KeptRecord, _ principal: Identifier?, isStored: Bool, _ now: Instant) {
    let life = Limits.keptOfferLife * 1000
    let age = (now.date - record.keptAt) * 1000
    let since = now.uptime - (age > 0 ? Int64(min(age, life)) : 0)
    var new = KeptOffer(
      record: record.withoutContent, principal: principal, isLeftHere: principal != nil, since: since,
      endsAt: since + Int64(life), isStored: isStored)
    _ = new.look(now)
    kept.append(new)
  }

  // MARK: The disk

  /// The disk has said what was kept before a restart, or refuses.
  func loaded(_ result: Result<[KeptRecord], SegueError>, _ now: Instant) {
    do throws(SegueError) {
      for record in try result.get() where index(of: record.activity) == nil {
        append(record, nil, isStored: true, now)
        writes.found(record.activity)
      }
    } catch {
      let isAskedAgain = load.refused(error, now)
      agent.log(.error, "\(isAskedAgain ? "kept offers" : "no kept offers"): \(error.message)", now)
      if isAskedAgain { return }
    }
    makeRoom(now)
    for each in load.end() {
      switch each {
      case .left(let record, let principal): keep(record, principal: principal, now)
      case .takenBack(let activity, let app, _): takeBack(activity, by: app, now)
      case .madeCurrent(let app, let at, _): supersede(by: app, at: at, now)
      }
    }
    review(now)
  }

  /// The disk has done what it was asked for, or refuses.
  func stored(_ error: SegueError?, _ now: Instant) {
    guard let write = writes.finish(error, now) else { return }
    for requester in write.requesters { agent.owner.withdrawn(requester, error) }
    guard let index = index(of: write.activity) else { return }
    // A state of the activity that was left meanwhile has an answer of its own.
    guard !writes.isKeeping(write.activity), !copies.contains(write.activity) else {
      if error == nil { kept[index].former = write.record.map { [kept[index].stored($0, now)] } ?? [] }
      return
    }
    let name = kept[index].record.app.name
    switch (write.record, error) {
    case (nil, nil): remove(at: index, fromDisk: false, now)
    case (nil, _): review(now)
    case (let record?, nil):
      (kept[index].record, kept[index].isStored, kept[index].former) = (record.withoutContent, true, [])
      agent.log(.info, "keeps what \(name) has left", now)
      review(now)
    case (_, let error?):
      agent.log(.error, "what \(name) has left is not kept: \(error.message)", now)
      guard let former = kept[index].former.first else { return remove(at: index, now) }
      putBack(former, at: index, now)
    }
  }

  /// An older state that the disk has is better than none.
  private func putBack(_ former: KeptOffer, at index: Int, _ now: Instant) {
    agent.log(.info, "what \(former.record.app.name) had left before stays", now)
    kept[index] = former
    kept[index].offer = nil
    if let principal = former.principal { makeRoom(inShareOf: principal, now) }
    makeRoom(now)
    review(now)
  }

  /// The user withdraws it: over once the disk has it, or the next agent would offer it again.
  /// - Parameter number: the requester's, for `AgentOwner.withdrawn`.
  func withdraw(_ activity: Identifier, for number: UInt64, _ now: Instant) {
    guard load.isDone else {
      return agent.owner.withdrawn(number, SegueError(.busy, "withdraw: the disk has not said yet what is kept"))
    }
    // An app that is open offers it itself, and would leave it again.
    guard let index = index(of: activity),
      !deliveries.identities.contains(where: { $0.id == kept[index].record.app.id })
    else {
      return agent.owner.withdrawn(number, SegueError(.notFound, "activity: the agent keeps no offer of it"))
    }
    // Drops a copy in progress: nothing of it is stored.
    if copies.contains(activity) { remove(at: index, fromDisk: false, now) }
    writes.forget(activity, for: number, now)
  }

  /// The agent ends: what waits for the disk is handed over.
  func flush() {
    writes.flush()
    for record in copies.flush() { agent.owner.perform(.keep(record)) }
  }

  /// - Parameter fromDisk: whether the disk has it, and is to forget it.
  func remove(at index: Int, fromDisk: Bool = true, _ now: Instant) {
    let gone = kept.remove(at: index)
    if let offer = gone.offer { end(offer, now) }
    copies.stop(gone.record.activity)
    if fromDisk { writes.forget(gone.record.activity, now) }
    setExpiry()
  }

  // MARK: Offering

  /// Offers what is left of apps that have ended, and ends what is over.
  func review(_ now: Instant) {
    looksAt = nil
    guard !kept.isEmpty else { return }
    let open = deliveries.identities
    var index = 0
    while index < kept.count {
      let record = kept[index].record
      if kept[index].expiresAt <= now.uptime {
        agent.log(.info, "what \(record.app.name) has left has expired", now)
        remove(at: index, now)
        continue
      }
      if kept[index].isLeftHere, isOthers(record) {
        agent.log(.error, "\(record.app.name) has left an activity of another app", now)
        remove(at: index, now)
        continue
      }
      if open.contains(where: { $0.id == record.app.id }) {
        // The app itself offers it, or not.
        if let offer = kept[index].offer.take() { end(offer, now) }
      } else if isSuperseded(kept[index], by: open) {
        // An app that has left it and may still register leaves it again.
        remove(at: index, now)
        continue
      } else if isSettled, kept[index].offer == nil, kept[index].isStored, joinsAt == nil, !isOthers(record) {
        // An activity that was left at another hub waits while another app offers it, which may have come later.
        offer(at: index, now)
      }
      index += 1
    }
    setExpiry()
  }

  private func offer(at index: Int, _ now: Instant) {
    // Nobody is to see what goes at once; if the disk refuses that, its answer leads here again.
    if writes.isForgetting(kept[index].record.activity) { return }
    if let at = kept[index].look(now) { return looksAt = earlier(looksAt, at) }
    guard let secret = agent.owner.drawIdentifier() else {
      return agent.log(.error, "keep offering: no random bytes", now)
    }
    do throws(SegueError) {
      let record = kept[index].record
      let offer = try KeptParticipant(record, secret: secret, since: kept[index].since, agent, now)
      kept[index].offer = offer
      agent.log(.info, "offers what \(record.app.name) has left", now)
      agent.owner.join(offer)
    } catch {
      agent.log(.error, "keep offering: \(error.message)", now)
    }
  }

  /// The system has refused to connect an offer to the hub.
  func notJoined(_ offer: KeptParticipant, _ now: Instant) {
    guard let index = kept.firstIndex(where: { $0.offer === offer }) else { return }
    kept[index].offer = nil
    joinsAt = now.uptime + Self.joinPause
  }

  private func end(_ offer: KeptParticipant, _ now: Instant) {
    offer.end(now)
    agent.owner.leave(offer)
  }

  // MARK: Life cycle

  func connected(_ now: Instant) {
    // The hub of an app does not say who is open.
    settlesAt = hub.agent == nil ? nil : now.uptime + Self.settlingTime
  }

  func disconnected(_ now: Instant) {
    (isSettled, settlesAt) = (false, nil)
    incoming.removeAll()
    for index in kept.indices { kept[index].isLeftHere = false }
  }

  func tick(_ now: Instant) {
    incoming.dropOverdue(now)
    copies.tick(now)
    writes.tick(now)
    if load.isDue(now) { agent.owner.perform(.loadKept) }
    var isDue = expiresAt.map { $0 <= now.uptime } ?? false
    if let at = settlesAt, at <= now.uptime { (isSettled, settlesAt, isDue) = (true, nil, true) }
    if let at = joinsAt, at <= now.uptime { (joinsAt, isDue) = (nil, true) }
    if let at = looksAt, at <= now.uptime { isDue = true }
    if isDue { review(now) }
  }

  private func setExpiry() {
    expiresAt = kept.reduce(nil) { earlier($0, $1.expiresAt) }
  }

  /// Nothing is due while nothing is kept: an idle agent causes no wake-ups.
  var nextDeadline: Int64? {
    let stored = earlier(copies.nextDeadline, writes.nextDeadline)
    let arrives = earlier(earlier(stored, load.asksAt), incoming.nextDeadline)
    guard !kept.isEmpty else { return arrives }
    return earlier(earlier(arrives, earlier(joinsAt, looksAt)), earlier(settlesAt, expiresAt))
  }

  var brokenInvariant: StaticString? {
    for each in kept where each.offer != nil && !each.isStored { return "R2.5: it offers what is not on the disk" }
    if !copies.areAll(of: kept.filter { !$0.isStored }.map { $0.record.activity }) {
      return "R2.5: it copies attachments of what it does not keep"
    }
    return kept.count > Limits.keptOffers ? "R2.5: it keeps too many offers" : nil
  }

  private func index(of activity: Identifier) -> Int? { kept.firstIndex { $0.record.activity == activity } }
}
