import SegueModel
import SegueWire

/// Offers of other devices. Each linked hub tells of those that it knows and the way that each has come; an offer that
/// has passed a hub already is not for that hub, so nothing goes in circles. Of several ways the shortest counts.
extension HubEngine {
  /// Offers that one linked hub may tell of; further ones are not taken.
  static let linkedOfferLimit = 16_384

  func heard(_ told: Offer, _ timing: OfferTiming, _ route: Route, by peer: Peer, _ hub: LinkedHub) {
    let id = told.description.id
    if let known = candidate(id, by: peer) { drop(known) }
    // Of another app by the same name: nobody speaks for an activity of this device but its app.
    guard !route.hubs.contains(identity.id), !isOutrun(id, route), hub.offers.count < Self.linkedOfferLimit else {
      return choose(id)
    }
    let present = offers[id]
    let isKnown = present.map { $0.origin == told.origin && $0.activation == route.activation } ?? false
    let offer = HubOffer(
      peer: peer, description: told.description.expiring(timing.expirationDate(now: now)),
      // Activated once, it keeps its rank, however its news comes.
      activatedAt: isKnown ? present!.activatedAt : now.uptime - timing.age, activation: route.activation,
      sequence: isKnown ? present!.sequence : takeSequence(), revision: route.revision,
      distant: HubOffer.Distant(told, route))
    dropAll(id, of: route.hubs[route.hubs.count - 1], below: route.revision)
    offer.distant?.index = hub.offers.count
    hub.offers.append(offer)
    candidates[id, default: []].append(offer)
    choose(id)
    resumeHeld()
  }

  func heardGone(_ id: Identifier, _ withdrawal: Withdrawal?, by peer: Peer) {
    if let known = candidate(id, by: peer) { drop(known) }
    if let withdrawal, withdrawal.hub != identity.id {
      withdrawals.note(id, withdrawal, at: now.uptime)
      let (next, overflow) = withdrawal.revision.addingReportingOverflow(1)
      dropAll(id, of: withdrawal.hub, below: overflow ? .max : next)
    }
    choose(id)
  }

  /// The hub is gone, and what came by it.
  func dropAll(by hub: LinkedHub) {
    for offer in hub.offers {
      drop(offer)
      choose(offer.description.id)
    }
  }

  /// Tells another hub of an offer, unless it has come by that hub.
  func tellNow(_ peer: Peer, _ hub: LinkedHub, _ id: Identifier) {
    if let offer = offers[id], isOffered(offer), let told = told(offer), let origin = team(of: offer) {
      let hubs = [identity.id] + (offer.distant?.hubs ?? [])
      if !hubs.contains(hub.identity.id), hubs.count <= Route.limit {
        hub.told.insert(id)
        let route = Route(team: origin, activation: offer.activation, revision: offer.revision, hubs: hubs)
        return send(.offer(told, timing(of: offer), route), to: peer)
      }
    }
    if hub.told.remove(id) != nil { send(.gone(id, withdrawals[id]), to: peer) }
  }

  private func team(of offer: HubOffer) -> String? { offer.distant?.team ?? offer.peer.app?.team }

  /// Whether we know better: that it was withdrawn, or changed.
  private func isOutrun(_ id: Identifier, _ route: Route) -> Bool {
    let home = route.hubs[route.hubs.count - 1]
    if let withdrawal = withdrawals[id], withdrawal.hub == home, withdrawal.revision >= route.revision { return true }
    return candidates[id]?.contains { $0.distant?.home == home && $0.revision > route.revision } ?? false
  }

  private func candidate(_ id: Identifier, by peer: Peer) -> HubOffer? {
    candidates[id]?.first { $0.peer === peer }
  }

  private func dropAll(_ id: Identifier, of home: Identifier, below revision: UInt64) {
    for offer in candidates[id] ?? [] where offer.distant?.home == home && offer.revision < revision { drop(offer) }
  }

  /// One way less; `choose` has to follow.
  private func drop(_ offer: HubOffer) {
    let id = offer.description.id
    candidates[id]?.removeAll { $0 === offer }
    if candidates[id]?.isEmpty ?? false { candidates[id] = nil }
    guard let hub = offer.peer.hub, let distant = offer.distant else { return }
    let last = hub.offers.removeLast()
    guard last !== offer else { return }
    hub.offers[distant.index] = last
    last.distant?.index = distant.index
  }

  /// Makes the nearest candidate the offer of its activity. What an app of this device offers stays.
  func choose(_ id: Identifier) {
    let former = offers[id]
    if let former, former.distant == nil { return }
    let best = candidates[id]?.min { rank($0) < rank($1) }
    guard former !== best else { return }
    if let former { take(former) }
    if let best { enter(best) }
    if let former {
      tellAll(of: former)
      dropIfEmpty(former.topic)
    }
    if let best, former.map({ $0.topic != best.topic }) ?? true { tellAll(of: best) }
  }

  private func rank(_ offer: HubOffer) -> (Int, PeerNumber) { (offer.distant?.hubs.count ?? 0, offer.peer.number) }
}
