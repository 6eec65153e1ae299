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
  /// The most connections without hello (A19).
  static let unidentifiedLimit = 64
  /// Milliseconds for which a new hub waits for origins to register again (R3.14).
  static let gracePeriod: Int64 = 1_500
  /// Milliseconds for the apps of a former hub to register, before a list of offers counts as complete (R2.7).
  static let settlingTime: Int64 = 500
  /// Pending bytes for a peer from which on offers to it are held back.
  static let offerBacklog = 32 * 1024
  /// Queued offer updates per peer, in addition to twice the number of live offers, before the peer is disconnected.
  static let pendingLimit = 4_096
  /// Pending bytes above which a peer that does not read is disconnected.
  static let backlogLimit = 1024 * 1024
  /// Milliseconds for which a continuation is kept beyond its deadline.
  static let continuationGrace: Int64 = 10_000

  let identity: HubIdentity
  let generation: UInt64
  private let startedAt: Int64
  /// Whether only the frontmost activity is offered (R1.12).
  let offersFrontmostOnly: Bool
  /// The agent that carries the hub; nil if an app does.
  let agent: AgentDescription?

  /// The time of the current call.
  private(set) var now: Moment
  // Each owns its state: the extensions of this class, a file for each concern, only call them.
  let peers = PeerTable()
  let offers = OfferDirectory()
  let remoteHubs = RemoteHubs()
  let continuations = ContinuationTable()
  /// Streams between apps of this device and others.
  let linkedStreams = LinkedStreams()
  let explainedPeers = ExplainedPeers()
  /// Transfers that are forwarded: relays, and streams over links.
  let transfers = AccountTally()
  /// The number of messages and frames that were received and sent so far, modulo 2^64.
  public private(set) var work: UInt64 = 0
  let outbox = Outbox()
  /// Removed peers without a connection, kept until the end of the current call, because loops may still refer to them.
  private var droppedPeers: [Peer] = []

  public init(
    _ identity: HubIdentity, generation: UInt64, offersFrontmostOnly: Bool, agent: AgentDescription? = nil,
    _ now: Moment
  ) {
    self.agent = agent
    self.identity = identity
    self.generation = generation
    self.offersFrontmostOnly = offersFrontmostOnly
    startedAt = now.uptime
    self.now = now
  }

  deinit {
    offers.tearDown()
    remoteHubs.tearDown()
  }

  /// A call begins.
  func begin(_ now: Moment) { self.now = now }

  // MARK: Connections

  /// If too many connections have not sent `hello`, closes the oldest of them and keeps the new one.
  /// - Parameter account: nil: the connection has its own.
  public func connected(_ number: PeerNumber, of account: Account? = nil, _ now: Moment) {
    begin(now)
    defer { removeDisconnected() }
    if peers.unidentified.count >= Self.unidentifiedLimit {
      let silent = peers.popLongestUnidentified()
      disconnect(silent, SegueError(.remoteApplicationTimedOut, "no hello while \(Self.unidentifiedLimit) others came"))
    }
    let peer = Peer(number: number, of: account, helloBy: now.uptime + Self.helloTime)
    peers.connect(peer)
    peers.addUnidentified(peer)
  }

  /// Refuses a connection of a process that has reached its quota.
  public func turnAway(_ number: PeerNumber, _ now: Moment) {
    begin(now)
    let peer = Peer(number: number, helloBy: now.uptime)
    peers.connect(peer)
    disconnect(peer, SegueError(.limitExceeded, "the process has too many connections to the hub"))
  }

  /// - Parameter descriptor: came with these bytes of one read.
  public func receive(
    _ bytes: consuming [UInt8], with descriptor: PassedDescriptor? = nil, from number: PeerNumber, _ now: Moment
  ) {
    begin(now)
    defer { removeDisconnected() }
    guard let peer = peers[number], !peer.isClosing else { return }
    peer.link.receive(bytes, descriptor)
    read(peer, number)
  }

  private func read(_ peer: Peer, _ number: PeerNumber) {
    read(peer)
    // Another session may have taken over the connection.
    if peer.isClosing, let successor = peers[number], successor !== peer { read(successor) }
  }

  private func read(_ peer: Peer) {
    peer.hub?.heard(at: now.uptime)
    do throws(SegueError) {
      while let event = try peer.link.nextEvent() {
        work &+= 1
        try handle(event, from: peer)
        guard !peer.isClosing else { break }
      }
    } catch {
      disconnect(peer, error)
    }
    if peer.link.heldBytes > Self.backlogLimit {
      // Resets and credit were kept for it, too.
      disconnect(peer, SegueError(.connectionUnavailable, "the peer does not read"))
    }
    flush(peer)
  }

  /// The connection is gone.
  public func disconnected(_ number: PeerNumber, _ now: Moment) {
    begin(now)
    defer { removeDisconnected() }
    guard let peer = peers.disconnect(number) else { return }
    if let hub = peer.hub, !peer.isClosing {
      suspend(peer, hub)
      return boundSuspended()
    }
    peer.beginClosing()
    remove(peer)
  }

  /// A peer's socket is writable again.
  public func drained(_ number: PeerNumber, _ now: Moment) {
    begin(now)
    defer { removeDisconnected() }
    guard let peer = peers[number] else { return }
    sendPending(peer)
  }

  /// Passes the next peer whose `Link` has output to `body`, which writes as much as the socket accepts.
  /// - Returns: false if there is none (any more).
  public func flushNext(_ body: (PeerNumber, Link) -> Void) -> Bool {
    guard let next = outbox.takeFlushable() else { return false }
    // It may be gone, or another has taken over its connection.
    guard let peer = peers[next.number] else { return true }
    body(peer.number, peer.link)
    if !peer.link.hasOutput { sendPending(peer) }
    removeDisconnected()
    return true
  }

  /// Peers whose connection closes once their output is flushed.
  public func takePeersToClose() -> [PeerNumber] { outbox.takeClosable() }

  /// The pending tasks of the owner about descriptors.
  public func takeTransfers() -> [DescriptorTransfer] { outbox.takeTransfers() }

  public func link(of number: PeerNumber) -> Link? { peers[number]?.link }

  /// Who is charged for a connection; nil once it is gone.
  public func account(of number: PeerNumber) -> Account? { peers[number]?.account }

  /// Another hub takes over: sends goodbye to all apps, and ends links.
  public func stepDown() {
    defer { removeDisconnected() }
    for peer in peers.apps + peers.hubs + peers.unidentified {
      disconnect(peer, SegueError(.connectionUnavailable, "another hub has taken over"))
    }
  }

  /// Milliseconds that the apps of a former hub still have to notice this one and register (R2.7).
  var settling: Int64 { generation == 1 ? 0 : max(0, startedAt + Self.settlingTime - now.uptime) }

  /// The uptime by which all origins should have registered again.
  var gracePeriodEnd: Int64 { startedAt + Self.gracePeriod }

  /// The registered apps.
  public var appCount: Int { peers.apps.count }

  public var nextDeadline: Int64? {
    let parts = earlier(
      earlier(peers.nextLinkDeadline, remoteHubs.nextDeadline),
      earlier(continuations.nextDeadline, explainedPeers.nextDeadline))
    return peers.unidentified.reduce(parts) { $1.isClosing ? $0 : earlier($0, $1.helloBy) }
  }

  public func tick(_ now: Moment) {
    begin(now)
    defer { removeDisconnected() }
    for peer in peers.unidentified where peer.helloBy <= now.uptime {
      disconnect(peer, SegueError(.remoteApplicationTimedOut, "no hello within \(Self.helloTime) ms"))
    }
    tickContinuations()
    tickExplains()
    tickHubs()
    tickRemoteHubs()
  }

  // MARK: Messages

  func send(_ message: Message, to peer: Peer, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil) {
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
    work &+= 1
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

  /// Sends goodbye, and closes.
  @inline(never)
  func disconnect(_ peer: Peer, _ error: SegueError) {
    guard !peer.isClosing else { return }
    reportLinkDown(of: peer, error)
    let isConnected = !peer.isSuspended
    if isConnected, !(peer.handshake?.isResuming ?? false) { try? outbox.send(.goodbye(error), to: peer) }
    peer.beginClosing()
    guard isConnected else { return droppedPeers.append(peer) }
    flush(peer)
    outbox.close(peer.number)
  }

  /// Removes peers without a connection. Called last in each call that may have droppedPeers one.
  func removeDisconnected() { while let peer = droppedPeers.popLast() { remove(peer) } }

  /// Closes without a message.
  func close(_ peer: Peer) {
    guard !peer.isClosing else { return }
    peer.beginClosing()
    outbox.close(peer.number)
  }

  private func handle(_ event: Link.Event, from peer: Peer) throws(SegueError) {
    switch event {
    case .message:
      let descriptor = peer.link.takeDescriptor()
      if let message = try peer.link.takeMessage(Message.decode) { try handle(message, descriptor, from: peer) }
    case .data(let channel, let bytes): received(bytes, on: channel, from: peer)
    case .end(let channel, let total): receivedEnd(of: channel, total: total, from: peer)
    case .reset(let channel): receivedReset(of: channel, from: peer)
    case .room(let channel, let count): receivedCredit(count, for: channel, from: peer)
    }
  }

  private func handle(_ message: Message, _ descriptor: PassedDescriptor?, from peer: Peer) throws(SegueError) {
    if peer.isHub {
      guard descriptor == nil else { throw SegueError(.malformed, "a descriptor came from another hub") }
      return try handle(message, fromHub: peer)
    }
    guard let app = peer.app else {
      guard case .hello(let app, let version, let minimum) = message else {
        throw SegueError(.malformed, "the first message must be hello")
      }
      return register(app, peer, version: version, minimum: minimum)
    }
    switch message {
    case .ping(let number): send(.pong(number), to: peer, isUrgent: true)
    case .publish(let description, let timing, let activation):
      put(description, timing, activation: activation, by: peer, app)
    case .withdraw(let id): if let offer = peer.offer, offer.description.id == id { withdraw(offer) }
    case .fetch(let continuation, let milliseconds, let named, _, let isBack):
      fetch(continuation, milliseconds: milliseconds, receiver(app, named: named), isBack: isBack, by: peer)
    case .state(let id, _, let channel, let size, let isStale):
      try state(id, channel: channel, size: size, isStale: isStale, from: peer)
    case .refused(let id, _, let error): refused(id, error, by: peer)
    case .outcome(let continuation, let outcome, let error, let named):
      self.outcome(continuation, outcome, error, receiver(app, named: named), from: peer)
    case .outcomeAck(let id, _): outcomeAcknowledged(id, by: peer)
    case .explain(let request, let activity, let type):
      ask(Explain(request: request, activity: activity, type: type), peer)
    case .hello: throw SegueError(.malformed, "hello came twice")
    case .stream(let id, let continuation, _, _, let attachment):
      stream(id, continuation, of: app.id, attachment, descriptor, from: peer)
    case .streamAnswer(let id, let continuation, _, let error): streamAnswer(id, continuation, error, from: peer, app)
    case .streamStatus(let id, let continuation, let to, let status):
      streamStatus(id, continuation, to: to, status, from: peer)
    case .request, .response: try pass(message, from: peer)
    case .openLink(let number): openLink(number, descriptor, by: peer)
    case .linkDown(let number, _): endLink(number, by: peer)
    case .accepts(let accepts): setAccepts(accepts, peer)
    case .deliver(let delivery): deliver(delivery, from: peer)
    case .present, .absent, .ask, .answer: break
    case .link, .resume, .proceed, .linkUp, .welcome, .goodbye, .pong, .offer, .gone, .ready, .peerLost,
      .explanation, .route, .seek, .follow, .unfollow, .list, .listed, .refresh:
      break
    }
  }
}
