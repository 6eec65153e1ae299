// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The offers of one activity at a hub.
final class KnownActivity {
  let id: Identifier
  /// The active offer.
  fileprivate(set) var offer: HubOffer?
  /// The offers of it from other devices' hubs, one each. The first is active, unless an app of this device offers it.
  fileprivate(set) var remoteOffers: [HubOffer] = []
  /// Whether it is found by its identifier.
  fileprivate(set) var isListed = true

  init(_ id: Identifier) { self.id = id }

  func remoteOffer(of home: RemoteHub) -> HubOffer? { remoteOffers.first { $0.remote?.home === home } }
  func has(_ offer: HubOffer) -> Bool { remoteOffers.contains { $0 === offer } }

  /// Breaks the reference cycle of offer and activity when the hub ends.
  func tearDown() {
    offer = nil
    remoteOffers = []
  }
}

/// The topic of offers and apps: team and type, as bytes, or of public offers the type alone.
typealias TopicKey = [UInt8]

/// The offers of one team and type, or the public ones of a type, and the apps that see them.
final class Topic {
  let key: TopicKey
  fileprivate var offers = UnorderedList<HubOffer>()
  fileprivate(set) var subscribers: [Peer] = []

  fileprivate init(_ key: TopicKey) { self.key = key }

  fileprivate var isEmpty: Bool { offers.isEmpty && subscribers.isEmpty }

  fileprivate func tearDown() {
    offers.removeAll()
    subscribers = []
  }

  /// - Parameter team: nil for public offers.
  static func key(team: String?, type: String) -> TopicKey {
    // Neither a team nor a type begins with this byte, which never occurs in UTF-8.
    guard let team else { return [0xff, 0xff] + Text.bytes(type) }
    return Text.withBytes(team) { team in
      Text.withBytes(type) { type in
        TopicKey(unsafeUninitializedCapacity: team.count + 1 + type.count) { key, count in
          let key = UnsafeMutableRawBufferPointer(key)
          key.copyMemory(from: team)
          // This byte never occurs in UTF-8.
          key[team.count] = 0xff
          UnsafeMutableRawBufferPointer(rebasing: key[(team.count + 1)...]).copyMemory(from: type)
          count = key.count
        }
      }
    }
  }
}

/// The offered activities, and the apps that see them. All changes of offers happen here, so that they can be checked
/// one by one.
final class OfferDirectory {
  private var activities: [Identifier: KnownActivity] = .init()
  private var topics: [TopicKey: Topic] = .init()
  /// Peers that see everything.
  private(set) var choosers: [Peer] = []
  private var lastSequence: UInt64 = 0
  /// The number of the last published change of this device's offers; 0 if it never had any.
  private(set) var number: UInt64 = 0
  /// Changed routes, recorded only for the invariant checks.
  private var changes: [HubOffer] = []
  private var keepsChanges = false

  /// From now on records changed routes.
  func keepChanges() { keepsChanges = true }

  var count: Int { activities.count }
  var isEmpty: Bool { activities.isEmpty }

  /// Whether an activity is known without an offer.
  var hasEmpty: Bool { activities.values.contains { $0.offer == nil && $0.remoteOffers.isEmpty } }

  /// The active offer of an activity.
  subscript(id: Identifier) -> HubOffer? { activities[id]?.offer }

  /// Nil if it is unknown.
  func known(_ id: Identifier) -> KnownActivity? { activities[id] }

  /// Adds an unknown activity: give it an offer, or call `removeIfEmpty`.
  func activity(_ id: Identifier) -> KnownActivity {
    if let known = activities[id] { return known }
    let activity = KnownActivity(id)
    activities[id] = activity
    return activity
  }

  func removeIfEmpty(_ activity: KnownActivity) {
    guard activity.isListed, activity.offer == nil, activity.remoteOffers.isEmpty else { return }
    activity.isListed = false
    activities[activity.id] = nil
  }

  /// Breaks ties between offers of one millisecond.
  func takeSequence() -> UInt64 {
    lastSequence += 1
    return lastSequence
  }

  /// An offer of this device changes.
  /// - Returns: whether it is the first.
  func countChange() -> Bool {
    number += 1
    return number == 1
  }

  // MARK: Active offers

  /// Makes it the active offer of its activity.
  /// - Parameter former: the one that it replaces.
  func enter(_ offer: HubOffer, former: HubOffer? = nil) {
    set(offer, of: offer.activity)
    let shared = former.flatMap { $0.isAlike(offer) ? $0.topic : nil }
    let topic = shared ?? topic(offer.topicKey)
    offer.enter(topic)
    offer.moved(to: topic.offers.append(offer))
  }

  /// Undoes `enter`. The topic stays until `removeIfEmpty`.
  func take(_ offer: HubOffer) {
    set(nil, of: offer.activity)
    guard let topic = offer.topic else { return }
    topic.offers.remove(at: offer.index)?.moved(to: offer.index)
  }

  private func topic(_ key: TopicKey) -> Topic {
    if let topic = topics[key] { return topic }
    let topic = Topic(key)
    topics[key] = topic
    return topic
  }

  func removeIfEmpty(_ topic: Topic?) {
    guard let topic, topic.isEmpty else { return }
    topics[topic.key] = nil
  }

  // MARK: Visibility

  /// - Returns: the offers that such an app sees.
  func subscribe(_ peer: Peer, _ app: AppIdentity) -> [Identifier] {
    var seen: [Identifier] = []
    for type in app.types {
      for team in [app.team, nil] {
        let topic = topic(Topic.key(team: team, type: type))
        guard !topic.subscribers.contains(where: { $0 === peer }) else { continue }
        topic.subscribers.append(peer)
        seen += topic.offers.all.map { $0.description.id }
      }
    }
    return seen
  }

  func subscribeToAll(_ peer: Peer) { choosers.append(peer) }

  func unsubscribe(_ peer: Peer, _ app: AppIdentity) {
    choosers.remove(peer)
    for type in app.types where !app.isChooser {
      for team in [app.team, nil] {
        guard let topic = topics[Topic.key(team: team, type: type)] else { continue }
        topic.subscribers.remove(peer)
        removeIfEmpty(topic)
      }
    }
  }

  var hasTopics: Bool { !topics.isEmpty }
  /// Invariant: there is none.
  var hasEmptyTopic: Bool { topics.values.contains { $0.isEmpty } }

  /// Makes an offer the active one; nil for none.
  private func set(_ offer: HubOffer?, of activity: KnownActivity) {
    activity.offer = offer
    if keepsChanges, let remote = activity.remoteOffers.first { changes.append(remote) }
  }

  func addRemote(_ offer: HubOffer) {
    offer.remote?.home.append(offer)
    offer.activity.remoteOffers.append(offer)
    offer.peer.hub?.count(offer.cost)
    if keepsChanges { changes.append(offer) }
  }

  /// It now comes through another hub.
  func move(_ offer: HubOffer, to peer: Peer) {
    offer.peer.hub?.count(-offer.cost)
    offer.move(to: peer)
    peer.hub?.count(offer.cost)
    if keepsChanges { changes.append(offer) }
  }

  /// Breaks the reference cycles of offers, activities, topics and peers when the hub ends.
  func tearDown() {
    for activity in activities.values { activity.tearDown() }
    for topic in topics.values { topic.tearDown() }
  }

  /// No effect for an offer of this device.
  func removeRemote(_ offer: HubOffer) {
    guard let home = offer.remote?.home else { return }
    offer.activity.remoteOffers.remove(offer)
    offer.peer.hub?.count(-offer.cost)
    let moved = home.remove(offer)
    guard keepsChanges else { return }
    // A removed one may have dangling references.
    changes.remove(offer)
    if let remote = offer.activity.remoteOffers.first { changes.append(remote) }
    if let moved { changes.append(moved) }
  }

  /// The first violation that `check` finds in routes changed since the last call, or nil.
  func firstChange(_ check: (HubOffer) -> StaticString?) -> StaticString? {
    guard !changes.isEmpty else { return nil }
    defer { changes.removeAll(keepingCapacity: true) }
    for index in changes.indices { if let broken = check(changes[index]) { return broken } }
    return nil
  }
}
