import SegueEngine
import SegueModel
import SegueWire

/// Drives a `HubEngine`: carries bytes between it and its connections, keeps the quotas of those, and waits where the system
/// refuses something. The same driver runs in the product and in the fleet.
///
/// No I/O, no clock. Its environment tells it what happens: `acceptConnections`, `readable`, `writable`, `streamReady`, `tick`.
public final class HubDriver {
  public typealias PeerNumber = HubEngine.PeerNumber

  /// Connections that are accepted before others have their turn.
  static let acceptsInTurn = 64
  /// Reads of a connection before others have their turn.
  static let readsInTurn = 4
  /// Milliseconds without accepting because the system had nothing left for a connection.
  static let acceptPause: Int64 = 250
  /// Milliseconds without writing to connections for which the system had nothing left.
  static let writePause: Int64 = 50
  /// Milliseconds that apps have to read what they are told before the hub closes.
  static let closingTime: Int64 = 250
  /// Reads of each connection before the hub closes: as much as the largest socket holds, and its end.
  private static let closingReads = 8

  private let engine: HubEngine
  /// Owns the driver.
  private unowned(unsafe) let environment: any HubEnvironment
  private var connections = NumberedList<PeerConnection>()
  private var streams = NumberedList<StreamForwarder>()
  private var lastNumber: UInt64 = 0
  private var quota = ConnectionQuota()
  /// Uptime at which connections are accepted again.
  private var acceptsAt: Int64?
  /// Uptime at which what the system has refused to write is written again.
  private var writesAt: Int64?
  /// Uptime at which the hub closes, whatever is still to be said. Nil: it is not about to close.
  private var closesAt: Int64?
  /// Nothing is left to be said before the hub closes, or there is no time left.
  public private(set) var isClosed = false

  /// A connection, and the process at its other end; nil: it leads to another hub.
  private final class PeerConnection {
    let number: PeerNumber
    let bytes: any ByteConnection
    let process: Int32?
    /// The system has refused to write.
    var isRefused = false

    init(_ bytes: any ByteConnection, as number: PeerNumber, of process: Int32?) {
      self.number = number
      self.bytes = bytes
      self.process = process
    }
  }

  public init(_ engine: HubEngine, in environment: any HubEnvironment) {
    self.engine = engine
    self.environment = environment
  }

  // MARK: Connections

  public var connectionCount: Int { connections.count }
  public var streamCount: Int { streams.count }
  public var allConnections: [any ByteConnection] { connections.elements.map { $0.bytes } }

  /// Connections with something that is still to be written.
  public var unflushedConnections: [any ByteConnection] {
    connections.elements.filter { engine.link(of: $0.number)?.hasOutput ?? false }.map { $0.bytes }
  }

  public func link(of number: PeerNumber) -> Link? { engine.link(of: number) }

  /// A new number, higher than all before, for a connection or a stream.
  public func takeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Connections wait at the listening socket.
  public func acceptConnections() {
    guard closesAt == nil, acceptsAt == nil else { return }
    for _ in 0..<Self.acceptsInTurn {
      let number = takeNumber()
      switch environment.accept(as: number) {
      case .accepted(let accepted): admit(accepted, as: number)
      case .none: return
      case .exhausted:
        environment.listen(false)
        acceptsAt = environment.now.uptime + Self.acceptPause
        return flush()
      }
    }
  }

  private func admit(_ accepted: AcceptedConnection, as number: PeerNumber) {
    let limit = environment.descriptorLimit
    guard accepted.isOwn || ConnectionQuota.hasRoom(for: accepted.descriptor, of: limit) else {
      return accepted.connection.close()
    }
    let connection = add(accepted.connection, as: number, of: accepted.process)
    if quota.isKept(by: accepted.process, of: limit) {
      engine.connected(number, environment.now)
      // Most say hello at once; that one has is not to be mistaken for silence if many others follow.
      receive(connection)
    } else {
      engine.turnAway(number, environment.now)
    }
    flush()
  }

  /// A connection to another hub is there.
  /// - Parameters:
  ///   - request: that of the app that has asked for it.
  ///   - secret: a new random one.
  public func addLink(
    _ bytes: any ByteConnection, as number: PeerNumber, for request: LinkRequest?, secret: Identifier
  ) {
    add(bytes, as: number, of: nil)
    engine.connectedHub(number, for: request, secret: secret, environment.now)
  }

  @discardableResult
  private func add(_ bytes: any ByteConnection, as number: PeerNumber, of process: Int32?) -> PeerConnection {
    let connection = PeerConnection(bytes, as: number, of: process)
    connections.append(connection, as: number)
    if let process { quota.add(process) }
    return connection
  }

  /// A connection has something to read, or its end.
  public func readable(_ number: PeerNumber) {
    guard let connection = connections[number] else { return }
    // What comes much is likely to be there before one could wait for it.
    for _ in 0..<Self.readsInTurn {
      let isMoreLikely = receive(connection)
      flush()
      guard isMoreLikely else { break }
    }
  }

  /// Reads once, and does what there is to do then.
  /// - Returns: whether there may be more to read.
  @discardableResult private func receive(_ connection: PeerConnection) -> Bool {
    let number = connection.number
    guard let link = engine.link(of: number) else {
      // The engine has done with it.
      close(connection)
      return false
    }
    let now = environment.now
    let result = connection.bytes.read(atMost: link.readSize) { bytes, descriptor in
      engine.receive(bytes, with: descriptor, from: number, now)
    }
    transferDescriptors()
    environment.showLife(now.uptime)
    if result == .closed { close(connection) }
    return result == .full
  }

  /// A connection has room for what is to be written.
  public func writable(_ number: PeerNumber) {
    guard let connection = connections[number], let link = engine.link(of: number) else { return }
    write(connection, link)
    engine.drained(number, environment.now)
    flush()
  }

  private func close(_ connection: PeerConnection) {
    guard connections.remove(connection.number) != nil else { return }
    connection.bytes.close()
    if let process = connection.process { quota.remove(process) }
    engine.disconnected(connection.number, environment.now)
  }

  // MARK: Output

  /// Does what the engine wants to be done, and sends what it has to say as far as the connections take it.
  public func flush() {
    flushPeers()
    if closesAt == nil {
      // Those that stay are told of what has gone with those that close.
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
      if let stream = engine.takeCrossing() {
        if let forwarder = streams[stream.number] { forward(forwarder) }
      } else if !flushPeer() {
        return
      }
    }
  }

  /// - Returns: false if no peer has something to be sent.
  private func flushPeer() -> Bool {
    engine.flushNext { number, link in if let connection = connections[number] { write(connection, link) } }
  }

  /// Writes what a link has to say, as far as its connection takes it.
  @inline(never)
  private func write(_ connection: PeerConnection, _ link: Link) {
    guard !connection.isRefused else { return }
    while link.takeOutput({ bytes in
      switch connection.bytes.write(bytes, link.outgoingDescriptor) {
      case .bytes(let count): return count
      case .refused:
        connection.isRefused = true
        writesAt = environment.now.uptime + Self.writePause
        return 0
      }
    }) {}
    connection.bytes.watch(reading: true, writing: link.hasOutput && !connection.isRefused)
  }

  // MARK: Streams that cross links

  /// The endpoint of a stream has something to read, or room.
  public func streamReady(_ number: UInt64, isReadable: Bool) {
    guard let forwarder = streams[number] else { return }
    if isReadable { forwarder.becameReadable() }
    forward(forwarder)
    flush()
  }

  /// Descriptors have come from apps of this device, or are to go to them.
  private func transferDescriptors() {
    for transfer in engine.takeTransfers() {
      switch transfer {
      case .link(let request, let descriptor):
        do throws(SegueError) {
          try environment.openLink(descriptor, for: request)
        } catch {
          engine.refuse(request, error)
        }
      case .outgoing(let stream, let descriptor):
        let number = takeNumber()
        do throws(SegueError) {
          add(stream, try environment.openStream(descriptor, as: number), as: number)
        } catch {
          engine.lose(stream, error)
        }
      case .incoming(let stream):
        let number = takeNumber()
        do throws(SegueError) {
          let (near, far) = try environment.makeStream(as: number)
          engine.connect(stream, far)
          add(stream, near, as: number)
        } catch {
          engine.lose(stream, error)
        }
      }
    }
  }

  private func add(_ stream: Crossing, _ endpoint: any StreamEndpoint, as number: UInt64) {
    stream.number = number
    let forwarder = StreamForwarder(stream, endpoint)
    streams.append(forwarder, as: number)
    forward(forwarder)
  }

  /// Each piece goes out before the next is read.
  private func forward(_ forwarder: StreamForwarder) {
    while forwarder.forward(by: engine) { while flushPeer() {} }
    forwarder.watchEndpoint()
    if forwarder.isClosed { streams.remove(forwarder.stream.number) }
  }

  // MARK: Time

  /// Uptime at which `tick` has something to do; nil: at none.
  public var nextDeadline: Int64? {
    var next = closesAt ?? engine.nextDeadline
    if closesAt == nil, let at = acceptsAt { next = min(next ?? at, at) }
    if let at = writesAt { next = min(next ?? at, at) }
    return next
  }

  public func tick() {
    let now = environment.now
    engine.tick(now)
    acceptAgain(now.uptime)
    writeAgain(now)
    flush()
  }

  /// Accepts again after a pause because the system had nothing left for a connection.
  private func acceptAgain(_ uptime: Int64) {
    guard let at = acceptsAt, at <= uptime, closesAt == nil else { return }
    acceptsAt = nil
    environment.listen(true)
  }

  /// Writes again after a pause because the system had nothing left for what was to be sent.
  private func writeAgain(_ now: Moment) {
    guard let at = writesAt, at <= now.uptime else { return }
    writesAt = nil
    for connection in connections.elements where connection.isRefused {
      connection.isRefused = false
      guard let link = engine.link(of: connection.number) else { continue }
      write(connection, link)
      if !link.hasOutput { engine.drained(connection.number, now) }
    }
  }

  // MARK: Its end

  /// The process has no app left that needs the hub. Apps and other hubs are told so, and the environment goes on to tell the
  /// driver what happens until `isClosed`; then it calls `tearDown`.
  /// - Returns: whether no app is left anywhere on the device.
  @discardableResult public func close() -> Bool {
    // What apps of this process said last is still in the connections, and their end.
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

  /// Closes all connections and streams. Nothing is to be called afterwards.
  public func tearDown() {
    for connection in connections.elements { connection.bytes.close() }
    connections.removeAll()
    for forwarder in streams.elements { forwarder.close() }
    streams.removeAll()
  }

  // MARK: Invariants

  /// What is not as it must always be; nil: all is.
  public var brokenInvariant: StaticString? {
    if quota.total != connections.elements.count(where: { $0.process != nil }) {
      return "hub: it has miscounted the connections of processes"
    }
    if writesAt == nil, connections.elements.contains(where: { $0.isRefused }) {
      return "hub: what the system has refused to write is never written again"
    }
    return streams.elements.contains { $0.isClosed } ? "hub: it keeps a stream that is over" : nil
  }
}
