// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// An app's request to link this hub with another.
public struct LinkRequest: Sendable {
  /// The peer number of the app.
  public let app: HubEngine.PeerNumber
  /// The app's number for it.
  let number: UInt64
}

/// Links with the hubs of other devices.
final class HubLinks: HubFeature {
  /// Milliseconds for a connection to another hub to introduce itself.
  static let helloTime = HubEngine.helloTime
  /// Milliseconds of silence after which a hub gets a ping.
  static let hubAskTime: Int64 = 10_000
  /// Milliseconds of silence after which a hub counts as gone.
  static let hubSilenceTime: Int64 = 30_000
  /// Milliseconds for a cut link to be resumed (R7.4).
  static let resumeTime: Int64 = 60_000

  let connections: HubConnections
  let offers: HubOffers
  /// See `HubEngine.trustHandler`.
  var trustHandler: ((_ device: Identifier, _ message: [UInt8]?) -> [UInt8]?)?
  /// See `HubEngine.relayHandler`.
  var relayHandler: ((_ device: Identifier, _ frame: RelayFrame) -> Void)?

  /// See `HubEngine.relayedFrames`.
  private(set) var relayedFrames: UInt64 = 0

  init(_ connections: HubConnections, _ offers: HubOffers) {
    self.connections = connections
    self.offers = offers
  }

  /// Takes a connection to another hub. Its supplier is responsible for the other end.
  /// - Parameters:
  ///   - request: the app's request that it fulfils.
  ///   - device: whose certificate was shown on it.
  ///   - secret: a new random one.
  func connected(
    _ number: HubEngine.PeerNumber, for request: LinkRequest?, device: Identifier?, secret: Identifier
  ) {
    let handshake = Handshake(secret)
    let peer = Peer(number: number, .handshaking(handshake), device: device, helloBy: now.uptime + Self.helloTime)
    peers.connect(peer)
    if let request, let app = peers[request.app] {
      peer.setLinkOwner(LinkOwner(app: app, number: request.number))
    }
    peers.addHub(peer)
    if let error = connections.tooManyLinks(like: peer) { return disconnect(peer, error) }
    send(.link(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum), to: peer)
    // The certificate has said who is at the other end.
    if device != nil { nameSessions(handshake, to: peer) { _ in true } }
    checkHubs(by: peer.helloBy)
  }

  /// An app wants a link.
  func open(_ number: UInt64, _ descriptor: PassedDescriptor?, by app: Peer) {
    let request = LinkRequest(app: app.number, number: number)
    guard let descriptor else { return refuse(request, .noDescriptor) }
    // A link carries all offers (R13.8).
    guard app.sandbox == nil else {
      return refuse(request, SegueError(.notAllowed, "an app in a sandbox links no other device"))
    }
    if descriptor.isLost { return refuse(request, .lostDescriptor) }
    connections.outbox.transfer(.link(request, descriptor))
  }

  /// An app ends a link that it has made, or asked for. The session ends with it, at both devices.
  func end(_ number: UInt64, by app: Peer) {
    connections.outbox.removeLink(number, of: app.number)
    for peer in peers.hubs where peer.linkOwner.map({ $0.app === app && $0.number == number }) ?? false {
      // The app knows.
      _ = peer.takeLinkOwner()
      disconnect(peer, SegueError(.connectionUnavailable, "the app that made the link has ended it"))
    }
  }

  func refuse(_ request: LinkRequest, _ error: SegueError) {
    guard let app = peers[request.app] else { return }
    send(.linkDown(request.number, error), to: app)
  }

  /// The app is gone, and so are its links.
  @inline(never)
  func disconnectAll(of app: Peer) {
    for peer in peers.hubs where peer.linkOwner?.app === app {
      disconnect(peer, SegueError(.connectionUnavailable, "the app that made the link has ended"))
    }
  }

  /// A connection of a device has begun a session: the former ones with that hub are over, and offers of others that
  /// the connection was to take over go. If there are two connections at a time, a former session may have begun after
  /// the other hub had named, over this connection, the sessions that the two share. It must not resume later in place
  /// of the new one.
  func endFormer(by peer: Peer, _ hub: HubIdentity) {
    guard let device = peer.device else { return }
    for other in peers.hubs where other !== peer && other.device == device && other.hub?.identity.id == hub.id {
      disconnect(other, SegueError(.connectionUnavailable, "the two devices have begun a new session"))
    }
    dropUnreplaced(by: peer)
  }

  /// A connection of a device has come to nothing: offers of those sessions that it was to take over go, unless another
  /// one takes them over.
  func dropUnreplaced(by peer: Peer) {
    guard let device = peer.device else { return }
    for other in peers.hubs where other !== peer && other.device == device && other.isSuspended {
      if let hub = other.hub, !peers.isBeingReplaced(other) { offers.dropRoutes(by: other, hub) }
    }
  }

  /// The connection ended without goodbye. Removes offers that came through it, unless another connection is about to
  /// take over; the rest may resume over another connection.
  func suspend(_ peer: Peer, _ hub: HubSession) {
    guard hub.resumeBy == nil else { return }
    connections.reportLinkDown(of: peer, SegueError(.connectionUnavailable, "the connection to the other hub broke"))
    hub.suspend(until: now.uptime + Self.resumeTime)
    // Offers that another connection takes over never leave the lists of apps (R2.8).
    if !peers.isBeingReplaced(peer) { offers.dropRoutes(by: peer, hub) }
    hub.resetAnnouncements()
    peer.pending.removeAll()
    peer.link.trim()
    checkHubs(by: now.uptime + Self.resumeTime)
  }

  /// Stops reading from its connection.
  @inline(never)
  func detach(_ peer: Peer, _ hub: HubSession, _ error: SegueError) {
    guard hub.resumeBy == nil else { return }
    connections.reportLinkDown(of: peer, error)
    _ = peers.disconnect(peer.number)
    connections.outbox.close(peer.number)
    suspend(peer, hub)
  }

  /// The link is gone.
  func remove(_ peer: Peer) {
    session(resumingOver: peer)?.hub?.replace(by: nil)
    connections.reportLinkDown(of: peer, SegueError(.connectionUnavailable, "the connection to the other hub ended"))
    if let hub = peer.hub { offers.dropRoutes(by: peer, hub) } else { dropUnreplaced(by: peer) }
  }

  // MARK: Accounts

  /// The units of work of a message about an account besides one: an agent may look at all its devices for it.
  private static let accountWork: UInt64 = 7

  func receivedAccount(_ message: [UInt8], from peer: Peer) throws(SegueError) {
    guard let device = peer.device else {
      throw SegueError(.malformed, "a message about an account came on a link that an app has made")
    }
    connections.countWork(Self.accountWork)
    reportAccount(message, of: device)
  }

  func sendAccount(_ message: [UInt8], to device: Identifier) {
    for peer in peers.hubs where peer.device == device && !peer.isClosing {
      let isAwaited = peer.handshake.map { $0.isAwaited && !$0.isResuming } ?? false
      if isAwaited || hasSession(peer) { send(.account(message), to: peer) }
    }
  }

  /// Whether messages for its device go into its session. While one connection replaces another, they go into both; the
  /// session of a device that has vanished gets none.
  private func hasSession(_ peer: Peer) -> Bool {
    !peer.isClosing && (peer.isLinked || peer.hub != nil && peers.isBeingReplaced(peer))
  }

  func unsent(to device: Identifier) -> Int {
    peers.hubs.reduce(0) {
      $1.device == device && hasSession($1) ? $0 + $1.link.pendingBytes + $1.link.relayedBytes : $0
    }
  }

  // MARK: Relays

  /// The units of work of a frame of a relay besides one: it is handled here, and goes out again.
  private static let relayWork: UInt64 = 3

  func receivedRelay(_ frame: RelayFrame, from peer: Peer) throws(SegueError) {
    guard let device = peer.device, peer.hub != nil else {
      throw SegueError(.malformed, "a frame of a relay came over a connection that is no link of devices")
    }
    connections.countWork(Self.relayWork)
    relayedFrames &+= 1
    relayHandler?(device, frame)
  }

  /// Sends a frame of a relay to a device, if it is linked; over two connections while one replaces the other.
  func send(_ frame: RelayFrame, to device: Identifier) {
    for peer in peers.hubs where peer.device == device && hasSession(peer) {
      peer.link.send(frame)
      flush(peer)
    }
  }

  /// Ends the links with a device, or with all devices, and what they share: nothing of it resumes.
  func endAll(of device: Identifier?, _ error: SegueError) {
    for peer in peers.hubs where !peer.isClosing && peer.device != nil && (device == nil || peer.device == device) {
      disconnect(peer, error)
    }
  }

  /// The session with a device begins, or resumes.
  func reportSession(of peer: Peer) { if let device = peer.device { reportAccount(nil, of: device) } }

  private func reportAccount(_ message: [UInt8]?, of device: Identifier) {
    if let answer = trustHandler?(device, message) { sendAccount(answer, to: device) }
  }

  // MARK: Keep-alive

  func checkHubs(by deadline: Int64) { peers.checkLinks(by: deadline) }

  var nextDeadline: Int64? { peers.nextLinkDeadline }

  /// Asks each linked device for a sign of life, unless it has yet to answer a former question.
  func askDevices() {
    for peer in peers.hubs where peer.device != nil && peer.isLinked && !peer.isClosing {
      guard let hub = peer.hub, !hub.isAsked else { continue }
      ask(peer, hub)
      checkHubs(by: hub.heardAt + Self.hubSilenceTime)
    }
  }

  private func ask(_ peer: Peer, _ hub: HubSession) {
    hub.ask()
    send(.ping(UInt64(clamping: now.uptime)), to: peer)
  }

  func tick() {
    guard peers.takeLinksDue(now.uptime) else { return }
    for peer in peers.hubs where !peer.isClosing {
      guard let hub = peer.hub else {
        if peer.helloBy <= now.uptime {
          disconnect(
            peer, SegueError(.remoteApplicationTimedOut, "the other hub sent nothing within \(Self.helloTime) ms"))
        } else {
          checkHubs(by: peer.helloBy)
        }
        continue
      }
      if let resumeBy = hub.resumeBy {
        guard resumeBy <= now.uptime else {
          checkHubs(by: resumeBy)
          continue
        }
        connections.drop(peer)
        continue
      }
      if hub.heardAt + Self.hubSilenceTime <= now.uptime {
        let error = SegueError(
          .remoteApplicationTimedOut, "the other hub has sent nothing for \(Self.hubSilenceTime) ms")
        detach(peer, hub, error)
        connections.boundSuspended()
        continue
      }
      if !hub.isAsked, hub.heardAt + Self.hubAskTime <= now.uptime { ask(peer, hub) }
      checkHubs(by: hub.heardAt + (hub.isAsked ? Self.hubSilenceTime : Self.hubAskTime))
    }
  }
}
