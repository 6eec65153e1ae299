// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The invariants of the offers of a hub, checked after each simulated step (R11.1).
extension HubOffers {
  var hasEmptyTopic: Bool { directory.hasEmptyTopic }

  /// From now on `brokenByChange` is called after each call.
  func keepChanges() { directory.keepChanges() }

  /// Checks only what has changed since the last check.
  func brokenByChange() -> StaticString? { directory.firstChange { $0.brokenInvariant } }

  var leak: StaticString? {
    for peer in peers.hubs {
      if let hub = peer.hub, hub.followsAny(where: { remoteHubs[$0] == nil }) || hub.hasLostRoutes {
        return "hub: it keeps something of a hub that is gone"
      }
    }
    if remoteHubs.all.contains(where: {
      $0.version.behindSince != nil || $0.seeking != nil || $0.route == nil || !$0.list.hasBegun
    }) {
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
        if !route.peer.isLinked, !peers.isBeingReplaced(route.peer) {
          return "hub: a route leads through a hub that is not linked"
        }
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
    // A retained one is hidden once its origin has ended it.
    if remote?.retained != nil { return nil }
    return activity.offer == nil || !activity.isListed ? "hub: what can be reached is not offered" : nil
  }
}
