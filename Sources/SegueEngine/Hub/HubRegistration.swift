import SegueModel
import SegueWire

/// Apps come and go.
extension HubEngine {
  func register(_ app: AppIdentity, _ peer: Peer, version: UInt64, minimum: UInt64) {
    guard minimum <= ProtocolVersion.current, version >= ProtocolVersion.minimum else {
      let ours = "\(ProtocolVersion.minimum)…\(ProtocolVersion.current)"
      return dismiss(
        peer, SegueError(.unsupportedVersion, "the hub speaks protocol \(ours), the app \(minimum)…\(version)"))
    }
    if let former = apps[app.id] {
      // The same app again: its former connection is dead, we have only not heard of it.
      dismiss(former, SegueError(.connectionUnavailable, "the app has connected again"))
      forget(former)
    }
    strangers.removeAll { $0 === peer }
    peer.app = app
    peer.index = peerList.count
    peerList.append(peer)
    apps[app.id] = peer
    send(
      .welcome(version: ProtocolVersion.current, generation: generation, deviceName: identity.deviceName), to: peer)
    subscribe(peer, app)
    peer.isReadyDue = true
    tellPending(peer)
    tellHeldOutcomes(of: app.id)
  }

  private func subscribe(_ peer: Peer, _ app: AppIdentity) {
    if app.isChooser {
      choosers.append(peer)
      peer.pending = PendingOffers(offeredIdentifiers.map { .activity($0) })
      return
    }
    for type in app.types {
      let key = Topic.key(team: app.team, type: type)
      let topic = topic(key)
      guard !topic.subscribers.contains(where: { $0 === peer }) else { continue }
      topic.subscribers.append(peer)
      for offer in topic.offers { peer.pending.append(.activity(offer.description.id)) }
    }
  }

  /// Takes a peer out of everything, and tells those who had to do with it. A second time: nothing.
  @inline(never)
  func forget(_ peer: Peer) {
    if peer.isHub { return forgetHub(peer) }
    strangers.removeAll { $0 === peer }
    guard let app = peer.app, apps[app.id] === peer, peer.index < peerList.count, peerList[peer.index] === peer else {
      return
    }
    if let offer = peer.offer { withdraw(offer) }
    apps[app.id] = nil
    departed.insert(app.id)
    // Streams that it was asked for and has not answered.
    for crossing in crossings where crossing.app == app.id && !crossing.isAsker && crossing.outgoing == .unopened {
      fail(crossing, SegueError(.connectionUnavailable, "the app where the activity lives has gone"))
    }
    let last = peerList.removeLast()
    if last !== peer {
      peerList[peer.index] = last
      last.index = peer.index
    }
    choosers.removeAll { $0 === peer }
    for type in app.types where !app.isChooser {
      let key = Topic.key(team: app.team, type: type)
      topics[key]?.subscribers.removeAll { $0 === peer }
      dropIfEmpty(topics[key])
    }
    for path in paths.remove(of: peer) { tellLost(path, beyond: peer) }
    dismissLinks(of: peer)
    dropExplains(of: peer)
    held.removeAll { $0.peer === peer }
    heldOutcomes.removeAll { $0.peer === peer }
    leaveContinuations(peer)
    peer.pending = PendingOffers()
  }

  func dropIfEmpty(_ topic: Topic?) {
    guard let topic, topic.offers.isEmpty, topic.subscribers.isEmpty else { return }
    topics[topic.key] = nil
  }
}
