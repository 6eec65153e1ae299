// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// An offer: a current activity of an app of this or another device.
final class HubOffer {
  /// Activity and offer retain each other while the offer is active, or a route.
  let activity: KnownActivity
  /// The app, or the hub through which the offer came. Outlives the offer, which it removes when it ends.
  unowned(unsafe) private(set) var peer: Peer
  private(set) var description: OfferDescription
  private(set) var activatedAt: Int64
  private(set) var activation: UInt64
  private(set) var sequence: UInt64
  /// The topic that lists this offer; nil until it becomes the active offer of its activity. Topic and offer retain
  /// each other while listed.
  private(set) var topic: Topic?
  private(set) var index = 0
  /// Its position among the offers of its hub, and the last list that contained it; for another device's offer.
  private(set) var place = 0
  private(set) var list: UInt64 = 0
  /// Its origin on another device; nil for this device.
  let remote: Remote?

  /// The identity of an app of another device, and its hub.
  final class Remote {
    /// The identifier of the activity at that device.
    let activity: Identifier
    let origin: Identifier
    let appName: String
    let bundleIdentifier: String
    let deviceName: String
    let team: String
    /// The device that has had its own offer retained there (R14.5); nil: it is no retained one.
    let retained: RetainedOrigin?
    /// The hub outlives it: the offer is removed when the hub becomes unreachable.
    unowned(unsafe) let home: RemoteHub

    init(_ offer: Offer, _ team: String, _ home: RemoteHub, retained: RetainedOrigin?) {
      activity = offer.description.id
      origin = offer.origin
      appName = offer.appName
      bundleIdentifier = offer.bundleIdentifier
      deviceName = offer.deviceName
      self.team = team
      self.home = home
      self.retained = retained
    }
  }

  init(
    of activity: KnownActivity, peer: Peer, description: OfferDescription, activatedAt: Int64, activation: UInt64,
    sequence: UInt64, remote: Remote? = nil
  ) {
    self.activity = activity
    self.peer = peer
    self.description = description
    self.activatedAt = activatedAt
    self.activation = activation
    self.sequence = sequence
    self.remote = remote
  }

  func enter(_ topic: Topic) { self.topic = topic }
  func moved(to index: Int) { self.index = index }
  func placed(at place: Int) { self.place = place }
  func update(_ description: OfferDescription) { self.description = description }

  func activate(_ activation: UInt64, at uptime: Int64, sequence: UInt64) {
    self.activation = activation
    activatedAt = uptime
    self.sequence = sequence
  }

  /// Records that a list contains it.
  func noteListed(in list: UInt64) { self.list = list }

  /// It now comes through another hub.
  func move(to peer: Peer) { self.peer = peer }

  /// The bytes that it counts as, if it is of another device.
  var cost: Int {
    guard let remote else { return 0 }
    var texts = description.textSize + Text.size(remote.team)
    texts += Text.size(remote.appName) + Text.size(remote.bundleIdentifier) + Text.size(remote.deviceName)
    return 1_024 + texts
  }

  /// Higher if activated later; ties within a millisecond in order of arrival.
  var rank: UInt64 {
    // Ages may reach back before the start of the clock. 2^40 ms are 34 years.
    let shifted = UInt64(clamping: activatedAt + 1 << 40)
    return shifted << 20 | sequence & 0xfffff
  }

  /// The revision of a retained one, as its origin has signed it; 0 for others.
  var revision: UInt64 { remote?.retained?.revision ?? 0 }

  /// Whether the link of a device leads to it.
  var isOfDevice: Bool { remote?.home.device != nil }

  /// The origin.
  var origin: Identifier? { remote?.origin ?? peer.app?.id }

  /// Nil if its app is gone.
  var team: String? { remote?.team ?? peer.app?.team }
  /// A public one is of no team (R13.1).
  var topicKey: TopicKey { Topic.key(team: description.isPublic ? nil : team ?? "", type: description.type) }

  /// Whether it belongs to the same topic as another.
  func isAlike(_ other: HubOffer) -> Bool {
    Text.isSame(description.type, other.description.type) && description.isPublic == other.description.isPublic
      && (description.isPublic || Text.isSame(team ?? "", other.team ?? ""))
  }

  /// Why an app may not continue it (R6.2, R13.1), or nil.
  func obstacle(for app: AppIdentity) -> Routing.Obstacle? {
    let (type, isPublic) = (description.type, description.isPublic)
    if let remote { return Routing.obstacle(for: app, team: remote.team, type: type, isPublic: isPublic) }
    guard let origin = peer.app else { return .isOrigin }
    return Routing.obstacle(for: app, origin: origin, type: type, isPublic: isPublic)
  }
}
