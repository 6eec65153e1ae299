import SegueModel
import SegueWire

/// The invariants of the hub, checked after each simulated step (R11.1).
extension HubEngine {
  /// Nil: nothing.
  public var brokenInvariant: StaticString? { peers.brokenCount ?? brokenList ?? offers.brokenInvariant }

  /// From now on `brokenByChange` is called after each call.
  public func keepChanges() { offers.directory.keepChanges() }

  /// Checks only what has changed since the last check.
  public func brokenByChange() -> StaticString? {
    if let broken = peers.brokenCount { return broken }
    if peers.takeChange(), let broken = brokenList { return broken }
    return offers.directory.firstChange { $0.brokenInvariant }
  }

  private var brokenList: StaticString? {
    continuations.brokenInvariant
      ?? (offers.directory.hasEmptyTopic ? "hub: an empty topic remains" : peers.brokenList)
  }

  /// State that should have been released by now, or nil (leak check).
  public var leak: StaticString? {
    connections.leak ?? continuations.leak ?? explanations.leak ?? transfers.leak ?? offers.leak
  }

}

extension HubContinuations {
  var leak: StaticString? {
    if table.hasAttempts { return "hub: it keeps a continuation" }
    return table.hasHeld ? "hub: a held message has no route" : nil
  }

  var brokenInvariant: StaticString? {
    table.isConsistent ? nil : "hub: a continuation is listed that it does not know"
  }
}

extension HubExplanations {
  var leak: StaticString? { isIdle ? nil : "hub: it has not explained what was asked" }
}

extension HubTransfers {
  var leak: StaticString? {
    if linkedStreams.hasChanged { return "hub: its owner has a stream to look after" }
    return linkedStreams.isEmpty ? nil : "hub: it keeps a stream"
  }
}

extension HubOffers {
  var leak: StaticString? {
    for peer in peers.hubs {
      if let hub = peer.hub, hub.followsAny(where: { remoteHubs[$0] == nil }) || hub.hasLostRoutes {
        return "hub: it keeps something of a hub that is gone"
      }
    }
    if remoteHubs.all.contains(where: { $0.behindSince != nil || $0.seeking != nil || $0.route == nil || !$0.isListed })
    {
      return "hub: it waits for what is offered elsewhere"
    }
    return directory.hasEmpty ? "hub: an activity without an offer remains" : nil
  }

  var brokenInvariant: StaticString? {
    var bytes = 0
    if !remoteHubs.isConsistent { return "hub: its list of remote hubs is out of order" }
    for remote in remoteHubs.all {
      if remote.routes.isEmpty { return "hub: it knows a hub to which there is no route" }
      if remote.route == nil ? !remote.offers.isEmpty : !remote.routes.contains(where: { $0 === remote.route }) {
        return "hub: what cannot be reached is offered"
      }
      for route in remote.routes {
        if !route.peer.isLinked { return "hub: a route leads through a hub that is not linked" }
        bytes += route.cost
      }
      for place in remote.offers.indices {
        let offer = remote.offers[place]
        if offer.place != place || offer.remote?.home !== remote || !offer.activity.has(offer) {
          return "hub: a remote offer is out of order"
        }
        if let broken = offer.brokenInvariant { return broken }
        bytes += offer.cost
      }
    }
    return bytes == remoteHubs.bytes.count ? nil : "hub: it has miscounted what linked hubs have it keep"
  }
}

extension HubOffer {
  /// Checks an offer of another device.
  fileprivate var brokenInvariant: StaticString? {
    guard let home = remote?.home, activity.has(self), home.has(self) else {
      return "hub: a remote offer is not one of its activity, or of its hub"
    }
    if home.route?.peer !== peer { return "hub: an offer does not come by the chosen route" }
    return activity.offer == nil || !activity.isListed ? "hub: what can be reached is not offered" : nil
  }
}
