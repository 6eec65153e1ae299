// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// A hub of a device of a fleet: connects a `HubDriver` to simulated connections and the fleet's events.
final class FleetHub {
  let engine: HubEngine
  let generation: UInt64
  /// The process outlives its hub while that is alive.
  unowned(unsafe) let process: FleetProcess
  /// The fleet outlives all of its hubs.
  private unowned(unsafe) let fleet: Fleet
  private let clock: DeviceClock
  private lazy var driver = HubDriver(engine, in: self)
  private(set) var isAlive = true
  /// Uptime since which it is listed.
  var listedAt: Int64 = 0
  /// Whether its process has closed: it only sends goodbye.
  private(set) var isClosing = false
  /// Whether no app was left on the device when it closed.
  private var isLast = false

  /// Connections that wait at the listening socket.
  private var backlog: [Connection] = []
  private var isListening = true
  /// The uptime until which its process gets no descriptor for another connection.
  var exhaustedUntil: Int64 = 0
  private var deadline = QueuedDeadline()
  /// Its ends of simulated connections: all but those of an account's links.
  private var ends: [ConnectionEnd] = []
  /// The numbers of links of an account's devices, some of which have ended.
  private var accountLinks: [UInt64] = []
  /// The number of its steps: a hub with many peers is not checked after each.
  private var steps = 0

  init(_ engine: HubEngine, _ generation: UInt64, in process: FleetProcess) {
    self.engine = engine
    self.generation = generation
    self.process = process
    fleet = process.fleet
    clock = process.device.clock
    engine.keepChanges()
  }

  var peerCount: Int { driver.connectionCount }
  var brokenInvariant: StaticString? { engine.brokenInvariant ?? driver.brokenInvariant }

  // MARK: Events

  /// An app connects. The hub notices when it accepts.
  func connect(_ connection: Connection) {
    backlog.append(connection)
    notifyOfBacklog()
  }

  /// The number of connections that wait to be accepted.
  var backlogCount: Int { backlog.count }

  private func notifyOfBacklog() {
    if isListening, !isClosing, !backlog.isEmpty { fleet.push(.accept(self), at: fleet.clock.uptime) }
  }

  func acceptConnections() {
    guard isListening, !backlog.isEmpty else { return }
    step { driver.acceptConnections() }
    notifyOfBacklog()
  }

  func readable(_ number: HubEngine.PeerNumber) { step { driver.readable(number) } }
  func writable(_ number: HubEngine.PeerNumber) { step { driver.writable(number) } }

  func streamReady(_ number: UInt64, _ socket: FleetSocket) {
    step { driver.streamReady(number, isReadable: socket.isReadable) }
  }

  func takeNumber() -> HubEngine.PeerNumber { driver.takeNumber() }

  /// - Parameters:
  ///   - request: of the app that has asked for the link.
  ///   - device: whose certificate was shown on it; nil for a link that an app has made.
  func join(
    _ connection: Connection, end: Int, as number: HubEngine.PeerNumber, for request: LinkRequest?,
    device: Identifier? = nil
  ) {
    let end = makeEnd(connection, end)
    guard !isClosing else { return end.close() }
    step {
      driver.addLink(end, as: number, for: request, device: device, secret: fleet.drawIdentifier())
      driver.flush()
    }
  }

  /// Adds a link of an account's devices.
  /// - Parameters:
  ///   - device: whose certificate was shown on it.
  ///   - make: makes the connection, which the hub then owns.
  func addLink(
    of device: Identifier,
    _ make: (_ number: UInt64, _ ready: @escaping (_ isReadable: Bool) -> Void) -> any ByteConnection
  ) throws(SegueError) {
    guard isAlive, !isClosing else { throw SegueError(.invalidState, "the agent carries no hub") }
    let number = driver.takeNumber()
    // `forget` and `tearDown` close the connection, and let go of it.
    let connection = make(number) { [self] isReadable in if isReadable { readable(number) } else { writable(number) } }
    accountLinks.append(number)
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
    step {
      driver.addLink(connection, as: number, for: nil, device: device, secret: fleet.drawIdentifier())
      driver.flush()
    }
  }

  var hasAccountLinks: Bool { !accountLinks.isEmpty }
  /// The hubs of other devices of the account with which it is linked.
  var accountHubs: [Identifier] { accountLinks.compactMap { engine.hub(at: $0) } }

  /// Calls the engine, and writes what follows from that.
  func call(_ body: (HubEngine, Instant) -> Void) {
    step {
      body(engine, now)
      driver.flush()
    }
  }

  func flush() { step { driver.flush() } }

  /// False if the deadline was reset meanwhile.
  func isDue(_ at: Int64) -> Bool { deadline.isDue(at) }

  func tick() {
    deadline.remove()
    guard let next = driver.nextDeadline, next <= now.uptime else { return step { driver.flush() } }
    step { driver.tick() }
    if isAlive, let next = driver.nextDeadline, next <= now.uptime {
      fleet.report(process.name, "a deadline of the hub that has passed stays due: it would be busy for ever")
    }
  }

  /// Whether it does nothing but ping linked hubs that answer, so that nothing changes without a call from outside.
  var isIdle: Bool {
    process.isStalled
      || driver.isIdle && ends.allSatisfy { $0.isClosed || $0.connection.link == nil || $0.connection.isAnswered }
  }

  private func step(_ body: () -> Void) {
    guard isAlive else { return }
    body()
    steps += 1
    fleet.checker.check(self, after: steps)
    if isClosing, driver.isClosed { end() }
  }

  /// Output to a connection waits for room.
  func isBlocked(_ number: HubEngine.PeerNumber) {
    if let link = driver.link(of: number) { fleet.checker.checkQueue(link, of: process) }
  }

  // MARK: End

  /// The process closes. It stays until the last messages to apps are sent.
  func close() {
    isClosing = true
    step { isLast = driver.close() }
  }

  /// A hub of a higher generation has taken over.
  func stepDown() {
    step { driver.stepDown() }
    end()
  }

  func end() {
    guard isAlive else { return }
    fleet.trace(process.device.name, "ends hub", text: "\(generation) of \(process.name)")
    forget()
  }

  /// The process is killed in the middle of a write.
  func cut() {
    for end in ends where !end.isClosed { end.connection.cut(from: end.index, fleet) }
  }

  /// The device is gone without notice.
  func vanish() {
    for end in ends where !end.isClosed { end.connection.vanish(end.index) }
    forget()
  }

  /// The fleet ends.
  func tearDown() {
    isAlive = false
    for end in ends { end.connection.tearDown() }
    letGo()
    backlog = []
  }

  /// Lets go of its connections, and of the agent that carries it: folder and agent keep the hub.
  private func letGo() {
    driver.tearDown()
    ends = []
    (engine.unheardFailure, engine.manifests, engine.pageReasons) = (nil, nil, nil)
  }

  /// Makes an end, and lets go of those that are closed.
  private func makeEnd(_ connection: Connection, _ index: Int) -> ConnectionEnd {
    if ends.count >= 2 * (driver.connectionCount + 8) { ends.removeAll { $0.isClosed } }
    let end = ConnectionEnd(connection, index, in: fleet)
    ends.append(end)
    return end
  }

  private func forget() {
    isAlive = false
    letGo()
    for connection in backlog { connection.close(1, fleet) }
    backlog = []
    process.device.ended(self)
    if process.hub === self { process.hub = nil }
    if isLast { process.directory.removeFiles(upTo: generation) }
    if isClosing, !process.isAlive { process.device.remove(process) }
  }
}

extension FleetHub: HubEnvironment {
  var now: Instant { clock.now }
  var descriptorLimit: Int { process.device.resources.descriptorLimit(at: fleet.clock.uptime) }

  func accept(as number: HubEngine.PeerNumber) -> AcceptResult {
    guard !backlog.isEmpty else { return .none }
    guard exhaustedUntil <= fleet.clock.uptime else { return .exhausted }
    let connection = backlog.removeFirst()
    connection.isAccepted(by: self, as: number)
    return .accepted(
      AcceptedConnection(
        makeEnd(connection, 1), process: connection.owners[0]?.process.number ?? 0,
        isOwn: connection.owners[0]?.process === process, descriptor: driver.connectionCount + driver.streamCount,
        connection.owners[0]?.process.sandbox.map { .sandboxed($0) } ?? .free))
  }

  func listen(_ isListening: Bool) {
    self.isListening = isListening
    notifyOfBacklog()
  }

  func setTimer(_ next: Int64?) {
    if let next = deadline.add(next) { fleet.push(.hubDeadline(self, next), at: next) }
  }

  func touchHeartbeat(_ uptime: Int64) { process.directory.beat(self) }

  func openLink(_ descriptor: PassedDescriptor, for request: LinkRequest) throws(SegueError) {
    guard case .link(let link) = unsafeDowncast(descriptor, to: FleetDescriptor.self).content else {
      throw SegueError(.malformed, "what came with the message leads nowhere")
    }
    link.ask(request, of: process.device)
    process.device.join(link)
  }

  func openStream(_ descriptor: PassedDescriptor, as number: UInt64) throws(SegueError) -> any StreamEndpoint {
    guard let socket = unsafeDowncast(descriptor, to: FleetDescriptor.self).takeSocket() else {
      throw SegueError(.malformed, "what came with the message is no stream")
    }
    socket.give(to: .hub(self, number))
    return socket
  }

  func makeStream(as number: UInt64) throws(SegueError) -> (near: any StreamEndpoint, far: PassedDescriptor) {
    let (near, far) = FleetSocket.pair()
    near.give(to: .hub(self, number))
    return (near, FleetDescriptor(far))
  }
}
