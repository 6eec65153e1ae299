// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A pending update about offers for a peer.
struct OfferUpdate: Hashable {
  enum Kind: UInt8 {
    /// An update of an activity, to an app.
    case activity
    /// An update of a hub's offer, to another hub.
    case offer
    /// The end of the list of a hub's offers.
    case listed
    /// An update of the route to a hub.
    case route
  }

  let kind: Kind
  /// The hub of the offer or route; `none` for an activity.
  let hub: Identifier
  let activity: Identifier

  static func activity(_ id: Identifier) -> OfferUpdate { OfferUpdate(kind: .activity, hub: none, activity: id) }
  static func offer(_ hub: Identifier, _ id: Identifier) -> OfferUpdate {
    OfferUpdate(kind: .offer, hub: hub, activity: id)
  }
  static func listed(_ hub: Identifier) -> OfferUpdate { OfferUpdate(kind: .listed, hub: hub, activity: none) }
  static func route(_ hub: Identifier) -> OfferUpdate { OfferUpdate(kind: .route, hub: hub, activity: none) }

  private static var none: Identifier { Identifier(high: 0, low: 0) }
}

/// The pending updates for a peer, each once, in order of arrival.
final class PendingUpdates {
  /// Up to this many are searched; beyond that a set is used.
  private static let few = 16

  private var order: [OfferUpdate] = []
  private var start = 0
  /// The entries of `order` from `start` on, if there were more than a few since it was empty.
  private var members: Set<OfferUpdate> = .init()
  /// The activities of those pending updates that would be the first that the peer gets of them.
  private var unseen: Set<Identifier> = .init()

  /// Whether to send `ready` once nothing is pending.
  private(set) var isReadyDue = false

  var count: Int { order.count - start }
  var isEmpty: Bool { start == order.count }

  func contains(_ update: OfferUpdate) -> Bool {
    members.isEmpty ? order[start...].contains(update) : members.contains(update)
  }

  /// A present update keeps its position: none overtakes.
  func append(_ update: OfferUpdate) {
    guard !contains(update) else { return }
    if members.isEmpty, count == Self.few { members = Set(order[start...]) }
    order.append(update)
    if !members.isEmpty { members.insert(update) }
  }

  /// Appends the first update of an activity that the peer gets.
  func appendFirst(of activity: Identifier) {
    guard !contains(.activity(activity)) else { return }
    append(.activity(activity))
    unseen.insert(activity)
  }

  /// An activity is no longer offered: removes its pending update if the peer has got none of it.
  /// - Returns: false if the peer has to be told.
  func removeUnseen(_ activity: Identifier) -> Bool {
    guard unseen.remove(activity) != nil else { return false }
    let update = OfferUpdate.activity(activity)
    if let place = order[start...].lastIndex(of: update) { order.remove(at: place) }
    if !members.isEmpty { members.remove(update) }
    if isEmpty { removeAll() }
    return true
  }

  /// Appends it after all pending ones.
  func appendLast(_ update: OfferUpdate) {
    if contains(update), let place = order[start...].firstIndex(of: update) {
      order.remove(at: place)
      if !members.isEmpty { members.remove(update) }
    }
    append(update)
  }

  func removeAll() {
    order = []
    start = 0
    members = .init()
    unseen = .init()
  }

  /// Replaces all of them.
  func replace(by updates: [OfferUpdate]) {
    removeAll()
    for update in updates { append(update) }
  }

  func expectReady() { isReadyDue = true }

  /// - Returns: whether to send `ready` now.
  func takeReady() -> Bool {
    guard isReadyDue, isEmpty else { return false }
    isReadyDue = false
    return true
  }

  func popFirst() -> OfferUpdate? {
    guard start < order.count else { return nil }
    let update = order[start]
    if !members.isEmpty { members.remove(update) }
    if !unseen.isEmpty { unseen.remove(update.activity) }
    start += 1
    if start == order.count {
      // Frees the memory of a burst.
      removeAll()
    } else if start >= 1_024, start * 2 >= order.count {
      order.removeFirst(start)
      start = 0
    }
    return update
  }
}
