import SegueModel
import SegueWire

/// The offers of this device's apps, and who sees what (R2.6).
extension HubEngine {
  func put(
    _ description: OfferDescription, _ timing: OfferTiming, activation: UInt64, by peer: Peer, _ app: AppIdentity
  ) {
    // Nobody speaks for an activity of another app of this device.
    if let taken = offers[description.id], taken.distant == nil, taken.peer !== peer { return }
    let description = description.expiring(timing.expirationDate(now: now))
    let former = frontmost()
    if let offer = peer.offer, offer.description.id == description.id,
      Text.isSame(offer.description.type, description.type)
    {
      offer.description = description
      if offer.activation != activation {
        offer.activation = activation
        offer.activatedAt = now.uptime - timing.age
        offer.sequence = takeSequence()
      }
      tellAll(of: offer)
    } else {
      if let offer = peer.offer { withdraw(offer) }
      let offer = HubOffer(
        peer: peer, description: description, activatedAt: now.uptime - timing.age, activation: activation,
        sequence: takeSequence(), revision: 0)
      peer.offer = offer
      if let distant = offers[description.id] {
        take(distant)
        dropIfEmpty(distant.topic)
      }
      enter(offer)
      tellAll(of: offer)
    }
    frontmostChanged(from: former)
    resumeHeld()
  }

  /// An app of this device offers it no longer.
  func withdraw(_ offer: HubOffer) {
    guard offer.peer.offer === offer else { return }
    let former = frontmost()
    offer.peer.offer = nil
    take(offer)
    tellAll(of: offer)
    dropIfEmpty(offer.topic)
    choose(offer.description.id)
    frontmostChanged(from: former === offer ? nil : former)
  }

  /// Makes it the offer of its activity.
  func enter(_ offer: HubOffer) {
    offers[offer.description.id] = offer
    let key = offer.topic
    let topic = topics[key] ?? Topic()
    topics[key] = topic
    offer.index = topic.offers.count
    topic.offers.append(offer)
  }

  /// Takes out what `enter` put in. The topic stays, until `dropIfEmpty`.
  func take(_ offer: HubOffer) {
    offers[offer.description.id] = nil
    guard let topic = topics[offer.topic] else { return }
    let last = topic.offers.removeLast()
    guard last !== offer else { return }
    topic.offers[offer.index] = last
    last.index = offer.index
  }

  func takeSequence() -> UInt64 {
    nextSequence += 1
    return nextSequence
  }

  /// The offer of this device that was activated last; only known if it offers no other.
  private func frontmost() -> HubOffer? {
    guard offersFrontmostOnly else { return nil }
    var frontmost: HubOffer?
    for peer in peerList {
      guard let offer = peer.offer else { continue }
      if let best = frontmost, best.rank > offer.rank { continue }
      frontmost = offer
    }
    return frontmost
  }

  private func frontmostChanged(from former: HubOffer?) {
    guard let present = frontmost(), present !== former else { return }
    if let former { tellAll(of: former) }
    tellAll(of: present)
  }

  func isOffered(_ offer: HubOffer) -> Bool {
    if offer.description.expirationDate.map({ $0 <= now.date }) ?? false { return false }
    return !offersFrontmostOnly || offer.distant != nil || frontmost() === offer
  }

  // MARK: Telling

  /// Tells everybody who sees it, or saw it, how it is now.
  func tellAll(of offer: HubOffer) {
    let id = offer.description.id
    if offer.distant == nil {
      nextRevision += 1
      offer.revision = nextRevision
      if offers[id] !== offer || !isOffered(offer) {
        withdrawals.note(id, Withdrawal(hub: identity.id, revision: nextRevision), at: now.uptime)
      }
    }
    for peer in choosers where peer !== offer.peer { tell(peer, of: id) }
    for peer in topics[offer.topic]?.subscribers ?? [] where peer !== offer.peer { tell(peer, of: id) }
    for peer in hubList where peer.isLinked { tell(peer, of: id) }
  }

  private func tell(_ peer: Peer, of id: Identifier) {
    peer.pending.append(id)
    tellPending(peer)
    // Offers come and go, and it hears of none: it has stopped reading.
    guard peer.pending.count > 2 * offers.count + Self.pendingLimit else { return }
    dismiss(peer, SegueError(.connectionUnavailable, "the app does not read"))
  }

  /// Tells as much of what is pending as the peer takes for now: a slow one costs no memory (R2.8: it hears the last state).
  func tellPending(_ peer: Peer) {
    guard peer.isRegistered, !peer.isClosing else { return }
    while peer.link.pendingBytes < Self.offerBacklog, let id = peer.pending.popFirst() {
      if let hub = peer.hub { tellNow(peer, hub, id) } else { tellNow(peer, id) }
    }
    guard peer.isReadyDue, peer.pending.isEmpty else { return }
    peer.isReadyDue = false
    send(.ready, to: peer)
  }

  private func tellNow(_ peer: Peer, _ id: Identifier) {
    // Its own may come back by way of other hubs, before it has told this one.
    guard let offer = offers[id], offer.origin != peer.app?.id, isOffered(offer), let told = told(offer) else {
      return send(.gone(id, nil), to: peer)
    }
    send(.offer(told, timing(of: offer), nil), to: peer)
  }

  func timing(of offer: HubOffer) -> OfferTiming {
    OfferTiming(activatedAt: offer.activatedAt, expirationDate: offer.description.expirationDate, now: now)
  }

  func told(_ offer: HubOffer) -> Offer? {
    if let distant = offer.distant {
      return Offer(
        description: offer.description, origin: distant.origin, appName: distant.appName,
        bundleIdentifier: distant.bundleIdentifier, deviceName: distant.deviceName, rank: offer.rank, activatedAt: 0)
    }
    guard let app = offer.peer.app else { return nil }
    return Offer(
      description: offer.description, origin: app.id, appName: app.name, bundleIdentifier: app.bundleIdentifier,
      deviceName: identity.deviceName, rank: offer.rank, activatedAt: 0)
  }
}
