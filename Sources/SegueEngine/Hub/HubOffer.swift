import SegueModel
import SegueWire

/// A current activity, of an app of this device or of another.
final class HubOffer {
  /// They hold each other as long as the offer counts, or is a way.
  let activity: KnownActivity
  /// The app, or the hub that it comes by. Outlives the offer: it drops it when it goes.
  unowned(unsafe) private(set) var peer: Peer
  var description: OfferDescription
  var activatedAt: Int64
  var activation: UInt64
  var sequence: UInt64
  /// Where it belongs, and stands there; nil: it has not counted yet. They hold each other as long as it counts.
  var topic: Topic?
  var index = 0
  /// Where it stands among the offers of its hub, and the last list that it was in; of another device's.
  var place = 0
  var list: UInt64 = 0
  /// Where it comes from; nil: it is of this device.
  let remote: Remote?

  /// What an app of another device says of itself, and its hub.
  final class Remote {
    let origin: Identifier
    let appName: String
    let bundleIdentifier: String
    let deviceName: String
    let team: String
    /// Outlives it: it goes when that cannot be reached any more.
    unowned(unsafe) let home: RemoteHub

    init(_ offer: Offer, _ team: String, _ home: RemoteHub) {
      origin = offer.origin
      appName = offer.appName
      bundleIdentifier = offer.bundleIdentifier
      deviceName = offer.deviceName
      self.team = team
      self.home = home
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

  /// It comes by another hub now.
  func move(to peer: Peer) { self.peer = peer }

  /// Bytes that it is counted as, if it is another device's.
  var cost: Int {
    guard let remote else { return 0 }
    var texts = description.type.utf8.count + (description.title?.utf8.count ?? 0) + remote.team.utf8.count
    texts += remote.appName.utf8.count + remote.bundleIdentifier.utf8.count + remote.deviceName.utf8.count
    return 1_024 + texts
  }

  /// The later activated, the higher; those of one millisecond in the order in which we heard of them.
  var rank: UInt64 {
    // The start of the clock is no bound: ages may reach back before it. 2^40 ms are 34 years.
    let shifted = UInt64(clamping: activatedAt + 1 << 40)
    return shifted << 20 | sequence & 0xfffff
  }

  /// The app where it lives.
  var origin: Identifier? { remote?.origin ?? peer.app?.id }

  /// Nil: it is no app's any more.
  var team: String? { remote?.team ?? peer.app?.team }
  var topicKey: TopicKey { Topic.key(team: team ?? "", type: description.type) }

  /// Whether it belongs where the other does.
  func isAlike(_ other: HubOffer) -> Bool {
    Text.isSame(team ?? "", other.team ?? "") && Text.isSame(description.type, other.description.type)
  }

  /// Why an app may not continue it (R6.2); nil: it may.
  func obstacle(for app: AppIdentity) -> Routing.Obstacle? {
    if let remote { return Routing.obstacle(for: app, team: remote.team, type: description.type) }
    guard let origin = peer.app else { return .isOrigin }
    return Routing.obstacle(for: app, origin: origin, type: description.type)
  }
}
