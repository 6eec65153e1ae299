// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The connections of a hub, and the identified peers.
final class PeerTable {
  /// The most connections of one principal without hello (A19). In a crowd, whose apps connect at the same moment, each
  /// process has one.
  static let unidentifiedLimit = 64

  private var byNumber = NumberedList<Peer>()
  private var byApp: [Identifier: Peer] = .init()
  private var appList = UnorderedList<Peer>()
  private var hubList = UnorderedList<Peer>()
  /// Unidentified peers, oldest first.
  private(set) var unidentified: [Peer] = []
  /// Recently departed apps. Messages for them fail at once instead of waiting for re-registration.
  private var departed = RecentIdentifiers()
  private var linksDue = EarliestDeadline()
  /// Changes since the lists were last checked.
  private var hasChanged = false

  deinit { for peer in appList.all + hubList.all { peer.tearDown() } }

  /// The registered apps.
  var apps: [Peer] { appList.all }
  /// Links with other hubs, including unidentified and suspended ones.
  var hubs: [Peer] { hubList.all }

  subscript(number: HubEngine.PeerNumber) -> Peer? { byNumber[number] }
  subscript(app id: Identifier) -> Peer? { byApp[id] }

  /// Whether another connection of its device, which has shown its certificate, is about to take over its session.
  func isBeingReplaced(_ peer: Peer) -> Bool {
    guard let device = peer.device else { return false }
    return hubs.contains { $0 !== peer && $0.device == device && $0.handshake != nil && !$0.isClosing }
  }

  func hasDeparted(_ app: Identifier) -> Bool { departed.contains(app) }

  // MARK: Connections

  func connect(_ peer: Peer) { byNumber.set(peer, as: peer.number) }

  func disconnect(_ number: HubEngine.PeerNumber) -> Peer? { byNumber.remove(number) }

  // MARK: Identified peers

  func addUnidentified(_ peer: Peer) { unidentified.append(peer) }
  func removeUnidentified(_ peer: Peer) { unidentified.remove(peer) }

  /// Removes the oldest unidentified peer of a principal that has as many as it may have.
  /// - Returns: nil if the principal has room for another one.
  func popLongestUnidentified(of principal: Principal) -> Peer? {
    guard unidentified.count(where: { $0.principal == principal }) >= Self.unidentifiedLimit else { return nil }
    guard let oldest = unidentified.first(where: { $0.principal == principal }) else { return nil }
    unidentified.remove(oldest)
    return oldest
  }

  func register(_ peer: Peer, _ app: AppIdentity) {
    removeUnidentified(peer)
    peer.identify(as: .app(AppSession(app)))
    peer.moved(to: appList.append(peer))
    byApp[app.id] = peer
    hasChanged = true
  }

  /// - Returns: false if it is not, or no longer, registered.
  func deregister(_ peer: Peer) -> Bool {
    guard let app = peer.app, byApp[app.id] === peer, appList.has(peer, at: peer.index) else { return false }
    byApp[app.id] = nil
    departed.insert(app.id)
    appList.remove(at: peer.index)?.moved(to: peer.index)
    hasChanged = true
    return true
  }

  func addHub(_ peer: Peer) {
    peer.moved(to: hubList.append(peer))
    hasChanged = true
  }

  /// - Returns: false if it is gone.
  func removeHub(_ peer: Peer) -> Bool {
    guard hubList.has(peer, at: peer.index) else { return false }
    hubList.remove(at: peer.index)?.moved(to: peer.index)
    hasChanged = true
    return true
  }

  // MARK: Deadlines of links

  /// The uptime at which to check the links with other hubs, or nil.
  var nextLinkDeadline: Int64? { linksDue.uptime }
  func checkLinks(by uptime: Int64) { linksDue.set(uptime) }
  /// - Returns: whether to check them now.
  func takeLinksDue(_ now: Int64) -> Bool { linksDue.take(now) }

  // MARK: Invariants

  var brokenCount: StaticString? {
    if byNumber.count < appList.count { return "hub: it lists apps that are not connected" }
    if byApp.count != appList.count { return "hub: an app that is gone is known" }
    guard let principal = unidentified.last?.principal else { return nil }
    return unidentified.count(where: { $0.principal == principal }) > Self.unidentifiedLimit
      ? "hub: too many of one principal have not said who they are" : nil
  }

  /// Returns whether the lists have changed since the last call.
  func takeChange() -> Bool {
    defer { hasChanged = false }
    return hasChanged
  }

  var brokenList: StaticString? {
    let (apps, hubs) = (apps, hubs)
    if !apps.indices.allSatisfy({ apps[$0].index == $0 && apps[$0].app != nil }) {
      return "hub: its list of apps is out of order"
    }
    if !hubs.indices.allSatisfy({ hubs[$0].index == $0 && hubs[$0].isHub }) {
      return "hub: its list of hubs is out of order"
    }
    for peer in hubs where byNumber[peer.number] !== peer && (peer.isClosing || !peer.isSuspended) {
      return "hub: another that is gone is listed"
    }
    return nil
  }
}
