import SegueModel
import SegueWire

/// How to get to other hubs that have offers. Each hub tells its neighbours the route that it takes to each of them,
/// and so learns theirs; a route that passes a hub is not for that hub, so nothing goes in circles. The shortest
/// counts, and all that is known of a hub's offers is heard by that.
extension HubEngine {
  /// Bytes that the routes and offers may take that come by one linked hub, and by all. What is more is not taken.
  static let linkedBytesLimit = 8 * 1024 * 1024
  static let allLinkedBytesLimit = 32 * 1024 * 1024
  /// Milliseconds from the loss of a route until others are asked for one: those that have lost theirs for the same
  /// reason have said so by then.
  static let seekingTime: Int64 = 400
  /// Milliseconds from one such question to the next, which double.
  static let askingTime: Int64 = 1_000
  /// Milliseconds that offers stay while a route is sought.
  static let stayingTime: Int64 = 1_500
  /// Milliseconds after which a hub believes what it has not believed, if nothing has come of what it knew: that was
  /// told by another, and may never have been so.
  static let disbeliefTime: Int64 = 30_000

  /// A linked hub says how it gets to another.
  func heard(
    _ route: Route?, to id: Identifier, isSought: Bool, by peer: Peer, _ hub: LinkedHub
  ) throws(SegueError) {
    if let hubs = route?.hubs, hubs[0] != hub.identity.id || hubs[hubs.count - 1] != id {
      throw SegueError(.malformed, "a route leads from the hub that tells of it to another")
    }
    guard id != identity.id else { return }
    // What passes this hub is no way for it.
    let route = route.flatMap { $0.hubs.contains(identity.id) ? nil : $0 }
    guard let distant = distantHubs[id] ?? route.map({ _ in addDistantHub(id) }) else { return }
    if let route {
      distant.set(nil, by: peer)
      let way = DistantHub.Way(to: distant, by: peer, route)
      if hasRoom(way.cost, hub) { distant.set(way, by: peer) }
    } else if isSought {
      distant.way(by: peer)?.isSought = true
    } else {
      distant.set(nil, by: peer)
    }
    choose(distant)
  }

  /// A linked hub has lost its route to another, or to this one.
  func sought(_ id: Identifier, _ sequence: UInt64, by peer: Peer) {
    if id == identity.id {
      // Many may ask for the same reason, and one for none.
      guard sequence > self.sequence, now.uptime >= sequenceRaisableAt else { return }
      sequenceRaisableAt = now.uptime + Self.seekingTime
      self.sequence += 1
      return tellRoute(to: id)
    }
    guard let distant = distantHubs[id], let way = distant.way, distant.seeking == nil, way.peer !== peer,
      way.sequence < sequence, distant.asked.sequence != sequence || distant.asked.at + Self.seekingTime <= now.uptime
    else { return }
    distant.asked = (sequence, now.uptime)
    send(.seek(id, sequence: sequence), to: way.peer)
  }

  func hasRoom(_ cost: Int, _ hub: LinkedHub) -> Bool {
    hub.bytes + cost <= Self.linkedBytesLimit && linkedBytes.count + cost <= Self.allLinkedBytesLimit
  }

  private func addDistantHub(_ id: Identifier) -> DistantHub {
    let distant = DistantHub(id, shortest: formerRoutes.take(id, since: now.uptime - Self.disbeliefTime))
    distant.index = distantHubList.count
    distantHubList.append(distant)
    distantHubs[id] = distant
    return distant
  }

  private func remove(_ distant: DistantHub) {
    lose(distant)
    if let shortest = distant.shortest { formerRoutes.note(distant.id, shortest, now) }
    distantHubs[distant.id] = nil
    for peer in hubList { peer.hub?.unfollow(distant.id) }
    let last = distantHubList.removeLast()
    guard last !== distant else { return }
    distantHubList[distant.index] = last
    last.index = distant.index
  }

  /// A linked hub is gone, or begins anew: what it has said counts no more.
  func loseRoutes(by peer: Peer, _ hub: LinkedHub) {
    hub.followed = []
    hub.relisted = [:]
    // It may say so again and again: what it has not said costs nothing.
    for distant in hub.reached {
      distant.set(nil, by: peer)
      choose(distant)
    }
  }

  // MARK: Choosing

  /// Takes the best way to a hub, or seeks one.
  private func choose(_ distant: DistantHub) {
    if let best = distant.bestWay(isSure: true) {
      guard distant.way !== best || distant.seeking != nil else { return }
      return settle(distant, best)
    }
    if let way = distant.way, !distant.has(way) {
      // For now, it is as good as any.
      if let next = distant.bestWay(isSure: false) { take(next, to: distant) } else { lose(distant) }
    }
    guard !distant.ways.isEmpty else { return remove(distant) }
    if distant.seeking == nil {
      distant.seeking = (now.uptime, now.uptime + Self.seekingTime)
      if distant.way != nil { tellRoute(to: distant.id) }
    }
    lookAfterDistantHubs(by: distant.seeking?.askAt ?? now.uptime)
  }

  private func settle(_ distant: DistantHub, _ best: DistantHub.Way) {
    if distant.way !== best { take(best, to: distant) }
    distant.settle(best)
    if !distant.isFollowed { follow(distant, best, believing: best.isDirect) }
    tellRoute(to: distant.id)
  }

  /// Its offers go.
  private func lose(_ distant: DistantHub) {
    guard let way = distant.way else { return }
    unfollow(distant, way)
    distant.way = nil
    for offer in distant.offers {
      offers.removeWay(offer)
      choose(offer.activity)
    }
    distant.forget()
    tellRoute(to: distant.id, isLost: true)
  }

  /// It has been sought for a while.
  private func seek(_ distant: DistantHub) {
    guard let seeking = distant.seeking else { return }
    guard seeking.askAt <= now.uptime else { return lookAfterDistantHubs(by: seeking.askAt) }
    if seeking.since + Self.stayingTime <= now.uptime { lose(distant) }
    let pause = max(Self.askingTime, now.uptime - seeking.since)
    let next = min(now.uptime + pause, distant.way == nil ? .max : seeking.since + Self.stayingTime)
    distant.seeking?.askAt = next
    if seeking.since + Self.disbeliefTime <= now.uptime {
      distant.takeAny()
      return choose(distant)
    }
    lookAfterDistantHubs(by: next)
    let (sequence, overflow) = (distant.shortest?.sequence ?? 0).addingReportingOverflow(1)
    for way in distant.ways where !way.isSought && !overflow {
      send(.seek(distant.id, sequence: sequence), to: way.peer)
    }
  }

  private func take(_ best: DistantHub.Way, to distant: DistantHub) {
    if let way = distant.way, way.peer !== best.peer { unfollow(distant, way) }
    distant.way = best
    for offer in distant.offers { offers.move(offer, to: best.peer) }
  }

  func follow(_ distant: DistantHub, _ way: DistantHub.Way, believing: Bool) {
    distant.isFollowed = true
    distant.askForList(believing: believing)
    // A hub tells its own without being asked.
    if !way.isDirect { send(.follow(distant.id, list: distant.list), to: way.peer) }
  }

  private func unfollow(_ distant: DistantHub, _ way: DistantHub.Way) {
    if distant.isFollowed, !way.isDirect, way.peer.isLinked { send(.unfollow(distant.id), to: way.peer) }
    distant.isFollowed = false
    distant.isListed = false
  }

  func lookAfterDistantHubs(by uptime: Int64) { distantHubsDue = min(distantHubsDue ?? uptime, uptime) }

  func tickDistantHubs() {
    guard let due = distantHubsDue, due <= now.uptime else { return }
    distantHubsDue = nil
    for distant in distantHubList {
      seek(distant)
      catchUp(distant)
    }
  }

  // MARK: Telling

  /// The route to a hub is another, or there is none any more: the linked hubs hear of it.
  func tellRoute(to id: Identifier, isLost: Bool = false) {
    for peer in hubList where peer.isLinked {
      guard let hub = peer.hub else { continue }
      if isLost {
        guard hub.toldRoutes.remove(id) != nil else { continue }
        hub.lostRoutes.insert(id)
      }
      if peer.pending.isEmpty, mayTell(peer) { tellRouteNow(to: id, peer, hub) } else { wait(.route(id), for: peer) }
    }
  }

  /// Tells a hub how it is with the route to another.
  func tellRouteNow(to id: Identifier, _ peer: Peer, _ hub: LinkedHub) {
    // That there was none in between is told, too: what it has heard by this one is void.
    let wasLost = hub.lostRoutes.remove(id) != nil
    if wasLost { send(.route(to: id, nil, isSought: false), to: peer) }
    let distant = distantHubs[id]
    let isSought = distant?.seeking != nil && distant?.way != nil
    if let route = route(to: id), route.hubs.count <= Route.limit, !route.hubs.contains(hub.identity.id) {
      hub.toldRoutes.insert(id)
      send(.route(to: id, route, isSought: false), to: peer)
    } else if hub.toldRoutes.contains(id) {
      // Who hears of its offers by this one waits with it; others have no use for it.
      let mayWait = isSought && hub.followed.contains(id)
      if !mayWait { hub.toldRoutes.remove(id) }
      send(.route(to: id, nil, isSought: mayWait), to: peer)
    }
  }

  /// This hub's; nil: there is none, or it is sought.
  private func route(to id: Identifier) -> Route? {
    if id == identity.id { return Route([id], sequence: sequence) }
    guard let distant = distantHubs[id], let way = distant.way, distant.seeking == nil else { return nil }
    return Route([identity.id] + way.hubs, sequence: way.sequence)
  }

  /// All that a linked hub has to know, from the beginning.
  func tellAnew(_ peer: Peer, _ hub: LinkedHub) {
    hub.toldRoutes = []
    hub.lostRoutes = []
    peer.pending = PendingOffers(distantHubList.map { .route($0.id) })
    if offersNumber > 0 {
      peer.pending.append(.route(identity.id))
      listOffers(of: identity.id, to: peer)
    }
    tellPending(peer)
  }
}
