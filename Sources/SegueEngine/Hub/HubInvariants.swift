import SegueModel

extension HubEngine {
  /// What is not as it must always be; nil: nothing. Asked after each simulated step (R11.1).
  public var brokenInvariant: StaticString? {
    if peers.count < peerList.count { return "hub: it lists apps that are not connected" }
    if !peerList.indices.allSatisfy({ peerList[$0].index == $0 && peerList[$0].app != nil }) {
      return "hub: its list of apps is out of order"
    }
    if continuations.count != continuationList.count { return "hub: its two lists of continuations differ" }
    if strangers.count > Self.strangerLimit { return "hub: too many have not said who they are" }
    if !hubList.indices.allSatisfy({ hubList[$0].index == $0 && hubList[$0].isHub }) {
      return "hub: its list of hubs is out of order"
    }
    for peer in hubList {
      guard let hub = peer.hub else { continue }
      for index in hub.offers.indices {
        let offer = hub.offers[index]
        if offer.distant?.index != index || offer.peer !== peer { return "hub: a distant offer is out of order" }
        let activity = offer.activity
        if !activity.ways.contains(where: { $0 === offer }) { return "hub: a distant offer is no way" }
        if activity.offer == nil || !activity.isListed { return "hub: what can be reached is not offered" }
      }
    }
    return nil
  }
}
