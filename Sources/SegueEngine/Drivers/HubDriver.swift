// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Drives a `HubEngine`: moves bytes between it and its connections, enforces their quotas, and backs off if the system
/// refuses something. The same driver runs in the product and in the fleet.
///
/// No I/O, no clock. Its environment reports events: `acceptConnections`, `readable`, `writable`, `streamReady`,
/// `tick`.
public final class HubDriver {
  public typealias PeerNumber = HubEngine.PeerNumber

  /// Connections accepted per turn.
  static let acceptsInTurn = 64
  /// Reads of a connection per turn.
  static let readsInTurn = 4
  /// Milliseconds without accepting after the system refused a connection.
  static let acceptPause: Int64 = 250
  /// Milliseconds without writing after the system refused a write.
  public static let writePause: Int64 = 50
  /// Milliseconds for apps to read the last messages before the hub closes.
  static let closingTime: Int64 = 250
  /// Reads of each connection before the hub closes: as much as the largest socket holds, and its end.
  private static let closingReads = 8

  let engine: HubEngine
  /// The environment owns the driver, and closes all connections and streams, which may keep the driver, before it is
  /// released itself.
  unowned(unsafe) let environment: any HubEnvironment
  private var connections = NumberedList<PeerConnection>()
  var streams = NumberedList<StreamForwarder>()
  private var lastNumber: UInt64 = 0
  private let quota = ConnectionQuota()
  private var work = WorkQuota()
  /// Connections that are not read until their principals have their turn, oldest first.
  private var paused: [PeerConnection] = []
  /// The uptime at which the first of their principals has its turn.
  private var readsAt: Int64?
  /// The uptime at which to accept connections again.
  private var acceptsAt: Int64?
  /// The uptime at which to retry refused writes.
  private var writesAt: Int64?
  /// The uptime at which the hub closes, even with pending messages. Nil if it is not closing.
  private var closesAt: Int64?
  /// Whether something was written that goes out in a later turn.
  var hasDeferred = false
  /// Whether the hub can close: nothing is pending, or the time is up.
  public private(set) var isClosed = false

  public init(_ engine: HubEngine, in environment: any HubEnvironment) {
    self.engine = engine
    self.environment = environment
  }

  // MARK: Connections

  public var connectionCount: Int { connections.count }
  public var streamCount: Int { streams.count }
  public var allConnections: [any ByteConnection] { connections.elements.map { $0.bytes } }

  public func link(of number: PeerNumber) -> FramedConnection? { engine.link(of: number) }

  /// Returns a new number, higher than all before, for a connection or a stream.
  public func takeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Accepts connections that wait at the listening socket.
  public func acceptConnections() {
    guard closesAt == nil, acceptsAt == nil else { return }
    for _ in 0..<Self.acceptsInTurn {
      let number = takeNumber()
      switch environment.accept(as: number) {
      case .accepted(let accepted): admit(accepted, as: number)
      case .later: break
      case .none: return
      case .exhausted:
        environment.listen(false)
        acceptsAt = environment.now.uptime + Self.acceptPause
        return flush()
      }
    }
  }

  /// Takes over a connection: one that the environment accepts later than others, too.
  public func admit(_ accepted: AcceptedConnection, as number: PeerNumber) {
    guard closesAt == nil else { return accepted.connection.close() }
    let limit = environment.descriptorLimit
    let hasRoom = accepted.isOwn || ConnectionQuota.hasRoom(for: accepted.descriptor, of: limit)
    // Closed without a message, so that another process becomes the hub, which has more room.
    guard hasRoom || quota.fills(limit) else { return accepted.connection.close() }
    let principal = Principal.process(accepted.process)
    let connection = add(accepted.connection, as: number, of: principal)
    if !hasRoom {
      // Told, so that the app waits for room: another hub would have no more.
      engine.reject(number, .noDescriptors(of: limit), environment.now)
    } else if quota.isKept(by: principal, of: limit) {
      switch accepted.standing {
      case .free: engine.connected(number, of: principal, environment.now)
      case .sandboxed(let sandbox): engine.connected(number, of: principal, in: sandbox, environment.now)
      case .refused(let error): engine.reject(number, .standing(error), environment.now)
      }
      // Most send hello at once; reads it now, so that many others cannot make a connection look silent.
      if hasTurn(connection, at: environment.now.uptime) { receive(connection) }
    } else {
      engine.reject(number, .processQuota, environment.now)
    }
    flush()
  }

  /// Adds a connection to another hub.
  /// - Parameters:
  ///   - request: that of the app that has asked for it.
  ///   - device: whose certificate was shown on it.
  ///   - secret: a new random one.
  public func addLink(
    _ bytes: any ByteConnection, as number: PeerNumber, for request: LinkRequest?, device: Identifier? = nil,
    secret: Identifier
  ) {
    add(bytes, as: number, of: nil)
    engine.connectedHub(number, for: request, device: device, secret: secret, environment.now)
  }

  @discardableResult
  private func add(_ bytes: any ByteConnection, as number: PeerNumber, of principal: Principal?) -> PeerConnection {
    let connection = PeerConnection(bytes, as: number, of: principal)
    connections.set(connection, as: number)
    if let principal { quota.add(principal) }
    return connection
  }

  /// A connection is readable, or has ended.
  public func readable(_ number: PeerNumber) {
    guard let connection = connections[number], !connection.isPaused || closesAt != nil else { return }
    let uptime = environment.now.uptime
    // Bulk data probably has more bytes ready now.
    for _ in 0..<Self.readsInTurn {
      guard hasTurn(connection, at: uptime) else { return pause(connection) }
      let isMoreLikely = receive(connection)
      flush()
      guard isMoreLikely else { break }
    }
  }

  /// Reads once, and handles the result.
  /// - Returns: whether more is to be read in this turn: not if it has come for another device, and goes out first.
  @discardableResult private func receive(_ connection: PeerConnection) -> Bool {
    let number = connection.number
    guard let link = engine.link(of: number) else {
      // The engine has removed it.
      close(connection)
      return false
    }
    let now = environment.now
    let (account, before, relayed) = (account(of: connection), engine.work, engine.relayedFrames)
    var size = 0
    let limit = max(link.readSize, connection.bytes.leastReadSize)
    let result = connection.bytes.read(atMost: limit) { bytes, descriptor in
      size += bytes.count
      engine.receive(bytes, with: descriptor, from: number, now)
    }
    let cost = WorkQuota.readCost + WorkQuota.cost(ofRecords: connection.bytes.takeRecordCount(), with: size)
    account?.charge(Int(engine.work &- before) + cost, now.uptime)
    transferDescriptors()
    environment.touchHeartbeat(now.uptime)
    if result == .closed { close(connection) }
    return result == .full && engine.relayedFrames == relayed
  }

  // MARK: Turns

  private func hasTurn(_ connection: PeerConnection, at uptime: Int64) -> Bool {
    account(of: connection).map { $0.turn <= uptime } ?? true
  }

  /// The account of the principal that is charged for a connection; nil once the engine has removed that.
  private func account(of connection: PeerConnection) -> WorkAccount? {
    engine.principal(of: connection.number).map { connection.account(of: $0, in: &work, environment.now.uptime) }
  }

  /// Does not read a connection until its principal has its turn.
  private func pause(_ connection: PeerConnection) {
    guard closesAt == nil else { return }
    connection.isPaused = true
    paused.append(connection)
    watch(connection)
    setReadTime(for: connection)
    environment.setTimer(nextDeadline)
  }

  private func setReadTime(for connection: PeerConnection) {
    let turn = account(of: connection)?.turn ?? 0
    readsAt = min(readsAt ?? turn, turn)
  }

  /// Reads connections whose principals have their turn, each once. However long that takes, a principal that has used
  /// up its turn has the next one in a later call, so that others come before it.
  private func readAgain(_ uptime: Int64) {
    guard let at = readsAt, at <= uptime else { return }
    readsAt = nil
    let waiting = paused
    var served: [PeerConnection] = []
    paused = []
    for connection in waiting where connections[connection.number] === connection {
      guard hasTurn(connection, at: uptime) else {
        paused.append(connection)
        continue
      }
      receive(connection)
      if hasTurn(connection, at: uptime) {
        connection.isPaused = false
        watch(connection)
      } else {
        served.append(connection)
      }
    }
    // The next turn is another's.
    paused += served
    for connection in paused { setReadTime(for: connection) }
  }

  private func watch(_ connection: PeerConnection) {
    let isFull = !connection.isRefused && engine.link(of: connection.number)?.hasOutput ?? false
    connection.bytes.watch(reading: !connection.isPaused, writing: isFull)
  }

  /// A connection is writable.
  public func writable(_ number: PeerNumber) {
    guard let connection = connections[number], let link = engine.link(of: number) else { return }
    write(connection, link)
    engine.drained(number, environment.now)
    flush()
  }

  private func close(_ connection: PeerConnection) {
    guard connections.remove(connection.number) != nil else { return }
    connection.bytes.close()
    if let principal = connection.principal {
      quota.remove(principal)
      if quota.isFree(principal) { work.remove(principal, environment.now.uptime) }
    }
    engine.disconnected(connection.number, environment.now)
  }

  // MARK: Output

  /// Executes the tasks of the engine, and writes its output as far as the connections accept it.
  public func flush() {
    flushPeers()
    if closesAt == nil {
      // Notifies the remaining peers of what ended with the closed ones.
      while true {
        let closing = engine.takePeersToClose()
        guard !closing.isEmpty else { break }
        for number in closing { if let connection = connections[number] { close(connection) } }
        flushPeers()
      }
    } else {
      let isFlushed = !connections.elements.contains { engine.link(of: $0.number)?.hasOutput ?? false }
      isClosed = isFlushed || closesAt.map { $0 <= environment.now.uptime } ?? false
    }
    environment.setTimer(nextDeadline)
  }

  private func flushPeers() {
    while true {
      if let stream = engine.takeChangedStream() {
        if let forwarder = streams[stream.number] { forward(forwarder) }
      } else if !flushPeer() {
        return
      }
    }
  }

  /// - Returns: false if no peer has output.
  func flushPeer() -> Bool {
    engine.flushNext { number, link in if let connection = connections[number] { write(connection, link) } }
  }

  /// Writes the output of a link, as far as its connection accepts it.
  @inline(never)
  private func write(_ connection: PeerConnection, _ link: FramedConnection) {
    guard !connection.isRefused else { return }
    connection.bytes.gather()
    while link.takeOutput({ bytes in
      switch connection.bytes.write(bytes, link.outgoingDescriptor) {
      case .bytes(let count): return count
      case .refused:
        connection.isRefused = true
        writesAt = environment.now.uptime + Self.writePause
        return 0
      }
    }) {}
    if connection.bytes.sendGathered() { hasDeferred = true }
    watch(connection)
  }

  // MARK: Time

  /// The uptime at which `tick` is due, or nil.
  public var nextDeadline: Int64? {
    var next = closesAt ?? engine.nextDeadline
    if closesAt == nil, let at = acceptsAt { next = min(next ?? at, at) }
    if let at = writesAt { next = min(next ?? at, at) }
    if closesAt == nil, let at = readsAt { next = min(next ?? at, at) }
    return next
  }

  /// Whether nothing is due but pings to linked hubs.
  public var isIdle: Bool { closesAt == nil && acceptsAt == nil && writesAt == nil && engine.isIdle }

  public func tick() {
    let now = environment.now
    engine.tick(now)
    acceptAgain(now.uptime)
    writeAgain(now)
    if closesAt == nil { readAgain(now.uptime) }
    flush()
  }

  /// Schedules accepting after the system refused a connection.
  private func acceptAgain(_ uptime: Int64) {
    guard let at = acceptsAt, at <= uptime, closesAt == nil else { return }
    acceptsAt = nil
    environment.listen(true)
  }

  /// Schedules writing after the system refused a write.
  private func writeAgain(_ now: Instant) {
    guard let at = writesAt, at <= now.uptime else { return }
    writesAt = nil
    for connection in connections.elements where connection.isRefused {
      connection.isRefused = false
      guard let link = engine.link(of: connection.number) else { continue }
      write(connection, link)
      if !link.hasOutput { engine.drained(connection.number, now) }
    }
  }

  // MARK: End

  /// The process has no app left that needs the hub: sends goodbye to apps and other hubs. The environment continues to
  /// report events until `isClosed`, and then calls `tearDown`.
  /// - Returns: whether no app is left anywhere on the device.
  @discardableResult public func close() -> Bool {
    // The last messages of this process's apps, and their ends, are still in the connections.
    for _ in 0..<Self.closingReads { for connection in connections.elements { receive(connection) } }
    let isLast = engine.appCount == 0
    environment.listen(false)
    closesAt = environment.now.uptime + Self.closingTime
    engine.stepDown()
    flush()
    return isLast
  }

  /// A hub of a higher generation has taken over. The environment calls `tearDown` next.
  public func stepDown() {
    engine.stepDown()
    flush()
  }

  /// Closes all connections and streams. No calls may follow.
  public func tearDown() {
    for connection in connections.elements { connection.bytes.close() }
    connections.removeAll()
    for forwarder in streams.elements { forwarder.close() }
    streams.removeAll()
  }

  // MARK: Invariants

  /// The first violated invariant, or nil.
  public var brokenInvariant: StaticString? {
    if quota.total != connections.elements.count(where: { $0.principal != nil }) {
      return "hub: it has miscounted the connections of processes"
    }
    if writesAt == nil, connections.elements.contains(where: { $0.isRefused }) {
      return "hub: what the system has refused to write is never written again"
    }
    if closesAt == nil, (readsAt == nil) != paused.isEmpty {
      return "hub: what it does not read for now is never read again"
    }
    return streams.elements.contains { $0.isClosed } ? "hub: it keeps a stream that is over" : nil
  }
}
