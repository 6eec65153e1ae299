// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The rules of Handoff for the hub of a device: which app sees which offer, and how messages of a continuation are
/// routed. The hub is connected to the apps of its device, and linked with the hubs of other devices. It keeps no
/// payload; apps and hubs send all of its state again to the next hub.
///
/// No I/O, no clock, no randomness. Its owner passes in connections, bytes and ticks, and then calls `flushNext` and
/// `takePeersToClose`.
public final class HubEngine {
  public typealias PeerNumber = UInt64

  /// Milliseconds for a connection to send hello (A19).
  static let helloTime: Int64 = 5_000

  let connections: HubConnections
  // The features, each a class that owns its state and calls only those before it.
  private let presence: AgentPresence
  let offers: HubOffers
  let links: HubLinks
  let transfers: HubTransfers
  private let continuations: HubContinuations
  let streams: HubStreams
  private let explanations: HubExplanations
  let registration: HubRegistration
  private let messages: HubMessages

  /// Names it at other hubs.
  public var id: Identifier { connections.identity.id }

  public init(
    _ identity: HubIdentity, generation: UInt64, offersFrontmostOnly: Bool, agent: AgentDescription? = nil,
    _ now: Instant
  ) {
    connections = HubConnections(identity, generation: generation, now)
    presence = AgentPresence(connections, agent)
    offers = HubOffers(connections, presence, frontmostOnly: offersFrontmostOnly)
    links = HubLinks(connections, offers)
    transfers = HubTransfers(connections)
    continuations = HubContinuations(connections, presence, offers, transfers)
    streams = HubStreams(connections, transfers, continuations)
    explanations = HubExplanations(connections, presence, offers)
    registration = HubRegistration(connections, presence, offers, links, transfers, continuations, explanations)
    messages = HubMessages(
      connections, registration, presence, offers, links, transfers, continuations,
      HubDeliveries(connections, presence, offers, transfers, continuations),
      HubRequests(connections, presence, transfers, continuations), streams, explanations)
  }

  var peers: PeerTable { connections.peers }

  /// The registered apps.
  public var appCount: Int { peers.apps.count }

  /// Called with each failure of which no host was told (R3.13).
  public var unheardFailure: ((UnheardFailure) -> Void)? {
    get { presence.unheardFailure }
    set { presence.unheardFailure = newValue }
  }

  /// The cost of what was received and sent so far, modulo 2^64: a unit for each message sent, those of
  /// `FramedConnection.work` for what was received, and `HubMessages.failureWork`.
  public var work: UInt64 { connections.work }

  // MARK: Connections

  /// If too many connections of a principal have not sent `hello`, closes the oldest of them and keeps the new one.
  /// - Parameters:
  ///   - principal: nil: the connection has its own.
  ///   - sandbox: of the process at the other end (R13.8); nil: it is in none.
  public func connected(
    _ number: PeerNumber, of principal: Principal? = nil, in sandbox: Sandbox? = nil, _ now: Instant
  ) {
    connections.begin(now)
    defer { registration.removeDropped() }
    let peer = Peer(number: number, of: principal, sandbox: sandbox, helloBy: now.uptime + Self.helloTime)
    if let oldest = peers.popLongestUnidentified(of: peer.principal) {
      connections.disconnect(
        oldest,
        SegueError(.remoteApplicationTimedOut, "no hello message while \(PeerTable.unidentifiedLimit) others came"))
    }
    peers.connect(peer)
    peers.addUnidentified(peer)
  }

  /// Why a connection is refused.
  public enum Rejection {
    /// Its process has as many as one may have.
    case processQuota
    /// The hub's process has no more of its descriptors to spare: it may have so many.
    case noDescriptors(of: Int)
    /// The system does not say in which sandbox its process runs (R13.8).
    case standing(SegueError)

    fileprivate var error: SegueError {
      switch self {
      case .processQuota: SegueError(.limitExceeded, "the process has too many connections to the hub")
      case .standing(let error): error
      case .noDescriptors(let limit):
        SegueError(
          .limitExceeded,
          """
          the process that carries the hub may have \(limit) descriptors, and has no more of them for apps; start \
          segue-agent, or raise that limit (ulimit -n)
          """)
      }
    }
  }

  /// Refuses a connection: its app waits, and asks again.
  public func reject(_ number: PeerNumber, _ why: Rejection, _ now: Instant) {
    connections.begin(now)
    let peer = Peer(number: number, helloBy: now.uptime)
    peers.connect(peer)
    connections.disconnect(peer, why.error)
  }

  /// Says what the manifest of an app holds, nil if it has none (R6.1): counts for apps that register later. It calls
  /// nothing of the engine.
  public var manifests: ((_ bundleIdentifier: String) -> AppManifest?)? {
    get { presence.manifests }
    set { presence.manifests = newValue }
  }

  /// Sets the folders of the user (R13.4): the apps learn of them, now and when they register.
  /// - Parameter text: as `UserFolders` reads it.
  public func setFolders(_ text: [UInt8], _ now: Instant) {
    connections.begin(now)
    presence.setFolders(text)
    registration.removeDropped()
  }

  /// Says of an offer of an app here what concerns its web page (R12.2), as `Routing.Obstacle.page` describes it. It
  /// calls nothing of the engine.
  public var pageReasons: ((AppIdentity, OfferDescription) -> [Message.Explanation])? {
    get { presence.pageReasons }
    set { presence.pageReasons = newValue }
  }

  /// - Parameter descriptor: came with these bytes of one read.
  public func receive(
    _ bytes: consuming [UInt8], with descriptor: PassedDescriptor? = nil, from number: PeerNumber, _ now: Instant
  ) {
    connections.begin(now)
    defer { registration.removeDropped() }
    guard let peer = peers[number], !peer.isClosing else { return }
    peer.link.receive(bytes, descriptor)
    read(peer)
    // Another session may have taken over the connection.
    if peer.isClosing, let successor = peers[number], successor !== peer { read(successor) }
  }

  private func read(_ peer: Peer) {
    peer.hub?.received(at: connections.now.uptime)
    let before = peer.link.work
    do throws(SegueError) {
      while let event = try peer.link.nextEvent() {
        try messages.handle(event, from: peer)
        guard !peer.isClosing else { break }
      }
    } catch {
      connections.disconnect(peer, error)
    }
    connections.countWork(peer.link.work &- before)
    if peer.link.heldBytes > HubConnections.backlogLimit {
      // Resets and credit were kept for it, too.
      connections.disconnect(peer, SegueError(.connectionUnavailable, "the peer does not read"))
    }
    connections.flush(peer)
  }

  /// The connection is gone.
  public func disconnected(_ number: PeerNumber, _ now: Instant) {
    connections.begin(now)
    defer { registration.removeDropped() }
    guard let peer = peers.disconnect(number) else { return }
    if let hub = peer.hub, !peer.isClosing {
      links.suspend(peer, hub)
      return connections.boundSuspended()
    }
    connections.drop(peer)
  }

  /// A peer's socket is writable again.
  public func drained(_ number: PeerNumber, _ now: Instant) {
    connections.begin(now)
    defer { registration.removeDropped() }
    if let peer = peers[number] { offers.sendPending(peer) }
  }

  /// Passes the next peer whose `FramedConnection` has output to `body`, which writes as much as the socket accepts.
  /// - Returns: false if there is none, or no longer.
  public func flushNext(_ body: (PeerNumber, FramedConnection) -> Void) -> Bool {
    guard let next = connections.outbox.takeFlushable() else { return false }
    // It may be gone, or another has taken over its connection.
    guard let peer = peers[next.number] else { return true }
    body(peer.number, peer.link)
    if !peer.link.hasOutput { offers.sendPending(peer) }
    registration.removeDropped()
    return true
  }

  /// Peers whose connection closes once their output is flushed.
  public func takePeersToClose() -> [PeerNumber] { connections.outbox.takeClosable() }

  /// The pending tasks of the owner about descriptors.
  public func takeTransfers() -> [DescriptorTransfer] { connections.outbox.takeTransfers() }

  public func link(of number: PeerNumber) -> FramedConnection? { peers[number]?.link }

  /// The principal that is charged for a connection; nil once the connection is gone.
  public func principal(of number: PeerNumber) -> Principal? { peers[number]?.principal }

  /// Another hub takes over: sends goodbye to all apps, and ends links.
  public func stepDown() {
    for peer in peers.apps + peers.hubs + peers.unidentified {
      connections.disconnect(peer, SegueError(.connectionUnavailable, "another hub has taken over"))
    }
    registration.removeDropped()
  }

  // MARK: Time

  public var nextDeadline: Int64? {
    let parts = earlier(
      earlier(links.nextDeadline, offers.nextDeadline),
      earlier(continuations.nextDeadline, explanations.nextDeadline))
    return peers.unidentified.reduce(parts) { $1.isClosing ? $0 : earlier($0, $1.helloBy) }
  }

  public func tick(_ now: Instant) {
    connections.begin(now)
    for peer in peers.unidentified where peer.helloBy <= now.uptime {
      connections.disconnect(
        peer, SegueError(.remoteApplicationTimedOut, "no hello message within \(Self.helloTime) ms"))
    }
    continuations.tick()
    explanations.tick()
    links.tick()
    offers.tick()
    registration.removeDropped()
  }

  /// Whether nothing is due but pings to linked hubs, which repeat for ever while these answer.
  public var isIdle: Bool {
    peers.unidentified.isEmpty && offers.nextDeadline == nil && continuations.nextDeadline == nil
      && explanations.nextDeadline == nil && peers.hubs.allSatisfy { $0.isLinked }
  }

  // MARK: Invariants (R11.1)

  /// The first violated invariant, or nil.
  public var brokenInvariant: StaticString? { peers.brokenCount ?? brokenList ?? offers.brokenInvariant }

  /// From now on `brokenByChange` is called after each call.
  public func keepChanges() { offers.keepChanges() }

  /// Checks only what has changed since the last check.
  public func brokenByChange() -> StaticString? {
    if let broken = peers.brokenCount { return broken }
    if peers.takeChange(), let broken = brokenList { return broken }
    return offers.brokenByChange()
  }

  private var brokenList: StaticString? {
    continuations.brokenInvariant ?? (offers.hasEmptyTopic ? "hub: an empty topic remains" : peers.brokenList)
  }

  /// State that should have been released by now, or nil (leak check).
  public var leak: StaticString? {
    connections.leak ?? continuations.leak ?? explanations.leak ?? transfers.leak ?? offers.leak
  }

  // MARK: Tests

  /// The features that tests and fuzzers inspect. No other code uses them.
  struct Parts {
    let connections: HubConnections
    let offers: HubOffers
    let transfers: HubTransfers
    let continuations: HubContinuations

    var peers: PeerTable { connections.peers }
    var remoteHubs: RemoteHubs { offers.remoteHubs }
  }

  var parts: Parts {
    Parts(connections: connections, offers: offers, transfers: transfers, continuations: continuations)
  }
}
