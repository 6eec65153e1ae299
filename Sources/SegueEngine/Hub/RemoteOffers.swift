// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Offers of other devices. They come from their hub itself, if it is linked, else through the one linked hub on the
/// chosen route, which was asked for them. So each hub gets a change once.
extension HubOffers {
  /// The remote hub of a message through a linked one; nil unless the message is acceptable.
  private func remoteHub(_ version: OffersVersion, by peer: Peer) -> (hub: RemoteHub, isNew: Bool)? {
    guard let remote = remoteHubs[version.hub, peer.device], remote.route?.peer === peer, remote.list.hasBegun else {
      return nil
    }
    let isNew = remote.accept(version.number, at: now.uptime)
    if let since = remote.version.behindSince { checkRemoteHubs(by: since + Self.staleVersionTimeout) }
    return (remote, isNew)
  }

  /// - Returns: whether it is new.
  func receivedOffer(_ told: Offer, _ timing: OfferTiming, _ origin: OfferOrigin, by peer: Peer) -> Bool {
    guard let (remote, isNew) = remoteHub(origin.version, by: peer) else { return false }
    let known = self.known(told.description.id, at: remote)
    guard let id = identifier(of: told.description.id, origin.retained, at: remote) else {
      if let known { remove(known, of: remote) }
      return false
    }
    // It may have been offered under another identifier before.
    if let known, known.activity.id != id { remove(known, of: remote) }
    let former = directory.known(id)?.remoteOffer(of: remote)
    // A hub that tells of what is for its device only is not believed (A18).
    guard !told.description.isPrivate else {
      if let former { remove(former, of: remote) }
      return false
    }
    // It exists, though it may have changed since.
    guard isNew else {
      former?.noteListed(in: remote.list.number)
      return false
    }
    let activity = directory.activity(id)
    if let former { directory.removeRemote(former) }
    let present = activity.offer
    let isKnown = present.map { $0.origin == told.origin && $0.activation == origin.activation } ?? false
    let offer = HubOffer(
      of: activity, peer: peer,
      description: told.description.named(id).expiring(timing.expirationDate(now: now)),
      // Keeps its rank after an activation, on whatever route updates arrive.
      activatedAt: isKnown ? present!.activatedAt : now.uptime - timing.age, activation: origin.activation,
      sequence: isKnown ? present!.sequence : directory.takeSequence(),
      remote: HubOffer.Remote(told, origin.team, remote, retained: origin.retained))
    // Ignores offers beyond the quota.
    if hasRoom(offer.cost, by: peer) {
      offer.noteListed(in: remote.list.number)
      directory.addRemote(offer)
    }
    choose(activity)
    publish(.offer(remote.id, id), of: remote)
    return true
  }

  func receivedGone(_ activity: Identifier, _ version: OffersVersion, by peer: Peer) {
    guard let (remote, isNew) = remoteHub(version, by: peer), isNew,
      let offer = known(activity, at: remote)
    else { return }
    withdrawn(offer, of: remote)
  }

  /// The devices of the account have changed: what one that was removed has had retained is offered no longer.
  func dropRetained() {
    for remote in remoteHubs.all {
      for offer in remote.retained {
        guard let mailbox = remote.device, let retained = offer.remote?.retained,
          retention?.isGenuine(retained, by: mailbox) ?? false
        else {
          remove(offer, of: remote)
          continue
        }
      }
    }
  }

  /// A device is there, or no longer: what others have retained for it is hidden, or shown.
  func chooseRetained(of device: Identifier?) {
    guard let device else { return }
    for remote in remoteHubs.all {
      for offer in remote.retained where offer.remote?.retained?.device == device { choose(offer.activity) }
    }
  }

  /// Whether the origin of a retained offer would offer the activity itself, if it did not end that. A push outlives
  /// its offer.
  private func isEnded(_ offer: HubOffer) -> Bool {
    guard let retained = offer.remote?.retained, retained.push == nil else { return false }
    return remoteHubs.all.contains { $0.device == retained.device && $0.route != nil && $0.list.isComplete }
  }

  private func withdrawn(_ offer: HubOffer, of remote: RemoteHub) {
    remove(offer, of: remote)
    // A mailbox says nothing of what the origin offers.
    if offer.remote?.retained == nil { remote.noteWithdrawn(offer.activity.id) }
  }

  /// The offer that a remote hub has under its own identifier of an activity.
  private func known(_ activity: Identifier, at remote: RemoteHub) -> HubOffer? {
    directory.known(remote.identifier(of: activity))?.remoteOffer(of: remote)
      ?? remote.retained.first { $0.remote?.activity == activity }
  }

  /// The identifier of an offer here. A retained one has that of the origin's own offer (R14.5).
  /// - Returns: nil for one that is not what it says, that this device has had retained itself, that is pushed to
  ///   another device, or that is too many.
  private func identifier(
    of activity: Identifier, _ retained: RetainedOrigin?, at remote: RemoteHub
  ) -> Identifier? {
    guard let retained else { return remote.identifier(of: activity) }
    guard let mailbox = remote.device, retained.device != mailbox, retained.device != connections.ownDevice,
      retained.push.map({ $0.target == connections.ownDevice }) ?? true,
      remote.retained.count < RemoteHub.retainedLimit || known(activity, at: remote)?.remote?.retained != nil,
      retention?.isGenuine(retained, by: mailbox) ?? false
    else { return nil }
    return retained.identifier
  }

  /// Whether a device that can be reached has lately said that it offers an activity no longer.
  func hasWithdrawn(_ activity: Identifier) -> Bool {
    remoteHubs.all.contains { $0.route != nil && $0.hasWithdrawn(activity) }
  }

  /// All offers of a hub have arrived.
  func receivedListed(_ version: OffersVersion, by peer: Peer) {
    guard let (remote, isNew) = remoteHub(version, by: peer), isNew else { return }
    for offer in remote.offers where offer.list != remote.list.number { withdrawn(offer, of: remote) }
    remote.noteComplete()
    chooseRetained(of: remote.device)
    publish(.listed(remote.id), of: remote)
  }

  /// The requested list begins.
  func receivedList(of id: Identifier, _ list: UInt64, by peer: Peer) {
    if let remote = remoteHubs[id, peer.device], remote.route?.peer === peer { remote.begin(list) }
  }

  private func remove(_ offer: HubOffer, of remote: RemoteHub) {
    directory.removeRemote(offer)
    choose(offer.activity)
    publish(.offer(remote.id, offer.activity.id), of: remote)
  }

  // MARK: Routes that lag behind

  /// The route may have sent an older version for too long.
  func catchUp(_ remote: RemoteHub) {
    guard let since = remote.version.behindSince, let route = remote.route, remote.list.isFollowed else { return }
    if since + Self.staleVersionTimeout <= now.uptime {
      follow(remote, route, believing: true)
    } else {
      checkRemoteHubs(by: since + Self.staleVersionTimeout)
    }
  }

  // MARK: Publishing

  /// A linked hub follows another: sends all of its offers now, and each change.
  func follow(_ id: Identifier, list: UInt64, _ peer: Peer, _ hub: HubSession) {
    guard peer.device == nil, remoteHubs[id] != nil else { return }
    hub.follow(id)
    // Ends the current list first: repeated requests without reading cost nothing.
    guard !peer.pending.contains(.listed(id)) else { return hub.relist(id, list) }
    beginList(of: id, list, to: peer)
    sendPending(peer)
  }

  private func beginList(of id: Identifier, _ list: UInt64, to peer: Peer) {
    send(.list(id, list), to: peer)
    listOffers(of: id, to: peer)
  }

  func listOffers(of id: Identifier, to peer: Peer) {
    if id == identity.id {
      for app in peers.apps { if let offer = app.offer { peer.pending.append(.offer(id, offer.description.id)) } }
    }
    for offer in remoteHubs[id]?.offers ?? [] { peer.pending.append(.offer(id, offer.description.id)) }
    peer.pending.appendLast(.listed(id))
  }

  private func publish(_ update: OfferUpdate, of remote: RemoteHub) {
    if remoteHubs.isFirst(remote) { publishToHubs(update) }
  }

  /// Publishes it to the linked hubs that follow through this one.
  func publishToHubs(_ update: OfferUpdate) {
    for peer in peers.hubs where peer.isLinked {
      guard let hub = peer.hub, update.hub == identity.id || hub.follows(update.hub) else { continue }
      guard peer.pending.isEmpty, mayUpdate(peer) else {
        wait(update, for: peer)
        continue
      }
      if let bytes = encoded(update, for: peer, hub) { send(bytes, to: peer) }
    }
  }

  func sendUpdate(_ update: OfferUpdate, to peer: Peer, _ hub: HubSession) {
    if update.kind == .route { return sendRoute(to: update.hub, peer, hub) }
    // It may have moved meanwhile.
    guard update.hub == identity.id || hub.follows(update.hub) else { return }
    if update.kind == .listed, let list = hub.takeRelisted(update.hub) {
      return beginList(of: update.hub, list, to: peer)
    }
    if let bytes = encoded(update, for: peer, hub) { send(bytes, to: peer) }
  }

  /// The current message about an offer, or the list. Nil if that hub is no longer known, or the peer has nothing to
  /// forget: of what is private it does not even learn that there was something (R10.2).
  private func encoded(_ update: OfferUpdate, for peer: Peer, _ hub: HubSession) -> [UInt8]? {
    let remote = remoteHubs[update.hub]
    guard update.hub == identity.id || remote?.route != nil else { return nil }
    let version = OffersVersion(hub: update.hub, number: remote?.version.number ?? directory.number)
    if update.kind == .listed { return connections.outbox.encoding(of: .listed(version)) }
    let activity = directory.known(update.activity)
    let present =
      remote.map { activity?.remoteOffer(of: $0) } ?? activity?.offer.flatMap { $0.remote == nil ? $0 : nil }
    guard let offer = present, isOffered(offer), !isHidden(offer, from: peer), let published = published(offer),
      let team = offer.team
    else {
      if remote == nil, !hub.clearAnnounced(offer: update.activity) { return nil }
      return connections.outbox.encoding(of: .gone(update.activity, version))
    }
    if remote == nil { hub.tell(update.activity) }
    let origin = OfferOrigin(
      team: team, activation: offer.activation, version: version, retained: retained(offer))
    return connections.outbox.encoding(of: .offer(published, timing(of: offer), origin))
  }

  // MARK: Choosing

  /// Chooses the active offer of an activity. One of an app of this device, or the current one, stays: no hub takes an
  /// activity over from another. An offer of a device, whose identifier no other device can have, comes before those of
  /// hubs to which links of apps lead: these hear the identifier. A retained one is hidden while its origin is there,
  /// which offers the activity itself or has ended it; of several the one of the highest revision counts (R14.5).
  func choose(_ activity: KnownActivity) {
    let former = activity.offer
    if let former, former.remote == nil { return }
    let isOfDevice = activity.remoteOffers.contains { $0.isOfDevice }
    let home = former?.remote?.home
    let own = activity.remoteOffers.filter { $0.isOfDevice == isOfDevice && $0.remote?.retained == nil }
    let best =
      own.first { $0.remote?.home === home } ?? own.first
      ?? activity.remoteOffers.filter { $0.isOfDevice == isOfDevice && !isEnded($0) }
      .max { $0.revision < $1.revision }
    guard former !== best else { return directory.removeIfEmpty(activity) }
    if let former { directory.take(former) }
    if let best { directory.enter(best, former: former) }
    if let former {
      publishToApps(of: former)
      directory.removeIfEmpty(former.topic)
    }
    if let best, former.map({ $0.topic !== best.topic }) ?? true { publishToApps(of: best, isFirst: former == nil) }
    directory.removeIfEmpty(activity)
  }
}
