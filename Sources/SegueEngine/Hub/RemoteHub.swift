import SegueModel
import SegueWire

/// The hub of another device that has offers, wherever it is: the ways to it, and its offers as far as they are known.
/// Nothing is kept of what has gone.
final class RemoteHub {
  let id: Identifier
  /// One of each linked hub that has a route to it. In no order.
  private(set) var ways: [HubRoute] = []
  /// The way that was chosen. All that is heard of its offers comes by that: what others say is not believed.
  private(set) var way: HubRoute?
  /// That way was asked for its offers.
  private(set) var isFollowed = false
  /// The shortest route that was told to others, of the highest sequence; none: any will do. What is longer may be
  /// what another has made of that, and be lost with it.
  private(set) var shortest: Distance?
  /// The way was lost: since when, and the uptime at which others are asked for one. Nil: there is one.
  private(set) var seeking: (since: Int64, askAt: Int64)?
  /// The last sequence that this hub has asked for on behalf of another, and the uptime of that.
  private var asked: (sequence: UInt64, at: Int64) = (0, 0)
  /// How far its offers are known.
  private(set) var number: UInt64 = 0
  /// The number of the last list of its offers that was asked for.
  private(set) var list: UInt64 = 0
  /// That list has begun: what comes by the chosen way is what it was asked for.
  private(set) var isListed = false
  /// Uptime at which the chosen way was first heard to tell of less than is known; nil: it does not.
  private(set) var behindSince: Int64?
  /// In no order; `OfferDirectory` sees to it that they are those of their activities.
  private(set) var offers: [HubOffer] = []
  /// Where it stands in the list of its hub.
  var index = 0

  typealias Distance = (sequence: UInt64, count: Int)

  /// - Parameter shortest: of a route that was lost not long ago.
  init(_ id: Identifier, shortest: Distance?) {
    self.id = id
    self.shortest = shortest
  }

  func way(by peer: Peer) -> HubRoute? { ways.first { $0.peer === peer } }
  func has(_ way: HubRoute) -> Bool { ways.contains { $0 === way } }

  func set(_ way: HubRoute?, by peer: Peer) {
    if let index = ways.firstIndex(where: { $0.peer === peer }) {
      peer.hub?.remove(ways.remove(at: index))
    }
    guard let way else { return }
    peer.hub?.append(way)
    ways.append(way)
  }

  /// The one that passes the fewest hubs; of those, that which was chosen before, or the one by the hub that was
  /// linked first. - Parameter isSure: it is not what another may have made of a route that is lost.
  func bestWay(isSure: Bool) -> HubRoute? {
    var best: HubRoute?
    for way in ways where !way.isSought && (!isSure || mayTake(way)) {
      if let best {
        guard way.hubs.count <= best.hubs.count else { continue }
        if way.hubs.count == best.hubs.count,
          best.peer === self.way?.peer || way.peer !== self.way?.peer && way.peer.number > best.peer.number
        {
          continue
        }
      }
      best = way
    }
    return best
  }

  /// What the hub itself says is so; what others say, if it is newer, or nearer to it than this one ever was (Babel,
  /// RFC 8966 3.5.1).
  private func mayTake(_ way: HubRoute) -> Bool {
    guard let shortest, !way.isDirect else { return true }
    return way.sequence > shortest.sequence || way.sequence == shortest.sequence && way.hubs.count <= shortest.count
  }

  func choose(_ way: HubRoute?) { self.way = way }

  // MARK: A way that was lost

  /// Since now, unless one is sought already.
  func seek(_ now: Int64, askAt: Int64) -> Bool {
    guard seeking == nil else { return false }
    seeking = (now, askAt)
    return true
  }

  func askAgain(at uptime: Int64) { seeking?.askAt = uptime }

  /// Another asks for a newer one: many may do so for the same reason.
  /// - Returns: whether the chosen way is to be asked for it.
  func passOn(_ sequence: UInt64, _ now: Int64, pause: Int64) -> Bool {
    guard asked.sequence != sequence || asked.at + pause <= now else { return false }
    asked = (sequence, now)
    return true
  }

  /// That way is told to others.
  func settle(_ way: HubRoute) {
    seeking = nil
    if let shortest, !way.isDirect, way.sequence == shortest.sequence, way.hubs.count >= shortest.count { return }
    shortest = (way.sequence, way.hubs.count)
  }

  /// Nobody has known better for long: any way will do.
  func takeAny() { shortest = nil }

  // MARK: How far its offers are known

  /// From now on offers are told anew: those that are not, once the list is complete, are gone.
  /// - Parameter believing: whatever was known before.
  func follow(believing: Bool) {
    isFollowed = true
    list &+= 1
    isListed = way?.isDirect ?? false
    behindSince = nil
    if believing { number = 0 }
  }

  func unfollow() {
    isFollowed = false
    isListed = false
  }

  /// A list begins.
  func begin(_ list: UInt64) { if self.list == list { isListed = true } }

  /// Whether what is told of it is no older than what is known. What a hub says of its own offers is always so.
  func takes(_ number: UInt64, at uptime: Int64) -> Bool {
    guard way?.isDirect ?? false || number >= self.number else {
      if behindSince == nil { behindSince = uptime }
      return false
    }
    self.number = number
    behindSince = nil
    return true
  }

  /// There is no way: nothing of its offers is known.
  func forget() {
    number = 0
    behindSince = nil
  }

  // MARK: Its offers

  func append(_ offer: HubOffer) {
    offer.place = offers.count
    offers.append(offer)
  }

  /// - Returns: the one that took its place, if another did.
  func remove(_ offer: HubOffer) -> HubOffer? {
    let last = offers.removeLast()
    guard last !== offer else { return nil }
    offers[offer.place] = last
    last.place = offer.place
    return last
  }

  func has(_ offer: HubOffer) -> Bool { offer.place < offers.count && offers[offer.place] === offer }

  /// Its hub ends: what holds what it holds is let go.
  func tearDown() { offers = [] }
}

/// A route to another hub, by one that is linked.
final class HubRoute {
  /// Outlives it: it has the route among its own.
  unowned(unsafe) let destination: RemoteHub
  /// Outlives it: routes by a hub go with it.
  unowned(unsafe) let peer: Peer
  /// Where it stands among those of that hub.
  var place = 0
  /// From that hub to this one.
  let hubs: [Identifier]
  let sequence: UInt64
  /// That hub has lost it, and looks for another.
  var isSought = false

  init(to destination: RemoteHub, by peer: Peer, _ route: Route) {
    self.destination = destination
    self.peer = peer
    hubs = route.hubs
    sequence = route.sequence
  }

  var isDirect: Bool { hubs.count == 1 }
  /// Bytes that it is counted as.
  var cost: Int { 256 + hubs.count * Identifier.size }
}
