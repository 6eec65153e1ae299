// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Routes to other hubs that have offers. Each hub announces its chosen routes to its neighbours, and so learns theirs.
/// A hub ignores routes that pass it, so there are no cycles. The shortest route is chosen, and offers of a hub come
/// through it.
extension HubOffers {
  /// The most bytes of routes and offers through the links of one process, and through all. Further ones are ignored.
  static let linkedBytesLimit = 8 * 1024 * 1024
  static let allLinkedBytesLimit = 32 * 1024 * 1024
  /// Milliseconds from the loss of a route until `seek`: by then others have announced losses for the same reason.
  static let seekingTime: Int64 = 400
  /// Milliseconds between two `seek`s, which double.
  static let seekInterval: Int64 = 1_000
  /// Milliseconds for which offers stay while a route is sought.
  static let offerGraceTime: Int64 = 1_500
  /// Milliseconds after which a hub accepts an older version than the known one, which another hub may have forged.
  static let staleVersionTimeout: Int64 = 30_000

  /// A linked hub announces its route to another.
  func receivedRoute(
    _ route: Route?, to id: Identifier, isSought: Bool, by peer: Peer, _ hub: HubSession
  ) throws(SegueError) {
    if let hubs = route?.hubs, hubs[0] != hub.identity.id || hubs[hubs.count - 1] != id {
      throw SegueError(.malformed, "a route leads from the hub that tells of it to another")
    }
    guard id != identity.id else { return }
    // Ignores routes that pass this hub, and those of a device that lead further.
    let isDirect = peer.device != nil
    let route = route.flatMap { $0.hubs.contains(identity.id) || isDirect && $0.hubs.count > 1 ? nil : $0 }
    guard let remote = remoteHubs[id, peer.device] ?? route.map({ _ in addRemoteHub(id, of: peer.device) }) else {
      return
    }
    if let route {
      remote.set(nil, by: peer)
      let known = HubRoute(to: remote, by: peer, route)
      if hasRoom(known.cost, by: peer) { remote.set(known, by: peer) }
      // A neighbour that has a route again can pass a `seek` on, however long the last one has found none.
      remote.askAgain(by: now.uptime + Self.seekingTime)
    } else if isSought {
      remote.route(by: peer)?.noteSought()
    } else {
      remote.set(nil, by: peer)
    }
    choose(remote)
  }

  /// A linked hub has lost its route to another, or to this one.
  func receivedSeek(_ id: Identifier, _ sequence: UInt64, by peer: Peer) {
    if id == identity.id {
      if remoteHubs.ownRoute.raise(to: sequence, now.uptime, pause: Self.seekingTime) { publishRoute(to: id) }
      return
    }
    guard let remote = remoteHubs[id], let route = remote.route, remote.seeking == nil, route.peer !== peer,
      route.sequence < sequence, remote.passOn(sequence, now.uptime, pause: Self.seekingTime)
    else { return }
    send(.seek(id, sequence: sequence), to: route.peer)
  }

  func hasRoom(_ cost: Int, by peer: Peer) -> Bool {
    let bytes = peers.hubs.reduce(0) { $0 + ($1.principal == peer.principal ? $1.hub?.bytes ?? 0 : 0) }
    return bytes + cost <= Self.linkedBytesLimit && remoteHubs.bytes.count + cost <= Self.allLinkedBytesLimit
  }

  private func addRemoteHub(_ id: Identifier, of device: Identifier?) -> RemoteHub {
    remoteHubs.add(id, of: device, lostSince: now.uptime - Self.staleVersionTimeout)
  }

  private func remove(_ remote: RemoteHub) {
    drop(remote)
    let isFirst = remoteHubs.isFirst(remote)
    remoteHubs.remove(remote, now.uptime)
    guard isFirst else { return }
    for peer in peers.hubs { peer.hub?.unfollow(remote.id) }
    // From now on links of apps hear of the next one that claims this identifier.
    if remoteHubs[remote.id] != nil { publishRoute(to: remote.id) }
  }

  /// A linked hub is gone, or starts again: its routes are void.
  func dropRoutes(by peer: Peer, _ hub: HubSession) {
    hub.unfollowAll()
    // Repeated withdrawals of unknown routes cost nothing.
    for remote in hub.reached {
      remote.set(nil, by: peer)
      choose(remote)
    }
  }

  /// A linked hub sends all anew. The offers that a device has made itself stay until the new list has come. Those that
  /// are not in that list go then (R2.8).
  func renewRoutes(by peer: Peer, _ hub: HubSession) {
    guard peer.device != nil else { return dropRoutes(by: peer, hub) }
    hub.unfollowAll()
    for remote in hub.reached where remote.route?.peer === peer {
      remote.follow(list: remoteHubs.takeList(), believing: true)
    }
  }

  // MARK: Choosing

  /// Chooses the best route to a hub, or seeks one.
  private func choose(_ remote: RemoteHub) {
    if let best = remote.bestRoute(isSure: true) {
      guard remote.route !== best || remote.seeking != nil else { return }
      return adopt(best, of: remote)
    }
    if let route = remote.route, !remote.has(route) {
      // Acceptable for now.
      if let next = remote.bestRoute(isSure: false) { take(next, to: remote) } else { drop(remote) }
    }
    guard !remote.routes.isEmpty else { return remove(remote) }
    if remote.seek(now.uptime, askAt: now.uptime + Self.seekingTime) {
      if remote.route != nil { publishRoute(to: remote) }
    }
    checkRemoteHubs(by: remote.seeking?.askAt ?? now.uptime)
  }

  private func adopt(_ best: HubRoute, of remote: RemoteHub) {
    if remote.route !== best { take(best, to: remote) }
    remote.noteAnnounced(best)
    if !remote.list.isFollowed { follow(remote, best, believing: best.isDirect) }
    publishRoute(to: remote)
  }

  /// Removes its offers.
  private func drop(_ remote: RemoteHub) {
    guard let route = remote.route else { return }
    unfollow(remote, route)
    remote.choose(nil)
    for offer in remote.offers {
      directory.removeRemote(offer)
      choose(offer.activity)
    }
    remote.forget()
    chooseRetained(of: remote.device)
    publishRoute(to: remote, isLost: true)
  }

  /// It has been sought for a while.
  private func seek(_ remote: RemoteHub) {
    guard let seeking = remote.seeking else { return }
    guard seeking.askAt <= now.uptime else { return checkRemoteHubs(by: seeking.askAt) }
    if seeking.since + Self.offerGraceTime <= now.uptime { drop(remote) }
    let pause = max(Self.seekInterval, now.uptime - seeking.since)
    let next = min(now.uptime + pause, remote.route == nil ? .max : seeking.since + Self.offerGraceTime)
    remote.askAgain(at: next)
    if seeking.since + Self.staleVersionTimeout <= now.uptime {
      remote.takeAny()
      return choose(remote)
    }
    checkRemoteHubs(by: next)
    let (sequence, overflow) = (remote.shortest?.sequence ?? 0).addingReportingOverflow(1)
    for route in remote.routes where !route.isSought && !overflow {
      send(.seek(remote.id, sequence: sequence), to: route.peer)
    }
  }

  private func take(_ best: HubRoute, to remote: RemoteHub) {
    if let route = remote.route, route.peer !== best.peer { unfollow(remote, route) }
    remote.choose(best)
    for offer in remote.offers { directory.move(offer, to: best.peer) }
  }

  func follow(_ remote: RemoteHub, _ route: HubRoute, believing: Bool) {
    remote.follow(list: remoteHubs.takeList(), believing: believing)
    // A hub sends its own offers without a request.
    if !route.isDirect { send(.follow(remote.id, list: remote.list.number), to: route.peer) }
  }

  private func unfollow(_ remote: RemoteHub, _ route: HubRoute) {
    if remote.list.isFollowed, !route.isDirect, route.peer.isLinked { send(.unfollow(remote.id), to: route.peer) }
    remote.unfollow()
  }

  func checkRemoteHubs(by uptime: Int64) { remoteHubs.check(by: uptime) }

  var nextDeadline: Int64? { remoteHubs.nextDeadline }

  func tick() {
    guard remoteHubs.takeDue(now.uptime) else { return }
    for remote in remoteHubs.all {
      seek(remote)
      catchUp(remote)
    }
  }

  // MARK: Publishing

  private func publishRoute(to remote: RemoteHub, isLost: Bool = false) {
    if remoteHubs.isFirst(remote) { publishRoute(to: remote.id, isLost: isLost) }
  }

  /// Announces a changed or lost route to the linked hubs.
  /// - Parameter toDevices: whether also to linked devices.
  func publishRoute(to id: Identifier, isLost: Bool = false, toDevices: Bool = true) {
    for peer in peers.hubs where peer.isLinked && (toDevices || peer.device == nil) {
      guard let hub = peer.hub else { continue }
      if isLost {
        guard hub.loseRoute(to: id) else { continue }
      }
      if peer.pending.isEmpty, mayUpdate(peer) { sendRoute(to: id, peer, hub) } else { wait(.route(id), for: peer) }
    }
  }

  /// Sends a hub the current route to another.
  func sendRoute(to id: Identifier, _ peer: Peer, _ hub: HubSession) {
    // A device learns of no other hub: it asks for no offers that came by a link.
    guard peer.device == nil || id == identity.id else { return }
    // Also sends that there was none in between: offers through this hub are then void.
    if hub.takeLostRoute(to: id) { send(.route(to: id, nil, isSought: false), to: peer) }
    let remote = remoteHubs[id]
    let isSought = remote?.seeking != nil && remote?.route != nil
    if let route = route(to: id), route.hubs.count <= Route.limit, !route.hubs.contains(hub.identity.id) {
      hub.told(id)
      send(.route(to: id, route, isSought: false), to: peer)
    } else if hub.isAnnounced(id) {
      // Followers through this hub wait; others have no use for it.
      let mayWait = isSought && hub.follows(id)
      if !mayWait { hub.clearAnnounced(id) }
      send(.route(to: id, nil, isSought: mayWait), to: peer)
    }
  }

  /// The route of this hub; nil if there is none, or it is sought.
  private func route(to id: Identifier) -> Route? {
    if id == identity.id { return Route([id], sequence: remoteHubs.ownRoute.sequence) }
    guard let remote = remoteHubs[id], let route = remote.route, remote.seeking == nil else { return nil }
    return Route([identity.id] + route.hubs, sequence: route.sequence)
  }

  /// Sends everything to a linked hub, from the beginning.
  func publishEverything(_ peer: Peer, _ hub: HubSession) {
    hub.resetAnnouncements()
    peer.pending.replace(by: remoteHubs.all.map { .route($0.id) })
    if directory.number > 0 || peer.device != nil {
      peer.pending.append(.route(identity.id))
      listOffers(of: identity.id, to: peer)
    }
    sendPending(peer)
  }
}
