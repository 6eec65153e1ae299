// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The offers and pushes that this agent keeps for other devices of the account (R14.5): towards each origin a
/// receiver, whose receipt is *unknown*; and an origin for the others, while the first one is away. What is retained is
/// on the disk first, with the kept offers (R2.5).
final class RetainedOffers: AppFeature {
  /// Offers that are fetched at a time, one of each device.
  static let pullLimit = 4

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
  private let seen: SeenOffers
  private let copies: RetainedCopies
  private let pulls: RetainedPulls
  let pushes: RetainedPushes
  private var devices: [Identifier] = []
  private var linked: [Identifier] = []
  /// Nil until the owner has said which devices there are: nothing is dropped before.
  private var knowsDevices = false
  private var wishes: [Wish] = []

  init(_ agent: AgentContext, _ hub: HubConnection, _ seen: SeenOffers, _ outcomes: PendingOutcomes) {
    self.agent = agent
    self.seen = seen
    copies = RetainedCopies(agent, hub)
    pulls = RetainedPulls(agent, hub, outcomes, copies)
    pushes = RetainedPushes(agent, seen, copies, pulls)
  }

  // MARK: For the owner

  var records: [KeptRecord] { copies.list.map { $0.record } }

  func origin(of activity: Identifier) -> RetainedOrigin? {
    copies.index(of: activity).flatMap { copies.list[$0].record.retained }
  }

  func problem(of device: Identifier) -> SegueError? {
    copies.problem ?? wishes.first { $0.device == device }?.problem
  }
  /// Why nothing is retained; nil: it is.
  var problem: SegueError? { copies.problem }

  /// A device says all that it wants to have retained.
  func want(_ wanted: [RetainedOrigin], for device: Identifier, _ now: Instant) {
    guard devices.contains(device) else { return }
    var offers: [WantedOffer] = []
    let known = wishes.first { $0.device == device }?.offers ?? []
    for origin in wanted.prefix(Limits.retainedOffers) where origin.device == device && origin.push == nil {
      guard !offers.contains(where: { $0.origin.activity == origin.activity }) else { continue }
      var offer = known.first { $0.origin.activity == origin.activity } ?? WantedOffer(origin, at: now.uptime)
      offer.take(origin, now)
      offers.append(offer)
    }
    wishes.removeAll { $0.device == device }
    let isTooLong = wanted.count > Limits.retainedOffers
    wishes.append(
      Wish(
        device: device, offers: offers, isTooLong: isTooLong, problem: isTooLong ? RetainedRoom.tooMany() : nil))
    // An offer that it no longer wants is over, also while it is loaded: `loaded` looks again.
    dropUnwanted(of: device, now)
    review(now)
    agent.owner.noteRetention()
  }

  func setDevices(_ devices: [Identifier], linked: [Identifier], name: String?, _ now: Instant) {
    pulls.name = name
    (self.devices, self.linked, knowsDevices) = (devices, linked, true)
    wishes.removeAll { !devices.contains($0.device) }
    dropStrangers(now)
    review(now)
  }

  /// A device that is in the account no longer has nothing here, and gets nothing.
  private func dropStrangers(_ now: Instant) {
    guard knowsDevices else { return }
    func isOver(_ origin: RetainedOrigin) -> Bool {
      !devices.contains(origin.device) || origin.push.map { !devices.contains($0.target) } ?? false
    }
    pulls.stop(SegueError(.notAllowed, "its device was removed from the account"), now, where: isOver)
    copies.remove(now, where: isOver)
  }

  private func dropUnwanted(of device: Identifier, _ now: Instant) {
    guard let wish = wishes.first(where: { $0.device == device }) else { return }
    func isUnwanted(_ origin: RetainedOrigin) -> Bool {
      let isWanted = wish.offers.contains { $0.origin.activity == origin.activity }
      return origin.device == device && origin.push == nil && !isWanted
    }
    let error = SegueError(.userCancelled, "its device does not want it retained any longer")
    pulls.stop(error, now, where: isUnwanted)
    copies.remove(now, where: isUnwanted)
  }

  // MARK: Pushes

  /// See `RetainedPushes`.
  func keep(_ push: RetainedOrigin, _ now: Instant) {
    guard let found = push.push else { return }
    guard devices.contains(push.device), devices.contains(found.target) else {
      return agent.owner.pushKept(found.id, SegueError(.notFound, "push: the account has no such device"))
    }
    pushes.keep(push, now)
    review(now)
  }

  func drop(_ pushes: [Identifier], of device: Identifier, _ now: Instant) {
    self.pushes.drop(pushes, of: device, now)
    review(now)
  }

  func answered(_ activity: Identifier, _ error: SegueError?, _ now: Instant) {
    pushes.answered(activity, error, now)
    review(now)
  }

  // MARK: Fetching

  /// Fetches what is wanted, and offers what is retained for devices that are away.
  func review(_ now: Instant) {
    takeEnded(now)
    beginPulls(now)
    reviewCopies(now)
    pushes.review(linked, isKnown: knowsDevices, now)
    // The disk may have refused at once.
    takeEnded(now)
  }

  private func takeEnded(_ now: Instant) {
    while let pull = pulls.takeEnded() {
      if pull.origin.push == nil { ended(pull, now) } else { pushes.ended(pull, now) }
    }
  }

  private func ended(_ pull: RetainedPull, _ now: Instant) {
    switch pull.end {
    case .success(let hasChanged):
      if let index = copies.index(of: pull.activity) { copies.renew(at: index, now) }
      update(pull) { $0.fetched(hasChanged: hasChanged, now) }
      setProblem(pull.problem, of: pull.origin.device)
    case .failure(let error):
      update(pull) { $0.failed(now) }
      if error.status == .limitExceeded || error.status == .system { setProblem(error, of: pull.origin.device) }
    case nil: break
    }
  }

  private func beginPulls(_ now: Instant) {
    guard copies.isLoaded else { return }
    for wish in wishes.indices where linked.contains(wishes[wish].device) {
      guard hasTurn(wishes[wish].device) else { continue }
      let next = wishes[wish].offers.indices.filter { isDue(wishes[wish].offers[$0], now) }
        .min { wishes[wish].offers[$0].at < wishes[wish].offers[$1].at }
      if let next { beginPull(wish, next, now) }
    }
  }

  /// Whether another offer of a device may be fetched now.
  private func hasTurn(_ device: Identifier) -> Bool {
    let offers = pulls.list.filter { $0.origin.push == nil }
    return offers.count < Self.pullLimit && !offers.contains { $0.origin.device == device }
  }

  private func isDue(_ wanted: WantedOffer, _ now: Instant) -> Bool {
    let id = wanted.origin.identifier
    guard wanted.at <= now.uptime, seen.list[id] != nil, agent.origins.device(of: id) == wanted.origin.device else {
      return false
    }
    // An activity that was continued is not offered again before it has changed.
    let record = copies.index(of: id).map { copies.list[$0].record }
    return record?.receipt == nil || record?.retained?.revision != wanted.origin.revision
  }

  private func beginPull(_ wish: Int, _ index: Int, _ now: Instant) {
    let wanted = wishes[wish].offers[index].origin
    guard let offer = seen.list[wanted.identifier], let id = agent.owner.drawIdentifier() else {
      return wishes[wish].offers[index].failed(now)
    }
    guard pulls.room.has(offer.description.sizeHint, for: wanted) else {
      wishes[wish].problem = RetainedRoom.isFull
      wishes[wish].offers[index].failed(now)
      agent.log(.error, "\(offer.deviceName): is told that this device \(RetainedRoom.isFull.message)", now)
      return agent.owner.noteRetention()
    }
    pulls.begin(id, wanted, offer, now)
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
    wishes[index].problem = error ?? (wishes[index].isTooLong ? RetainedRoom.tooMany() : nil)
    agent.owner.noteRetention()
  }

  // MARK: Messages

  func isPulling(_ id: Identifier) -> Bool { pulls.has(id) }

  func receiveState(
    _ id: Identifier, channel: FramedConnection.Channel, size: UInt64, isStale: Bool, why: String, _ now: Instant
  ) throws(SegueError) {
    try pulls.receiveState(id, channel: channel, size: size, isStale: isStale, why: why, now)
    review(now)
  }

  func received(_ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel, _ now: Instant) {
    pulls.received(bytes, on: channel, now)
    takeEnded(now)
  }

  func receivedEnd(of channel: FramedConnection.Channel, _ now: Instant) {
    pulls.receivedEnd(of: channel, now)
    review(now)
  }

  func receivedReset(of channel: FramedConnection.Channel, _ now: Instant) {
    pulls.receivedReset(of: channel, now)
    review(now)
  }

  /// No document comes.
  /// - Returns: false if nothing is fetched under that name.
  func refused(_ id: Identifier, _ error: SegueError, _ now: Instant) -> Bool {
    guard pulls.has(id) else { return false }
    pulls.refused(id, error, now)
    review(now)
    return true
  }

  /// As many attachments as could be fetched are here.
  /// - Returns: false if they are of something else.
  func collected(_ id: Identifier, _ found: [Attachment], _ now: Instant) -> Bool {
    guard pulls.collected(id, found, isOriginThere: { linked.contains($0.device) }, now) else { return false }
    review(now)
    return true
  }

  func source(of id: Identifier) -> ContinuedFrom? { pulls.source(of: id) }

  /// The disk has stored a copy, or forgotten one.
  /// - Returns: false if that was not asked of it here.
  func stored(_ activity: Identifier, _ error: SegueError?, _ now: Instant) -> Bool {
    guard pulls.stored(activity, error, now) else { return false }
    review(now)
    return true
  }

  // MARK: Offering

  /// The disk has said what was retained before a restart, or refuses.
  func loaded(_ result: Result<[KeptRecord], SegueError>, _ now: Instant) {
    copies.loaded(result, now)
    dropStrangers(now)
    for wish in wishes { dropUnwanted(of: wish.device, now) }
    review(now)
  }

  private func reviewCopies(_ now: Instant) {
    // A copy that was continued is not fetched again, and its device still wants it.
    for index in copies.list.indices {
      guard let origin = copies.list[index].record.retained, origin.push == nil else { continue }
      if linked.contains(origin.device) { copies.renew(at: index, now) }
    }
    copies.removeExpired(now)
    for index in copies.list.indices {
      let record = copies.list[index].record
      guard let origin = record.retained, origin.push == nil else { continue }
      let isAway = !linked.contains(origin.device)
      if !isAway || record.receipt != nil {
        copies.retire(at: index, now)
      } else if knowsDevices {
        copies.offer(at: index, now)
      }
    }
  }

  func notJoined(_ offer: KeptParticipant, _ now: Instant) { copies.notJoined(offer, now) }

  /// A receiver has continued it, or has tried to. What is restored is over, once: the disk gets the receipt.
  func ended(_ receipt: Receipt, of offer: KeptParticipant, _ now: Instant) {
    guard let index = copies.index(of: offer) else { return }
    copies.ended(at: index, now)
    if copies.list[index].record.retained?.push != nil {
      pushes.ended(receipt, at: index, now)
    } else if receipt.outcome == .restored {
      copies.settle(at: index, receipt)
    }
    review(now)
  }

  func settled(_ activity: Identifier, _ error: SegueError?, _ now: Instant) { copies.settled(activity, error, now) }

  // MARK: Life cycle

  func flush() { copies.writes.flush() }

  func connected(_ now: Instant) {
    pulls.connected(now)
    copies.connected(now)
  }

  func disconnected(_ now: Instant) {
    pulls.disconnected(now)
    copies.disconnected()
  }

  func tick(_ now: Instant) {
    pulls.tick(now)
    copies.tick(now)
    review(now)
  }

  var nextDeadline: Int64? {
    var next = earlier(earlier(pulls.nextDeadline, copies.nextDeadline), pushes.nextDeadline)
    for wish in wishes where linked.contains(wish.device) && hasTurn(wish.device) {
      for offer in wish.offers where mayBePulled(offer) { next = earlier(next, offer.at) }
    }
    return next
  }

  /// Whether only the time is missing.
  private func mayBePulled(_ wanted: WantedOffer) -> Bool {
    copies.isLoaded && isDue(wanted, Instant(uptime: max(wanted.at, 0), date: 0))
  }

  var leak: StaticString? { pulls.list.isEmpty ? nil : "agent: it keeps a fetch of what it retains" }

  var brokenInvariant: StaticString? {
    if let broken = copies.brokenInvariant { return broken }
    for copy in copies.list {
      if knowsDevices, let device = copy.record.retained?.device, !devices.contains(device) {
        return "R14.5: it retains an offer of a device that is not in the account"
      }
    }
    return nil
  }
}
