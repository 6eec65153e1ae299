import SegueModel
import SegueWire

/// Offers, and who sees them (R2.6).
extension HubEngine {
  func put(
    _ description: OfferDescription, _ timing: OfferTiming, activation: UInt64, by peer: Peer, _ app: AppIdentity
  ) {
    // Nobody speaks for an activity of another app.
    if let taken = offers[description.id], taken.peer !== peer { return }
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
        sequence: takeSequence())
      peer.offer = offer
      offers[description.id] = offer
      let key = Topic.key(team: app.team, type: description.type)
      let topic = topics[key] ?? Topic()
      topics[key] = topic
      offer.index = topic.offers.count
      topic.offers.append(offer)
      tellAll(of: offer)
    }
    frontmostChanged(from: former)
    resumeHeld()
  }

  func withdraw(_ offer: HubOffer) {
    guard let app = offer.peer.app, offer.peer.offer === offer else { return }
    let former = frontmost()
    offer.peer.offer = nil
    offers[offer.description.id] = nil
    let key = Topic.key(team: app.team, type: offer.description.type)
    if let topic = topics[key] {
      let last = topic.offers.removeLast()
      if last !== offer {
        topic.offers[offer.index] = last
        last.index = offer.index
      }
    }
    tellAll(of: offer)
    dropIfEmpty(key)
    if former !== offer { frontmostChanged(from: former) } else { frontmostChanged(from: nil) }
  }

  private func takeSequence() -> UInt64 {
    nextSequence += 1
    return nextSequence
  }

  /// The offer that was activated last; only known if the device offers no other.
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
    return !offersFrontmostOnly || frontmost() === offer
  }

  /// Tells everybody who sees it how it is now.
  private func tellAll(of offer: HubOffer) {
    guard let app = offer.peer.app else { return }
    for peer in choosers where peer !== offer.peer { tell(peer, of: offer.description.id) }
    guard let topic = topics[Topic.key(team: app.team, type: offer.description.type)] else { return }
    for peer in topic.subscribers where peer !== offer.peer { tell(peer, of: offer.description.id) }
  }

  private func tell(_ peer: Peer, of id: Identifier) {
    // Nothing overtakes, and one that is pending already will be told as it then is.
    if !peer.pending.contains(id) { peer.pending.append(id) }
    tellPending(peer)
  }

  /// Tells as much of what is pending as the peer takes for now: a slow one costs no memory (R2.8: it hears the last state).
  func tellPending(_ peer: Peer) {
    guard peer.app != nil, !peer.isClosing else { return }
    var told = 0
    while told < peer.pending.count, peer.link.pendingBytes < Self.offerBacklog {
      tellNow(peer, peer.pending[told])
      told += 1
    }
    peer.pending.removeFirst(told)
    guard peer.isReadyDue, peer.pending.isEmpty else { return }
    peer.isReadyDue = false
    send(.ready, to: peer)
  }

  private func tellNow(_ peer: Peer, _ id: Identifier) {
    guard let offer = offers[id], offer.peer !== peer, isOffered(offer), let origin = offer.peer.app else {
      return send(.gone(id), to: peer)
    }
    let timing = OfferTiming(
      activatedAt: offer.activatedAt, expirationDate: offer.description.expirationDate, now: now)
    let told = Offer(
      description: offer.description, origin: origin.id, appName: origin.name,
      bundleIdentifier: origin.bundleIdentifier, deviceName: deviceName, rank: offer.rank, activatedAt: 0)
    send(.offer(told, timing), to: peer)
  }
}
