import SegueModel
import SegueWire

/// Offers of other devices. They are heard of their hub itself, if it is linked, else of the one linked hub that is the
/// chosen way to it, which was asked to tell of them. So each hub hears of a change once.
extension HubEngine {
  /// Of that hub, by that one: nil unless that is to be believed.
  private func distantHub(_ version: OffersVersion, by peer: Peer) -> (hub: DistantHub, isNews: Bool)? {
    guard let distant = distantHubs[version.hub], distant.way?.peer === peer, distant.isListed else { return nil }
    let isNews = distant.takes(version.number, at: now.uptime)
    if let since = distant.behindSince { lookAfterDistantHubs(by: since + Self.disbeliefTime) }
    return (distant, isNews)
  }

  func heard(_ told: Offer, _ timing: OfferTiming, _ origin: OfferOrigin, by peer: Peer, _ hub: LinkedHub) {
    guard let (distant, isNews) = distantHub(origin.version, by: peer) else { return }
    let former = offers.known(told.description.id)?.way(of: distant)
    // It is there, though it may have changed since.
    guard isNews else {
      former?.list = distant.list
      return
    }
    let activity = offers.activity(told.description.id)
    if let former { offers.removeWay(former) }
    let present = activity.offer
    let isKnown = present.map { $0.origin == told.origin && $0.activation == origin.activation } ?? false
    let offer = HubOffer(
      of: activity, peer: peer, description: told.description.expiring(timing.expirationDate(now: now)),
      // Activated once, it keeps its rank, however its news comes.
      activatedAt: isKnown ? present!.activatedAt : now.uptime - timing.age, activation: origin.activation,
      sequence: isKnown ? present!.sequence : takeSequence(), distant: HubOffer.Distant(told, origin.team, distant))
    // What is more than may be kept is not taken.
    if hasRoom(offer.cost, hub) {
      offer.list = distant.list
      offers.addWay(offer)
    }
    choose(activity)
    tellHubs(.offer(distant.id, told.description.id))
    resumeHeld()
    tellHeldOutcomes(of: told.origin)
  }

  func heardGone(_ id: Identifier, _ version: OffersVersion, by peer: Peer) {
    guard let (distant, isNews) = distantHub(version, by: peer), isNews,
      let offer = offers.known(id)?.way(of: distant)
    else { return }
    remove(offer, of: distant)
  }

  /// All offers of a hub were told.
  func heardListed(_ version: OffersVersion, by peer: Peer) {
    guard let (distant, isNews) = distantHub(version, by: peer), isNews else { return }
    for offer in distant.offers where offer.list != distant.list { remove(offer, of: distant) }
    tellHubs(.listed(distant.id))
  }

  /// What was asked for begins here.
  func heardList(of id: Identifier, _ list: UInt64, by peer: Peer) {
    guard let distant = distantHubs[id], distant.way?.peer === peer, distant.list == list else { return }
    distant.isListed = true
  }

  private func remove(_ offer: HubOffer, of distant: DistantHub) {
    offers.removeWay(offer)
    choose(offer.activity)
    tellHubs(.offer(distant.id, offer.activity.id))
  }

  // MARK: Whom the chosen way leaves behind

  /// What it tells may have been less than is known for too long.
  func catchUp(_ distant: DistantHub) {
    guard let since = distant.behindSince, let way = distant.way, distant.isFollowed else { return }
    if since + Self.disbeliefTime <= now.uptime {
      follow(distant, way, believing: true)
    } else {
      lookAfterDistantHubs(by: since + Self.disbeliefTime)
    }
  }

  // MARK: Telling

  /// A linked hub wants to hear of another's offers: all now, and each change.
  func follow(_ id: Identifier, list: UInt64, _ peer: Peer, _ hub: LinkedHub) {
    guard distantHubs[id] != nil else { return }
    hub.followed.insert(id)
    // A list that is being told ends first: asked for without being read, it costs nothing.
    guard !peer.pending.contains(.listed(id)) else { return hub.relisted[id] = list }
    beginList(of: id, list, to: peer)
    tellPending(peer)
  }

  private func beginList(of id: Identifier, _ list: UInt64, to peer: Peer) {
    send(.list(id, list), to: peer)
    listOffers(of: id, to: peer)
  }

  func listOffers(of id: Identifier, to peer: Peer) {
    if id == identity.id {
      for app in peerList { if let offer = app.offer { peer.pending.append(.offer(id, offer.description.id)) } }
    }
    for offer in distantHubs[id]?.offers ?? [] { peer.pending.append(.offer(id, offer.description.id)) }
    peer.pending.appendLast(.listed(id))
  }

  /// Tells the linked hubs that hear of it by this one.
  func tellHubs(_ news: OfferNews) {
    var bytes: [UInt8]?
    for peer in hubList where peer.isLinked {
      guard let hub = peer.hub, news.hub == identity.id || hub.followed.contains(news.hub) else { continue }
      guard peer.pending.isEmpty, mayTell(peer) else {
        wait(news, for: peer)
        continue
      }
      if bytes == nil { bytes = encoded(news) }
      if let bytes { send(bytes, to: peer) }
    }
  }

  func tellNow(_ news: OfferNews, to peer: Peer, _ hub: LinkedHub) {
    if news.kind == .route { return tellRouteNow(to: news.hub, peer, hub) }
    // It may have gone elsewhere meanwhile.
    guard news.hub == identity.id || hub.followed.contains(news.hub) else { return }
    if news.kind == .listed, let list = hub.relisted.removeValue(forKey: news.hub) {
      return beginList(of: news.hub, list, to: peer)
    }
    if let bytes = encoded(news) { send(bytes, to: peer) }
  }

  /// How it is with an offer, or with the list of them. Nil: nothing is known of that hub any more.
  private func encoded(_ news: OfferNews) -> [UInt8]? {
    let distant = distantHubs[news.hub]
    guard news.hub == identity.id || distant?.way != nil else { return nil }
    let version = OffersVersion(hub: news.hub, number: distant?.number ?? offersNumber)
    if news.kind == .listed { return try? writer.encoding(of: .listed(version)) }
    let activity = offers.known(news.activity)
    let present = distant.map { activity?.way(of: $0) } ?? activity?.offer.flatMap { $0.distant == nil ? $0 : nil }
    guard let offer = present, isOffered(offer), let told = told(offer), let team = offer.team else {
      return try? writer.encoding(of: .gone(news.activity, version))
    }
    let origin = OfferOrigin(team: team, activation: offer.activation, version: version)
    return try? writer.encoding(of: .offer(told, timing(of: offer), origin))
  }

  // MARK: Choosing

  /// Sees to it that one of those that are there is the offer of its activity. What an app of this device offers stays,
  /// and so does what counts already: nobody takes an activity over from another.
  func choose(_ activity: KnownActivity) {
    let former = activity.offer
    if let former, former.distant == nil { return }
    let home = former?.distant?.home
    let best = activity.ways.first { $0.distant?.home === home } ?? activity.ways.first
    guard former !== best else { return offers.removeIfEmpty(activity) }
    if let former { take(former) }
    if let best { enter(best, former: former) }
    if let former {
      tellApps(of: former)
      dropIfEmpty(former.topic)
    }
    if let best, former.map({ $0.topic !== best.topic }) ?? true { tellApps(of: best) }
    offers.removeIfEmpty(activity)
  }
}
