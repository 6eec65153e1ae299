// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The connections of a hub, and what all its features share: who it is, the time, and how to send.
final class HubConnections {
  /// Milliseconds for a new hub to wait for origins to register again (R3.14).
  static let gracePeriod: Int64 = 1_500
  /// Milliseconds for the apps of a former hub to register, before a list of offers counts as complete (R2.7).
  static let registrationTime: Int64 = 500
  /// Pending bytes above which a peer that does not read is disconnected.
  static let backlogLimit = 1024 * 1024

  let identity: HubIdentity
  let generation: UInt64
  private let startedAt: Int64
  /// The time of the current call.
  private(set) var now: Instant
  /// The cost of what was received and sent so far, modulo 2^64: see `HubEngine.work`.
  private(set) var work: UInt64 = 0

  /// Nil without an account.
  private(set) var devices: AccountDevices?

  let peers = PeerTable()
  let outbox = Outbox()
  /// Removed peers without a connection, kept until the end of the current call, because loops may still refer to them.
  private var dropped: [Peer] = []

  init(_ identity: HubIdentity, generation: UInt64, _ now: Instant) {
    self.identity = identity
    self.generation = generation
    startedAt = now.uptime
    self.now = now
  }

  /// A call begins.
  func begin(_ now: Instant) { self.now = now }

  func countWork(_ units: UInt64 = 1) { work &+= units }

  // MARK: Devices

  func setDevices(_ devices: AccountDevices?) { self.devices = devices }

  /// The account's name for this device; without one, the name in the hub's identity.
  var deviceName: String { devices?.ownName ?? identity.deviceName }
  /// This device in its account; nil: it is in none.
  var ownDevice: Identifier? { devices?.own }
  func name(of device: Identifier) -> String? { devices?.name(of: device) }

  /// Returns the name of the device at the other end of a link: from the account, if the device is in it, else the name
  /// that the device itself has sent.
  func deviceName(of peer: Peer, said: String) -> String { peer.device.flatMap { devices?.name(of: $0) } ?? said }

  /// A receiver that a linked hub names.
  func named(_ receiver: Receiver, by peer: Peer) -> Receiver {
    guard peer.device != nil else { return receiver }
    return Receiver(
      id: receiver.id, deviceName: deviceName(of: peer, said: receiver.deviceName), appName: receiver.appName,
      bundleIdentifier: receiver.bundleIdentifier)
  }

  /// Milliseconds that the apps of a former hub still have to notice this one and register (R2.7).
  var settling: Int64 { generation == 1 ? 0 : max(0, startedAt + Self.registrationTime - now.uptime) }

  /// The uptime by which all origins should have registered again.
  var gracePeriodEnd: Int64 { startedAt + Self.gracePeriod }

  // MARK: Sending

  func send(
    _ message: Message, to peer: Peer, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil
  ) {
    guard !peer.isClosing else { return }
    do throws(SegueError) {
      try outbox.send(message, to: peer, isUrgent: isUrgent, with: descriptor)
    } catch {
      // Only an explanation could be too long, and it is truncated before.
      return
    }
    sent(to: peer)
  }

  /// Sends an encoded message.
  func send(_ message: [UInt8], to peer: Peer) {
    guard !peer.isClosing else { return }
    peer.link.send(message)
    sent(to: peer)
  }

  private func sent(to peer: Peer) {
    countWork()
    if peer.link.heldBytes > Self.backlogLimit {
      // The app registers again when it continues.
      disconnect(peer, SegueError(.connectionUnavailable, "the app does not read"))
    }
    flush(peer)
  }

  /// Schedules a flush of its link, if that has output.
  func flush(_ peer: Peer) {
    if peer.isSuspended { return boundSuspended() }
    outbox.flush(peer)
  }

  // MARK: Closing

  /// Sends goodbye, and closes.
  @inline(never)
  func disconnect(_ peer: Peer, _ error: SegueError) {
    guard !peer.isClosing else { return }
    reportLinkDown(of: peer, error)
    if peer.isSuspended { return drop(peer) }
    if !(peer.handshake?.isResuming ?? false) { try? outbox.send(.goodbye(error), to: peer) }
    peer.beginClosing()
    flush(peer)
    outbox.close(peer.number)
  }

  /// Closes without a message.
  func close(_ peer: Peer) {
    guard !peer.isClosing else { return }
    peer.beginClosing()
    outbox.close(peer.number)
  }

  /// Removes a peer without a connection at the end of the current call.
  func drop(_ peer: Peer) {
    peer.beginClosing()
    dropped.append(peer)
  }

  func takeDropped() -> Peer? { dropped.popLast() }

  /// Notifies the app that made the link of its end.
  @inline(never)
  func reportLinkDown(of peer: Peer, _ error: SegueError) {
    guard let owner = peer.takeLinkOwner() else { return }
    send(.linkDown(owner.number, error), to: owner.app)
  }

  // MARK: Invariants

  var leak: StaticString? {
    if !peers.unidentified.isEmpty { return "hub: an unidentified peer remains" }
    if !outbox.isEmpty { return "hub: its owner has something to do" }
    for peer in peers.apps + peers.hubs {
      if peer.routes.hasAttempts { return "hub: a peer keeps a continuation" }
      if !(peer.appSession?.unanswered.isEmpty ?? true) { return "hub: it waits for the answer of an app for ever" }
      if !peer.channels.isEmpty { return "hub: it keeps the channel of a transfer" }
      if peer.link.hasChannels { return "hub: a channel stays open" }
      if !peer.pending.isEmpty || peer.pending.isReadyDue { return "hub: a peer has yet to be told of offers" }
      if peer.isClosing { return "hub: one that closes is listed" }
    }
    return nil
  }
}

/// A feature of the hub: a class that owns its state. It calls only the features that it was created with, which come
/// before it in `HubEngine`.
protocol HubFeature: AnyObject {
  var connections: HubConnections { get }
}

extension HubFeature {
  var peers: PeerTable { connections.peers }
  var identity: HubIdentity { connections.identity }
  /// The time of the current call.
  var now: Instant { connections.now }

  func send(_ message: Message, to peer: Peer, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil) {
    connections.send(message, to: peer, isUrgent: isUrgent, with: descriptor)
  }

  func send(_ message: [UInt8], to peer: Peer) { connections.send(message, to: peer) }
  func flush(_ peer: Peer) { connections.flush(peer) }
  func disconnect(_ peer: Peer, _ error: SegueError) { connections.disconnect(peer, error) }
}
