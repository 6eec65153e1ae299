import SegueModel
import SegueWire

/// A continuation that two apps of this hub have under way.
final class HubContinuation {
  let id: Identifier
  let activity: Identifier
  /// Both outlive it: it is taken out when either goes.
  unowned(unsafe) let receiver: Peer
  unowned(unsafe) let origin: Peer
  /// Uptime at which it is forgotten, if nobody ends it.
  let expiresAt: Int64

  init(id: Identifier, activity: Identifier, receiver: Peer, origin: Peer, expiresAt: Int64) {
    self.id = id
    self.activity = activity
    self.receiver = receiver
    self.origin = origin
    self.expiresAt = expiresAt
  }
}

/// A fetch whose origin may not have registered with this hub yet.
struct HeldFetch {
  let continuation: Message.Continuation
  let milliseconds: Int64
  /// Outlives it: held fetches of a peer go with the peer.
  unowned(unsafe) let receiver: Peer
  let since: Int64
  let deadline: Int64
}

/// An outcome whose origin may not have registered with this hub yet.
struct HeldOutcome {
  let continuation: Message.Continuation
  let outcome: Outcome
  let error: SegueError?
  let receiver: Receiver
}

extension HubEngine {
  /// Continuations that one app may have under way.
  static let continuationLimit = 128

  func fetch(_ continuation: Message.Continuation, milliseconds: Int64, by peer: Peer, _ app: AppIdentity) {
    if !forward(continuation, milliseconds: milliseconds, by: peer, app) {
      hold(continuation, milliseconds: milliseconds, by: peer)
    }
  }

  /// False: its origin is not here.
  private func forward(
    _ continuation: Message.Continuation, milliseconds: Int64, by peer: Peer, _ app: AppIdentity
  ) -> Bool {
    guard let origin = apps[continuation.origin], let originApp = origin.app, let offer = offers[continuation.activity],
      offer.peer === origin
    else { return false }
    func refuse(_ status: Status, _ message: String) -> Bool {
      send(.refused(continuation.id, to: app.id, SegueError(status, message)), to: peer)
      return true
    }
    // An app that may not see the offer may not have the activity either (R6.2), and neither learns that it exists.
    guard Routing.obstacle(for: app, origin: originApp, type: offer.description.type) == nil, isOffered(offer) else {
      return refuse(.handoffFailed, "the activity is no longer offered")
    }
    if let known = continuations[continuation.id] {
      guard known.receiver === peer, known.origin === origin else { return refuse(.handoffFailed, "the name is taken") }
    } else {
      guard peer.continuations.count < Self.continuationLimit else {
        return refuse(.limitExceeded, "\(Self.continuationLimit) continuations of this app are under way")
      }
      let record = HubContinuation(
        id: continuation.id, activity: continuation.activity, receiver: peer, origin: origin,
        expiresAt: now.uptime + milliseconds + Self.continuationGrace)
      continuations[record.id] = record
      continuationList.append(record)
      peer.continuations.append(record)
      origin.continuations.append(record)
    }
    send(.fetch(continuation, milliseconds: milliseconds, receiver: receiver(app)), to: origin)
    return true
  }

  private func receiver(_ app: AppIdentity) -> Receiver {
    Receiver(id: app.id, deviceName: deviceName, appName: app.name, bundleIdentifier: app.bundleIdentifier)
  }

  private func hold(_ continuation: Message.Continuation, milliseconds: Int64, by peer: Peer) {
    let deadline = min(settledAt, now.uptime + milliseconds)
    guard now.uptime < deadline, held.count < Self.continuationLimit else {
      guard let app = peer.app else { return }
      let error = SegueError(.connectionUnavailable, "the origin is not connected")
      return send(.refused(continuation.id, to: app.id, error), to: peer)
    }
    held.removeAll { $0.continuation.id == continuation.id }
    held.append(
      HeldFetch(
        continuation: continuation, milliseconds: milliseconds, receiver: peer, since: now.uptime, deadline: deadline))
  }

  /// An offer came: it may be what a fetch waits for.
  func resumeHeld() {
    guard !held.isEmpty else { return }
    held.removeAll { fetch in
      guard let app = fetch.receiver.app else { return true }
      let remaining = max(1, fetch.milliseconds - (now.uptime - fetch.since))
      return forward(fetch.continuation, milliseconds: remaining, by: fetch.receiver, app)
    }
  }

  func tickHeld() {
    let due = held.filter { $0.deadline <= now.uptime }
    held.removeAll { $0.deadline <= now.uptime }
    for fetch in due {
      guard let app = fetch.receiver.app else { continue }
      let error = SegueError(.connectionUnavailable, "the origin has not come back")
      send(.refused(fetch.continuation.id, to: app.id, error), to: fetch.receiver)
    }
    guard settledAt <= now.uptime else { return }
    let lost = heldOutcomes
    heldOutcomes = []
    for told in lost { noted(told.continuation.id, to: told.receiver.id) }
  }

  func state(
    _ id: Identifier, channel: Link.Channel, size: UInt64, isStale: Bool, from origin: Peer
  ) throws(SegueError) {
    try origin.link.accept(channel)
    guard let continuation = continuations[id], continuation.origin === origin,
      let receiver = continuation.receiver.app
    else { return origin.link.reset(channel) }
    let relay = Relay(
      from: origin, channel: channel, to: continuation.receiver, outChannel: continuation.receiver.link.open())
    origin.relays.append(relay)
    continuation.receiver.relays.append(relay)
    send(
      .state(id, to: receiver.id, channel: relay.outChannel, size: size, isStale: isStale),
      to: continuation.receiver)
  }

  func refused(_ id: Identifier, to: Identifier, _ error: SegueError, by origin: Peer) {
    guard let continuation = continuations[id], continuation.origin === origin else { return }
    send(.refused(id, to: to, error), to: continuation.receiver)
    remove(continuation)
  }

  func outcome(
    _ continuation: Message.Continuation, _ outcome: Outcome, _ error: SegueError?, from peer: Peer, _ app: AppIdentity
  ) {
    if let known = continuations[continuation.id], known.receiver === peer { remove(known) }
    held.removeAll { $0.continuation.id == continuation.id && $0.receiver === peer }
    let told = HeldOutcome(continuation: continuation, outcome: outcome, error: error, receiver: receiver(app))
    if let origin = apps[continuation.origin] { return tell(told, origin) }
    guard now.uptime < settledAt, heldOutcomes.count < Self.continuationLimit else {
      return send(.noted(continuation.id, to: app.id), to: peer)
    }
    heldOutcomes.append(told)
  }

  private func tell(_ told: HeldOutcome, _ origin: Peer) {
    send(.outcome(told.continuation, told.outcome, told.error, receiver: told.receiver), to: origin)
  }

  /// An app has registered: outcomes may have waited for it.
  func tellHeldOutcomes(to origin: Peer, _ app: AppIdentity) {
    for held in heldOutcomes where held.continuation.origin == app.id { tell(held, origin) }
    heldOutcomes.removeAll { $0.continuation.origin == app.id }
  }

  func noted(_ id: Identifier, to: Identifier) {
    guard let receiver = apps[to] else { return }
    send(.noted(id, to: to), to: receiver)
  }

  /// A peer is gone: the other side of each of its continuations hears of it.
  func leaveContinuations(_ peer: Peer) {
    for continuation in peer.continuations {
      let other = continuation.receiver === peer ? continuation.origin : continuation.receiver
      remove(continuation)
      if other !== peer { send(.vanished(continuation.id), to: other) }
    }
    for relay in peer.relays { end(relay, resetting: relay.from === peer ? relay.to : relay.from) }
  }

  func tickContinuations() {
    for continuation in continuationList where continuation.expiresAt <= now.uptime { remove(continuation) }
  }

  private func remove(_ continuation: HubContinuation) {
    continuations[continuation.id] = nil
    continuationList.removeAll { $0 === continuation }
    continuation.receiver.continuations.removeAll { $0 === continuation }
    continuation.origin.continuations.removeAll { $0 === continuation }
  }
}
