// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The offers of this device's apps, and their visibility (R2.6).
final class HubOffers: HubFeature {
  /// Pending bytes for a peer from which on offers to it are held back.
  static let backlog = 32 * 1024
  /// Queued offer updates per peer, in addition to twice the number of live offers, before the peer is disconnected.
  static let pendingLimit = 4_096

  let connections: HubConnections
  private let agent: AgentPresence
  /// Whether only the frontmost activity is offered (R1.12).
  private let isFrontmostOnly: Bool
  /// See `HubEngine.setPrivacy`.
  private var isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?
  /// See `HubEngine.setRetention`.
  private(set) var retention: (any OfferRetention)?
  /// The activities that apps have left with the agent, the latest last.
  private var left: [LeftActivity] = []
  let directory = OfferDirectory()
  let remoteHubs = RemoteHubs()

  init(_ connections: HubConnections, _ agent: AgentPresence, frontmostOnly: Bool) {
    self.connections = connections
    self.agent = agent
    isFrontmostOnly = frontmostOnly
  }

  deinit {
    directory.tearDown()
    remoteHubs.tearDown()
  }

  /// An activity that an app has left with the agent (R2.5). No other app of this device may offer it.
  private struct LeftActivity {
    let id: Identifier
    let app: AppIdentity
    let principal: Principal
    /// When the app had begun to offer it, by `HubOffer.sequence`.
    let since: UInt64
  }

  func put(
    _ description: OfferDescription, _ timing: OfferTiming, activation: UInt64, by peer: Peer, _ app: AppIdentity
  ) {
    // An app cannot offer an activity of another app of this device, but one that it has left with the agent (R2.5).
    if !agent.owns(peer), let owner = left.first(where: { $0.id == description.id })?.app, !owner.isSameApp(as: app) {
      return
    }
    if let taken = directory[description.id], taken.remote == nil, taken.peer !== peer {
      guard agent.owns(taken.peer), !agent.owns(peer), taken.peer.app?.isSameApp(as: app) ?? false else { return }
      taken.peer.appSession?.setOffer(nil)
    }
    let description = description.expiring(timing.expirationDate(now: now))
    let former = frontmost()
    if let offer = peer.offer, offer.description.id == description.id,
      Text.isSame(offer.description.type, description.type)
    {
      let topic = offer.topic
      let changesTopic = offer.description.isPublic != description.isPublic
      offer.update(description)
      if offer.activation != activation {
        offer.activate(activation, at: now.uptime - timing.age, sequence: directory.takeSequence())
      }
      if changesTopic {
        directory.take(offer)
        directory.enter(offer)
      }
      publish(of: offer)
      if changesTopic, let topic { publish(offer, hasLeft: topic) }
    } else {
      if let offer = peer.offer { withdraw(offer) }
      let activity = directory.activity(description.id)
      let offer = HubOffer(
        of: activity, peer: peer, description: description, activatedAt: now.uptime - timing.age,
        activation: activation, sequence: directory.takeSequence())
      peer.appSession?.setOffer(offer)
      let remote = activity.offer
      if let remote { directory.take(remote) }
      directory.enter(offer)
      // Apps that have seen the other device's offer may not see this one.
      if let remote, remote.topic !== offer.topic { publishToApps(of: remote) }
      directory.removeIfEmpty(remote?.topic)
      publish(of: offer, isFirst: remote == nil)
    }
    frontmostChanged(from: former)
  }

  /// An app leaves an activity with the agent. If the app offers the activity, or has offered it last, no other app may
  /// do so from now on, and one that has begun to meanwhile loses it: who leaves an activity may have withdrawn it
  /// before.
  /// - Returns: false if the activity is another app's: one that has left it, or has offered it before.
  func leave(_ id: Identifier, by peer: Peer, _ app: AppIdentity) -> Bool {
    let last = peer.appSession?.last
    let since = last?.id == id ? last?.since ?? .max : .max
    func isOlder(_ other: AppIdentity?, _ began: UInt64?) -> Bool {
      began.map { $0 < since } ?? false && !(other?.isSameApp(as: app) ?? true)
    }
    for other in peers.apps where other.appSession?.last?.id == id && !agent.owns(other) {
      if isOlder(other.app, other.appSession?.last?.since) { return false }
    }
    if let known = left.first(where: { $0.id == id }), isOlder(known.app, known.since) { return false }
    guard since != .max else { return true }
    takeBack(id, of: nil)
    left.append(LeftActivity(id: id, app: app, principal: peer.principal, since: since))
    left.shorten(to: Limits.keptOffers) { $0.principal == $1.principal }
    if let taken = directory[id], taken.remote == nil, !agent.owns(taken.peer),
      !(taken.peer.app?.isSameApp(as: app) ?? true)
    {
      withdraw(taken)
    }
    return true
  }

  /// - Parameter app: that takes it back; nil: any.
  func takeBack(_ id: Identifier, of app: Identifier?) {
    left.removeAll { $0.id == id && (app == nil || $0.app.id == app) }
  }

  /// An app of this device withdraws its offer.
  func withdraw(_ offer: HubOffer) {
    guard offer.peer.offer === offer else { return }
    let former = frontmost()
    offer.peer.appSession?.setOffer(nil)
    directory.take(offer)
    publish(of: offer)
    directory.removeIfEmpty(offer.topic)
    choose(offer.activity)
    frontmostChanged(from: former === offer ? nil : former)
  }

  /// The offer of this device that was activated last; only maintained if the device offers no other.
  private func frontmost() -> HubOffer? {
    guard isFrontmostOnly else { return nil }
    var frontmost: HubOffer?
    for peer in peers.apps {
      guard let offer = peer.offer else { continue }
      if let best = frontmost, best.rank > offer.rank { continue }
      frontmost = offer
    }
    return frontmost
  }

  private func frontmostChanged(from former: HubOffer?) {
    guard let present = frontmost(), present !== former else { return }
    if let former { publish(of: former) }
    publish(of: present)
  }

  /// The active offer of an activity; nil for none.
  func offer(of activity: Identifier) -> HubOffer? { directory[activity] }

  func isOffered(_ offer: HubOffer) -> Bool {
    if offer.description.expirationDate.map({ $0 <= now.date }) ?? false { return false }
    return !isFrontmostOnly || offer.remote != nil || frontmost() === offer
  }

  // MARK: Privacy

  /// Whether an offer of this device is kept off the hub at the other end (R10.2): by the activity itself off each
  /// other device, by what the user has set off those of the account.
  func isHidden(_ offer: HubOffer, from peer: Peer) -> Bool {
    if peer.isHub, let retained = retained(offer), !isFor(peer.device, retained) { return true }
    return peer.isHub && isPrivate(offer, inAccount: peer.device != nil)
  }

  /// A retained offer is for the devices of the account, and not for its origin; a push for one of them.
  private func isFor(_ device: Identifier?, _ retained: RetainedOrigin) -> Bool {
    guard let device, device != retained.device else { return false }
    return retained.push.map { $0.target == device } ?? true
  }

  /// Whether an offer of this device is kept off all others, or (`inAccount`) off those of the account.
  func isPrivate(_ offer: HubOffer, inAccount: Bool) -> Bool {
    guard let app = offer.peer.app else { return false }
    if offer.description.isPrivate { return true }
    return inAccount && isPrivate?(offer.description.type, app.bundleIdentifier) ?? false
  }

  func setPrivacy(_ isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?) {
    self.isPrivate = isPrivate
    for app in peers.apps {
      if let offer = app.offer { publishToHubs(.offer(identity.id, offer.description.id)) }
    }
  }

  // MARK: Retained offers (R14.5)

  func setRetention(_ retention: (any OfferRetention)?) { self.retention = retention }

  /// The origin of an offer that the agent of this device has retained; nil for all others.
  func retained(_ offer: HubOffer) -> RetainedOrigin? {
    guard offer.remote == nil, let retention, agent.owns(offer.peer) else { return nil }
    return retention.retained(offer.activity.id)
  }

  /// Whether an app may know of an offer at all: a retained push is the agent's, which asks the user.
  func mayKnow(_ offer: HubOffer, _ app: AppIdentity) -> Bool {
    guard let retained = offer.remote?.retained ?? retained(offer), retained.push != nil else { return true }
    return agent.isAgent(app.id)
  }

  /// The device of an offer, for people.
  private func deviceName(of offer: HubOffer, said: String) -> String {
    let mailbox = offer.remote == nil ? said : connections.deviceName(of: offer.peer, said: said)
    guard let retained = offer.remote?.retained ?? retained(offer) else { return mailbox }
    let origin = connections.name(of: retained.device) ?? "a device"
    let both = String(joining: "\(origin), retained at \(mailbox)")
    return Text.start(of: both, atMost: Limits.identifier)
  }

  // MARK: Names

  /// Tells the apps of this device what the devices are called now.
  func renameDevices() {
    for app in peers.apps { if let offer = app.offer { publishToApps(of: offer) } }
    for hub in remoteHubs.all {
      for offer in hub.offers where offer.peer.device != nil { publishToApps(of: offer) }
    }
  }

  // MARK: Apps

  /// An app has registered.
  func subscribe(_ peer: Peer, _ app: AppIdentity) {
    if app.isChooser {
      directory.subscribeToAll(peer)
      peer.pending.replace(by: offeredIdentifiers.map { .activity($0) })
    } else {
      for id in directory.subscribe(peer, app) { peer.pending.append(.activity(id)) }
    }
    peer.pending.expectReady()
    sendPending(peer)
  }

  func unsubscribe(_ peer: Peer, _ app: AppIdentity) { directory.unsubscribe(peer, app) }

  /// All known offers, of this device and of others.
  private var offeredIdentifiers: [Identifier] {
    guard !directory.isEmpty else { return [] }
    var identifiers = peers.apps.compactMap { $0.offer?.description.id }
    for remote in remoteHubs.all {
      for offer in remote.offers where offer.activity.offer === offer {
        identifiers.append(offer.description.id)
      }
    }
    return identifiers
  }

  /// An offer of an app of another device, or nil.
  /// - Parameter device: whose links lead to it; nil: links of apps do.
  func remoteOffer(of app: Identifier, _ device: Identifier?) -> HubOffer? {
    for hub in remoteHubs.all where hub.device == device {
      if let offer = hub.offers.first(where: { $0.origin == app }) { return offer }
    }
    return nil
  }

  // MARK: Publishing

  /// The current message about an activity, encoded once for all apps that get it.
  struct SharedUpdate {
    let id: Identifier
    /// Nil if it is not offered.
    let offer: HubOffer?
    /// Whether it is sent to those alone that see the offer; otherwise some have seen another one of the activity.
    let isForSubscribers: Bool
    var encoding: [UInt8]?
  }

  /// - Parameter topic: whose subscribers get it; nil: any app.
  private func sharedUpdate(of id: Identifier, _ offer: HubOffer?, to topic: Topic? = nil) -> SharedUpdate {
    SharedUpdate(
      id: id, offer: offer.flatMap { isOffered($0) ? $0 : nil },
      isForSubscribers: topic != nil && offer?.topic === topic)
  }

  /// Publishes the current state of an offer of this device to all that see, or saw, it.
  /// - Parameter isFirst: the activity was not offered before.
  func publish(of offer: HubOffer, isFirst: Bool = false) {
    publishToApps(of: offer, isFirst: isFirst)
    // Devices know the route: they are not told that there is a first offer, which may be private.
    if directory.countChange() { publishRoute(to: identity.id, toDevices: false) }
    publishToHubs(.offer(identity.id, offer.activity.id))
  }

  /// Publishes it to the apps of this device.
  func publishToApps(of offer: HubOffer, isFirst: Bool = false) {
    var update = sharedUpdate(of: offer.activity.id, offer.activity.offer, to: offer.topic)
    for peer in directory.choosers where peer !== offer.peer { publish(&update, isFirst: isFirst, to: peer) }
    for peer in offer.topic?.subscribers ?? [] where peer !== offer.peer {
      publish(&update, isFirst: isFirst, to: peer)
    }
  }

  /// The offer is of another topic now (R13.1): those who have seen it may see it no longer.
  private func publish(_ offer: HubOffer, hasLeft topic: Topic) {
    var update = sharedUpdate(of: offer.activity.id, offer)
    for peer in topic.subscribers where peer !== offer.peer { publish(&update, isFirst: false, to: peer) }
    directory.removeIfEmpty(topic)
  }

  @inline(never)
  private func publish(_ update: inout SharedUpdate, isFirst: Bool, to peer: Peer) {
    // Usually nothing waits.
    if peer.pending.isEmpty, !peer.pending.isReadyDue, mayUpdate(peer) { return sendUpdate(peer, &update) }
    // An offer that came and went before the peer has read costs nothing.
    if update.offer == nil, peer.pending.removeUnseen(update.id) { return }
    if isFirst { peer.pending.appendFirst(of: update.id) } else { peer.pending.append(.activity(update.id)) }
    boundPending(of: peer)
  }

  /// Sends an update once the pending bytes have gone out.
  func wait(_ update: OfferUpdate, for peer: Peer) {
    if update.kind == .listed { peer.pending.appendLast(update) } else { peer.pending.append(update) }
    boundPending(of: peer)
  }

  private func boundPending(of peer: Peer) {
    // Offers change, but the peer has stopped reading.
    guard peer.pending.count > 2 * (directory.count + remoteHubs.count) + Self.pendingLimit else { return }
    disconnect(peer, SegueError(.connectionUnavailable, "the app does not read"))
  }

  /// A slow peer costs no memory: it gets the last state when it has read (R2.8).
  func mayUpdate(_ peer: Peer) -> Bool {
    peer.isRegistered && !peer.isClosing && peer.link.pendingBytes < Self.backlog
  }

  /// Sends as many pending updates as the peer accepts now.
  func sendPending(_ peer: Peer) {
    guard !peer.pending.isEmpty || peer.pending.isReadyDue else { return }
    while mayUpdate(peer), let next = peer.pending.popFirst() {
      if let hub = peer.hub {
        sendUpdate(next, to: peer, hub)
      } else {
        var update = sharedUpdate(of: next.activity, directory[next.activity])
        sendUpdate(peer, &update)
      }
    }
    guard peer.isRegistered, !peer.isClosing, peer.pending.takeReady() else { return }
    send(.ready(settling: connections.settling), to: peer)
  }

  private func sendUpdate(_ peer: Peer, _ update: inout SharedUpdate) {
    // A hub's own offer may arrive through other hubs before the hub itself has sent it.
    // Of public offers some are not for those who are in a sandbox (R13.8).
    let isForAll = update.isForSubscribers && !(peer.app?.isSandboxed ?? false)
    guard let offer = update.offer, offer.origin != peer.app?.id, isForAll || maySee(offer, peer),
      peer.app.map({ mayKnow(offer, $0) }) ?? true
    else {
      return send(.gone(update.id, nil), to: peer)
    }
    if let app = peer.app, agent.isAgent(app.id), let published = published(offer) {
      // The agent chooses an app of the same team (R6.2), and knows which device pushes (R3.15).
      let device = offer.remote == nil ? nil : offer.peer.device
      let kind = offer.remote == nil ? OfferOrigin.app : device == nil ? OfferOrigin.link : OfferOrigin.device
      let origin = OfferOrigin(
        team: offer.team ?? "", activation: 0, version: OffersVersion(hub: device ?? identity.id, number: kind),
        retained: offer.remote?.retained)
      return send(.offer(published, timing(of: offer), origin), to: peer)
    }
    if update.encoding == nil, let published = published(offer) {
      update.encoding = connections.outbox.encoding(of: .offer(published, timing(of: offer), nil))
    }
    if let bytes = update.encoding { send(bytes, to: peer) }
  }

  /// Whether an app may see an offer (R2.6): the activity may have another type or team than the app has seen.
  private func maySee(_ offer: HubOffer, _ peer: Peer) -> Bool {
    guard let app = peer.app, !app.isChooser else { return true }
    return offer.obstacle(for: app) == nil
  }

  func timing(of offer: HubOffer) -> OfferTiming {
    OfferTiming(activatedAt: offer.activatedAt, expirationDate: offer.description.expirationDate, now: now)
  }

  /// The offer as others see it; nil if its app is gone.
  func published(_ offer: HubOffer) -> Offer? {
    if let remote = offer.remote {
      return Offer(
        description: offer.description, origin: remote.origin, appName: remote.appName,
        bundleIdentifier: remote.bundleIdentifier, deviceName: deviceName(of: offer, said: remote.deviceName),
        rank: offer.rank, activatedAt: 0)
    }
    guard let app = offer.peer.app else { return nil }
    return Offer(
      description: offer.description, origin: app.id, appName: app.name, bundleIdentifier: app.bundleIdentifier,
      deviceName: deviceName(of: offer, said: connections.deviceName), rank: offer.rank, activatedAt: 0)
  }
}
