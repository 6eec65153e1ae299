import SegueModel
import SegueWire

/// What is not as it must always be. Asked after each simulated step (R11.1).
extension HubEngine {
  /// Nil: nothing.
  public var brokenInvariant: StaticString? { brokenCount ?? brokenList ?? brokenWay }

  /// From now on `brokenByChange` is asked after each call.
  public func keepChanges() { offers.keepsChanges = true }

  /// The same of what has changed since it was asked last: the rest is as it was then.
  public func brokenByChange() -> StaticString? {
    if let broken = brokenCount { return broken }
    if haveListsChanged {
      haveListsChanged = false
      if let broken = brokenList { return broken }
    }
    return offers.firstChange { $0.brokenInvariant }
  }

  /// What it keeps although nobody wants anything of it, for longer than any deadline. Nil: nothing.
  public var leftover: StaticString? {
    if !strangers.isEmpty { return "hub: it keeps one that never said who it is" }
    if !continuationList.isEmpty { return "hub: it keeps a continuation" }
    if !held.isEmpty || !heldOutcomes.isEmpty { return "hub: it holds what nobody comes for" }
    if !explained.isEmpty { return "hub: it has not explained what was asked" }
    if !changedCrossings.isEmpty { return "hub: its owner has a stream to look after" }
    if !crossings.isEmpty { return "hub: it keeps a stream" }
    if !transfers.isEmpty || !closable.isEmpty { return "hub: its owner has something to do" }
    for peer in peerList + hubList {
      if !peer.continuations.isEmpty { return "hub: a peer keeps a continuation" }
      if !peer.unanswered.isEmpty { return "hub: it waits for the answer of an app for ever" }
      if !peer.relays.isEmpty { return "hub: it keeps the way of a transfer" }
      if peer.link.hasChannels { return "hub: a channel stays open" }
      if !peer.pending.isEmpty || peer.isReadyDue { return "hub: a peer has yet to be told of offers" }
      if peer.isClosing { return "hub: one that closes is listed" }
      if let hub = peer.hub, hub.followed.contains(where: { distantHubs[$0] == nil }) || !hub.lostRoutes.isEmpty {
        return "hub: it keeps something of a hub that is gone"
      }
    }
    if distantHubList.contains(where: { $0.behindSince != nil || $0.seeking != nil || $0.way == nil || !$0.isListed }) {
      return "hub: it waits for what is offered elsewhere"
    }
    return offers.hasEmpty ? "hub: it keeps an activity that nobody offers" : nil
  }

  private var brokenCount: StaticString? {
    if peers.count < peerList.count { return "hub: it lists apps that are not connected" }
    if apps.count != peerList.count { return "hub: an app that is gone is known" }
    if continuations.count != continuationList.count { return "hub: its two lists of continuations differ" }
    return strangers.count > Self.strangerLimit ? "hub: too many have not said who they are" : nil
  }

  private var brokenList: StaticString? {
    if !peerList.indices.allSatisfy({ peerList[$0].index == $0 && peerList[$0].app != nil }) {
      return "hub: its list of apps is out of order"
    }
    if !hubList.indices.allSatisfy({ hubList[$0].index == $0 && hubList[$0].isHub }) {
      return "hub: its list of hubs is out of order"
    }
    for peer in hubList where peers[peer.number] !== peer && (peer.isClosing || peer.hub?.resumeBy == nil) {
      return "hub: another that is gone is listed"
    }
    if topics.values.contains(where: { $0.offers.isEmpty && $0.subscribers.isEmpty }) {
      return "hub: a topic is kept for nobody"
    }
    return nil
  }

  private var brokenWay: StaticString? {
    var bytes = 0
    for place in distantHubList.indices {
      let distant = distantHubList[place]
      if distant.index != place || distantHubs[distant.id] !== distant || distant.ways.isEmpty {
        return "hub: its list of distant hubs is out of order"
      }
      if distant.way == nil ? !distant.offers.isEmpty : !distant.ways.contains(where: { $0 === distant.way }) {
        return "hub: what cannot be reached is offered"
      }
      for way in distant.ways {
        if !way.peer.isLinked { return "hub: a way leads by a hub that is not linked" }
        bytes += way.cost
      }
      for place in distant.offers.indices {
        let offer = distant.offers[place]
        if offer.place != place || offer.distant?.home !== distant || !offer.activity.hasWay(offer) {
          return "hub: a distant offer is out of order"
        }
        if let broken = offer.brokenInvariant { return broken }
        bytes += offer.cost
      }
    }
    return bytes == linkedBytes.count ? nil : "hub: it has miscounted what linked hubs have it keep"
  }
}

extension HubOffer {
  /// Of one of another device.
  fileprivate var brokenInvariant: StaticString? {
    guard let home = distant?.home, activity.hasWay(self), home.has(self) else {
      return "hub: a distant offer is no way, or a way is no offer"
    }
    if home.way?.peer !== peer { return "hub: an offer does not come by the chosen way" }
    return activity.offer == nil || !activity.isListed ? "hub: what can be reached is not offered" : nil
  }
}
