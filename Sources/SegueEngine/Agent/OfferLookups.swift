// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Offers that somebody asks about, or that their apps push: they may come a moment after the question.
final class OfferLookups {
  /// The most that may still come.
  private static let limit = AgentContinuationTable.limit
  /// Milliseconds for an offer to come that its app pushes (R3.15).
  static let offerTime: Int64 = 1_000

  private let agent: AgentContext
  private let seen: SeenOffers
  private let deliveries: InboxDeliveries
  /// Offers that have not come yet.
  private var awaited: [PendingOfferLookup] = []

  init(_ agent: AgentContext, _ seen: SeenOffers, _ deliveries: InboxDeliveries) {
    self.agent = agent
    self.seen = seen
    self.deliveries = deliveries
  }

  /// The question which app continues an offer. Throws NOT_FOUND, BUSY.
  func choice(for activity: Identifier, wanted: String? = nil) throws(SegueError) -> AppChoice {
    guard let offer = seen.list[activity] else {
      throw SegueError(.notFound, "continue: the activity is not offered")
    }
    guard let origin = agent.origins[activity] else {
      // Only the hub of the agent says it.
      throw SegueError(.busy, "continue: the agent does not carry the hub at present")
    }
    return AppChoice(
      offer: offer, team: origin.team, wanted: wanted, running: deliveries.identities,
      device: agent.origins.device(of: activity), retained: origin.retained)
  }

  /// Waits for the offer of a push.
  /// - Returns: false if nothing is waited for.
  func awaits(_ request: AgentContinuationRequest, _ now: Instant) -> Bool {
    guard request.isPush, seen.list[request.activity] == nil, awaited.count < Self.limit else { return false }
    awaited.append(PendingOfferLookup(purpose: .start(request), until: now.uptime + Self.offerTime))
    return true
  }

  /// Tells the owner of an offer, once it is there.
  func look(for activity: Identifier, wanted: String?, _ number: UInt64, _ now: Instant) {
    let awaits = seen.list[activity] == nil && awaited.count < Self.limit
    let offer = PendingOfferLookup(
      purpose: .look(activity, wanted: wanted, number: number), until: now.uptime + Self.offerTime)
    if awaits { awaited.append(offer) } else { _ = end(offer) }
  }

  /// An offer has come, which may be awaited. Tells the owner of it.
  /// - Returns: a push that has waited for it; nil: no other one has.
  func takeOffered(_ activity: Identifier) -> AgentContinuationRequest? {
    while let index = awaited.firstIndex(where: { $0.activity == activity }) {
      if let push = end(awaited.remove(at: index)) { return push }
    }
    return nil
  }

  /// Tells the owner of what has not come in time.
  /// - Returns: a push whose offer has not; nil: there is no other one.
  func takeOverdue(_ now: Instant) -> AgentContinuationRequest? {
    while let index = awaited.firstIndex(where: { $0.until <= now.uptime }) {
      if let push = end(awaited.remove(at: index)) { return push }
    }
    return nil
  }

  /// A requester waits no longer.
  /// - Returns: whether it has waited for an offer.
  func abandon(_ number: UInt64) -> Bool {
    guard let index = awaited.firstIndex(where: { $0.number == number }) else { return false }
    awaited.remove(at: index)
    return true
  }

  private func end(_ lookup: PendingOfferLookup) -> AgentContinuationRequest? {
    switch lookup.purpose {
    case .start(let request): return request
    case .look(let activity, let wanted, let number):
      do throws(SegueError) {
        agent.owner.found(number, .success(try choice(for: activity, wanted: wanted)))
      } catch {
        agent.owner.found(number, .failure(error))
      }
      return nil
    }
  }

  var isEmpty: Bool { awaited.isEmpty }
  var nextDeadline: Int64? { awaited.reduce(nil) { earlier($0, $1.until) } }
}
