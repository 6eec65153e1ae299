import SegueModel
import SegueWire

/// A continuation that is under way between two peers of this hub: apps, or hubs that lead to them.
final class HubContinuation {
  let id: Identifier
  let activity: Identifier
  /// The app that continues.
  let receiver: Identifier
  /// The way to it, and to the origin. Both outlive it: it is taken out when either goes.
  unowned(unsafe) let receiverPeer: Peer
  unowned(unsafe) let originPeer: Peer
  /// Uptime at which it is forgotten, if nobody ends it.
  let expiresAt: Int64
  /// The outcome was told; the origin has yet to note it.
  var isOver = false

  init(
    id: Identifier, activity: Identifier, receiver: Identifier, receiverPeer: Peer, originPeer: Peer, expiresAt: Int64
  ) {
    self.id = id
    self.activity = activity
    self.receiver = receiver
    self.receiverPeer = receiverPeer
    self.originPeer = originPeer
    self.expiresAt = expiresAt
  }
}

/// A fetch whose origin may not be known to this hub yet.
struct HeldFetch {
  let continuation: Message.Continuation
  let milliseconds: Int64
  let receiver: Receiver
  /// Outlives it: what is held of a peer goes with the peer.
  unowned(unsafe) let peer: Peer
  let since: Int64
  let deadline: Int64
}

/// An outcome whose origin may not be known to this hub yet.
struct HeldOutcome {
  let continuation: Message.Continuation
  let outcome: Outcome
  let error: SegueError?
  let receiver: Receiver
  /// Outlives it: what is held of a peer goes with the peer.
  unowned(unsafe) let peer: Peer
}

extension Peer {
  fileprivate var continuationLimit: Int { isHub ? HubEngine.hubContinuationLimit : HubEngine.continuationLimit }
}

extension HubEngine {
  /// Continuations that one app may have under way as the receiver, and those that may come by one hub.
  static let continuationLimit = 32
  static let hubContinuationLimit = 1_024
  /// The same of activities of one app: the origin has room for more.
  static let continuationsOfOriginLimit = 256

  func receiver(_ app: AppIdentity) -> Receiver {
    Receiver(id: app.id, deviceName: identity.deviceName, appName: app.name, bundleIdentifier: app.bundleIdentifier)
  }

  func fetch(_ continuation: Message.Continuation, milliseconds: Int64, _ receiver: Receiver, by peer: Peer) {
    if !forward(continuation, milliseconds: milliseconds, receiver, by: peer) {
      hold(continuation, milliseconds: milliseconds, receiver, by: peer)
    }
  }

  /// Whether team and types allow it; another hub has asked that of its own apps.
  private func mayContinue(_ offer: HubOffer, _ peer: Peer) -> Bool {
    peer.app.map { offer.obstacle(for: $0) == nil } ?? true
  }

  /// False: its origin is not known here.
  private func forward(
    _ continuation: Message.Continuation, milliseconds: Int64, _ receiver: Receiver, by peer: Peer
  ) -> Bool {
    guard let offer = offers[continuation.activity], offer.origin == continuation.origin else { return false }
    func refuse(_ error: SegueError) -> Bool {
      send(.refused(continuation.id, to: receiver.id, error), to: peer)
      return true
    }
    // An app that may not see the offer may not have the activity either (R6.2), and neither learns that it exists.
    guard mayContinue(offer, peer), isOffered(offer) else {
      return refuse(SegueError(.handoffFailed, "the activity is no longer offered"))
    }
    useNewLinks(continuation, receiver, by: peer)
    if let known = continuations[continuation.id] {
      guard known.receiverPeer === peer, known.originPeer === offer.peer else {
        return refuse(Self.nameIsTaken)
      }
    } else if !mayUse(continuation, receiver.id) {
      return refuse(Self.nameIsTaken)
    } else if offer.peer === peer || !record(continuation, receiver, peer, offer.peer, milliseconds: milliseconds) {
      return refuse(SegueError(.limitExceeded, "too many continuations are under way"))
    }
    send(.fetch(continuation, milliseconds: milliseconds, receiver: receiver), to: offer.peer)
    return true
  }

  /// Remembers the way, so that answers find it. False: too many are under way.
  private func record(
    _ continuation: Message.Continuation, _ receiver: Receiver, _ peer: Peer, _ origin: Peer, milliseconds: Int64
  ) -> Bool {
    let theirs = peer.continuations.filter { $0.receiverPeer === peer }
    guard theirs.count < peer.continuationLimit,
      theirs.count(where: { $0.originPeer === origin }) < Self.continuationsOfOriginLimit,
      recordPath(of: continuation, receiver.id, from: peer, to: origin)
    else { return false }
    let record = HubContinuation(
      id: continuation.id, activity: continuation.activity, receiver: receiver.id, receiverPeer: peer,
      originPeer: origin, expiresAt: now.uptime + milliseconds + Self.continuationGrace)
    continuations[record.id] = record
    continuationList.append(record)
    peer.continuations.append(record)
    origin.continuations.append(record)
    return true
  }

  /// A hub that was restarted comes by another link while that of the former waits to be resumed: what was under way by the
  /// old link goes on by the new one, so that no outcome waits for an answer that never comes.
  private func useNewLinks(_ continuation: Message.Continuation, _ receiver: Receiver, by peer: Peer) {
    guard let former = continuations[continuation.id], former.receiver == receiver.id else { return }
    let receiverPeer = former.receiverPeer.isSuspended ? peer : former.receiverPeer
    let originPeer = former.originPeer.isSuspended ? origin(of: continuation) ?? former.originPeer : former.originPeer
    guard receiverPeer !== former.receiverPeer || originPeer !== former.originPeer, receiverPeer !== originPeer else {
      return
    }
    remove(former)
    let left = max(0, former.expiresAt - now.uptime - Self.continuationGrace)
    guard record(continuation, receiver, receiverPeer, originPeer, milliseconds: left) else { return }
    continuations[continuation.id]?.isOver = former.isOver
  }

  /// The peer that leads to the app where the activity lives, if it is offered.
  private func origin(of continuation: Message.Continuation) -> Peer? {
    if let app = apps[continuation.origin] { return app }
    guard let offer = offers[continuation.activity], offer.origin == continuation.origin else { return nil }
    return offer.peer
  }

  private func hold(_ continuation: Message.Continuation, milliseconds: Int64, _ receiver: Receiver, by peer: Peer) {
    let deadline = min(settledAt, now.uptime + milliseconds)
    guard now.uptime < deadline, held.count(where: { $0.peer === peer }) < peer.continuationLimit else {
      let error = SegueError(.connectionUnavailable, "the origin is not connected")
      return send(.refused(continuation.id, to: receiver.id, error), to: peer)
    }
    held.removeAll { $0.continuation.id == continuation.id && $0.peer === peer }
    held.append(
      HeldFetch(
        continuation: continuation, milliseconds: milliseconds, receiver: receiver, peer: peer, since: now.uptime,
        deadline: deadline))
  }

  /// An offer came: it may be what a fetch waits for.
  func resumeHeld() {
    guard !held.isEmpty else { return }
    // A message to a peer may end it, and take what is held of it.
    let waiting = held
    held = []
    for fetch in waiting where !fetch.peer.isClosing {
      let remaining = max(1, fetch.milliseconds - (now.uptime - fetch.since))
      if !forward(fetch.continuation, milliseconds: remaining, fetch.receiver, by: fetch.peer) { held.append(fetch) }
    }
    held.removeAll { $0.peer.isClosing }
  }

  func tickHeld() {
    let due = held.filter { $0.deadline <= now.uptime }
    held.removeAll { $0.deadline <= now.uptime }
    for fetch in due {
      let error = SegueError(.connectionUnavailable, "the origin has not come back")
      send(.refused(fetch.continuation.id, to: fetch.receiver.id, error), to: fetch.peer)
    }
    guard settledAt <= now.uptime else { return }
    let lost = heldOutcomes
    heldOutcomes = []
    for told in lost { send(.noted(told.continuation.id, to: told.receiver.id), to: told.peer) }
  }

  func state(
    _ id: Identifier, channel: Link.Channel, size: UInt64, isStale: Bool, from origin: Peer
  ) throws(SegueError) {
    try origin.link.accept(channel)
    guard let continuation = continuations[id], continuation.originPeer === origin, !continuation.isOver else {
      return origin.link.reset(channel)
    }
    let peer = continuation.receiverPeer
    guard let outChannel = relay(from: origin, channel, to: peer) else {
      origin.link.reset(channel)
      send(.refused(id, to: continuation.receiver, Self.tooManyTransfers), to: peer)
      return vanished(id, beyond: peer)
    }
    send(.state(id, to: continuation.receiver, channel: outChannel, size: size, isStale: isStale), to: peer)
  }

  func refused(_ id: Identifier, _ error: SegueError, by origin: Peer) {
    guard let continuation = continuations[id], continuation.originPeer === origin else { return }
    remove(continuation)
    send(.refused(id, to: continuation.receiver, error), to: continuation.receiverPeer)
  }

  func outcome(
    _ continuation: Message.Continuation, _ outcome: Outcome, _ error: SegueError?, _ receiver: Receiver,
    from peer: Peer
  ) {
    held.removeAll { $0.continuation.id == continuation.id && $0.peer === peer }
    let told = HeldOutcome(
      continuation: continuation, outcome: outcome, error: error, receiver: receiver, peer: peer)
    if tell(told) { return }
    guard now.uptime < settledAt, heldOutcomes.count(where: { $0.peer === peer }) < peer.continuationLimit else {
      return send(.noted(continuation.id, to: receiver.id), to: peer)
    }
    heldOutcomes.append(told)
  }

  /// False: the origin is not known here.
  private func tell(_ told: HeldOutcome) -> Bool {
    let continuation = told.continuation
    useNewLinks(continuation, told.receiver, by: told.peer)
    if let known = continuations[continuation.id] {
      // Another's continuation is none of its business.
      guard known.receiverPeer === told.peer, known.receiver == told.receiver.id else { return true }
    } else {
      // Declined before anything moved, or begun with another hub.
      let offer = offers[continuation.activity].flatMap { $0.origin == continuation.origin ? $0 : nil }
      // Who may not see the offer had no attempt (R6.2).
      if let offer, !mayContinue(offer, told.peer) { return false }
      guard let origin = apps[continuation.origin] ?? offer?.peer, origin !== told.peer else { return false }
      guard mayUse(continuation, told.receiver.id) else { return true }
      guard record(continuation, told.receiver, told.peer, origin, milliseconds: 0) else { return false }
    }
    guard let known = continuations[continuation.id] else { return false }
    known.isOver = true
    send(.outcome(continuation, told.outcome, told.error, receiver: told.receiver), to: known.originPeer)
    return true
  }

  /// An app is there: outcomes may have waited for it.
  func tellHeldOutcomes(of origin: Identifier) {
    guard !heldOutcomes.isEmpty else { return }
    let waiting = heldOutcomes
    heldOutcomes = []
    for told in waiting where !told.peer.isClosing {
      if told.continuation.origin != origin || !tell(told) { heldOutcomes.append(told) }
    }
    heldOutcomes.removeAll { $0.peer.isClosing }
  }

  func noted(_ id: Identifier, by origin: Peer) {
    guard let continuation = continuations[id], continuation.originPeer === origin, continuation.isOver else { return }
    remove(continuation)
    send(.noted(id, to: continuation.receiver), to: continuation.receiverPeer)
  }

  /// A hub says that the app at the other end of a continuation is gone.
  func vanished(_ id: Identifier, beyond peer: Peer) {
    if let path = paths[id], path.receiverPeer === peer || path.originPeer === peer { tellLost(path, beyond: peer) }
    loseUnanswered(id, beyond: peer)
    guard let continuation = continuations[id],
      continuation.receiverPeer === peer || continuation.originPeer === peer
    else { return }
    remove(continuation)
    tellVanished(continuation, beyond: peer)
  }

  /// A peer is gone: the other side of each of its continuations hears of it.
  @inline(never)
  func leaveContinuations(_ peer: Peer) {
    for continuation in peer.continuations {
      remove(continuation)
      tellVanished(continuation, beyond: peer)
    }
    for relay in peer.relays { end(relay, resetting: relay.from === peer ? relay.to : relay.from) }
  }

  private func tellVanished(_ continuation: HubContinuation, beyond peer: Peer) {
    if continuation.receiverPeer === peer {
      // Who was told how it ended needs no more.
      if !continuation.isOver { send(.vanished(continuation.id), to: continuation.originPeer) }
    } else if continuation.isOver {
      // Nobody is left who could note it.
      send(.noted(continuation.id, to: continuation.receiver), to: continuation.receiverPeer)
    } else {
      send(.vanished(continuation.id), to: continuation.receiverPeer)
    }
  }

  func tickContinuations() {
    let due = continuationList.filter { $0.expiresAt <= now.uptime }
    guard !due.isEmpty else { return }
    continuationList.removeAll { $0.expiresAt <= now.uptime }
    for continuation in due {
      continuations[continuation.id] = nil
      continuation.receiverPeer.continuations.removeAll { $0 === continuation }
      continuation.originPeer.continuations.removeAll { $0 === continuation }
    }
  }

  private func remove(_ continuation: HubContinuation) {
    continuations[continuation.id] = nil
    continuationList.removeAll { $0 === continuation }
    continuation.receiverPeer.continuations.removeAll { $0 === continuation }
    continuation.originPeer.continuations.removeAll { $0 === continuation }
  }
}
