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
    return offers.firstChange { way, hub in way.brokenInvariant(in: hub) }
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
      if peer.hub?.told.contains(where: { offers[$0] == nil }) ?? false {
        return "hub: it has not told that one is gone"
      }
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
    for peer in hubList {
      guard let hub = peer.hub else { continue }
      for place in hub.offers.indices {
        let way = hub.offers[place]
        if way.place != place || way.peer !== peer || !way.activity.hasWay(way) {
          return "hub: a distant offer is out of order"
        }
        if let broken = way.brokenInvariant(in: hub) { return broken }
      }
    }
    return nil
  }
}

extension HubOffer {
  /// Of one that comes by a hub, or came by it.
  fileprivate func brokenInvariant(in hub: LinkedHub) -> StaticString? {
    let isWay = activity.hasWay(self)
    if isWay != hub.has(self) { return "hub: a distant offer is no way, or a way is no offer" }
    guard isWay else { return nil }
    if peer.hub !== hub || distant == nil { return "hub: a distant offer is out of order" }
    return activity.offer == nil || !activity.isListed ? "hub: what can be reached is not offered" : nil
  }
}
