import SegueModel
import SegueWire

/// Offers of other devices. Each linked hub tells of those that it knows and the way that each has come; an offer that
/// has passed a hub already is not for that hub, so nothing goes in circles. Of several ways the shortest counts.
extension HubEngine {
  /// Offers that one linked hub may tell of; further ones are not taken.
  static let linkedOfferLimit = 16_384

  func heard(_ told: Offer, _ timing: OfferTiming, _ route: Route, by peer: Peer, _ hub: LinkedHub) {
    let activity = offers.activity(told.description.id)
    if let known = activity.way(by: peer) { offers.removeWay(known) }
    // Of another app by the same name: nobody speaks for an activity of this device but its app.
    guard !route.hubs.contains(identity.id), !isOutrun(activity, route), hub.offers.count < Self.linkedOfferLimit else {
      return choose(activity)
    }
    let present = activity.offer
    let isKnown = present.map { $0.origin == told.origin && $0.activation == route.activation } ?? false
    let offer = HubOffer(
      of: activity, peer: peer, description: told.description.expiring(timing.expirationDate(now: now)),
      // Activated once, it keeps its rank, however its news comes.
      activatedAt: isKnown ? present!.activatedAt : now.uptime - timing.age, activation: route.activation,
      sequence: isKnown ? present!.sequence : takeSequence(), revision: route.revision,
      distant: HubOffer.Distant(told, route))
    dropAll(activity, of: route.hubs[route.hubs.count - 1], below: route.revision)
    offers.addWay(offer, by: hub)
    choose(activity)
    resumeHeld()
  }

  func heardGone(_ id: Identifier, _ withdrawal: Withdrawal?, by peer: Peer) {
    let activity = offers.known(id)
    if let known = activity?.way(by: peer) { offers.removeWay(known) }
    if let withdrawal, withdrawal.hub != identity.id {
      withdrawals.note(id, withdrawal, at: now.uptime)
      let (next, overflow) = withdrawal.revision.addingReportingOverflow(1)
      if let activity { dropAll(activity, of: withdrawal.hub, below: overflow ? .max : next) }
    }
    if let activity { choose(activity) }
  }

  /// The hub is gone, and what came by it.
  @inline(never)
  func dropAll(by hub: LinkedHub) {
    for offer in hub.offers {
      offers.removeWay(offer)
      choose(offer.activity)
    }
  }

  /// Tells another hub of an offer, unless it has come by that hub.
  func tellNow(_ peer: Peer, _ hub: LinkedHub, _ news: inout News) {
    if let offer = news.offer, mayPass(offer, to: hub) {
      if news.toHubs == nil { news.toHubs = encoded(offer) }
      if let bytes = news.toHubs {
        hub.told.insert(news.id)
        return send(bytes, to: peer)
      }
    }
    if hub.told.remove(news.id) != nil { send(.gone(news.id, withdrawals[news.id]), to: peer) }
  }

  private func mayPass(_ offer: HubOffer, to hub: LinkedHub) -> Bool {
    guard let hubs = offer.distant?.hubs else { return true }
    return hubs.count < Route.limit && !hubs.contains(hub.identity.id)
  }

  private func encoded(_ offer: HubOffer) -> [UInt8]? {
    guard let told = told(offer), let team = team(of: offer) else { return nil }
    let route = Route(
      team: team, activation: offer.activation, revision: offer.revision,
      hubs: [identity.id] + (offer.distant?.hubs ?? []))
    return try? writer.encoding(of: .offer(told, timing(of: offer), route))
  }

  private func team(of offer: HubOffer) -> String? { offer.distant?.team ?? offer.peer.app?.team }

  /// Whether we know better: that it was withdrawn, or changed.
  private func isOutrun(_ activity: KnownActivity, _ route: Route) -> Bool {
    let home = route.hubs[route.hubs.count - 1]
    if let withdrawal = withdrawals[activity.id], withdrawal.hub == home, withdrawal.revision >= route.revision {
      return true
    }
    return activity.ways.contains { $0.distant?.home == home && $0.revision > route.revision }
  }

  /// Fewer ways; `choose` has to follow.
  private func dropAll(_ activity: KnownActivity, of home: Identifier, below revision: UInt64) {
    for offer in activity.ways where offer.distant?.home == home && offer.revision < revision {
      offers.removeWay(offer)
    }
  }

  /// Makes the nearest way the offer of its activity. What an app of this device offers stays.
  func choose(_ activity: KnownActivity) {
    let former = activity.offer
    if let former, former.distant == nil { return }
    let best = best(of: activity.ways)
    guard former !== best else { return offers.removeIfEmpty(activity) }
    if let former { take(former) }
    if let best { enter(best, former: former) }
    if let former {
      tellAll(of: former)
      dropIfEmpty(former.topic)
    }
    if let best, former.map({ $0.topic !== best.topic }) ?? true { tellAll(of: best) }
    offers.removeIfEmpty(activity)
  }

  /// The one that passes the fewest hubs; of those, the one that comes by the hub that was linked first.
  private func best(of ways: [HubOffer]) -> HubOffer? {
    guard ways.count > 1 else { return ways.first }
    var best = 0
    for index in 1..<ways.count {
      let (one, other) = (ways[index].hubCount, ways[best].hubCount)
      if one < other || one == other && ways[index].peer.number < ways[best].peer.number { best = index }
    }
    return ways[best]
  }
}
