import SegueDevices
import SegueModel

@testable import SegueTrust

/// Stands for `DeviceLinks` in an agent: the table of links that ships decides, and this carries its decisions out.
final class SimulatedLinks: SimulatedConnectionOwner {
  /// Milliseconds between two looks whether a link is alive; of silence after which the other end is asked, and after
  /// which the hub gives it up.
  private static let lookPause: Int64 = 10_000
  private static let silence: Int64 = 30_000

  private unowned let agent: SimulatedAgent
  private let machine: Machine
  let identity: DeviceIdentity
  private var credentials: DeviceCredentials
  private var epochs: [EpochKeys]
  private let announcer: Announcer
  private(set) var table: LinkTable<Address>
  private var connections: [SimulatedConnection] = []
  private var lastNumber: UInt64 = 0
  private var timerAt: Int64 = .max
  private var slept: Int64
  private var isClosed = false
  var invites: [Invite] = []
  /// Connections with devices that are not listed, and whether the other hub has introduced itself.
  private var held: [(connection: SimulatedConnection, hasGreeted: Bool)] = []

  init(of agent: SimulatedAgent, _ credentials: DeviceCredentials, _ identity: DeviceIdentity, _ epochs: [EpochKeys])
    throws(SegueError)
  {
    self.agent = agent
    machine = agent.machine
    (self.credentials, self.identity, self.epochs) = (credentials, identity, epochs)
    announcer = try Announcer(epochs)
    announcer.port = agent.machine.port
    table = LinkTable(own: identity.device)
    slept = agent.machine.slept
  }

  var devices: [Identifier] { table.devices }
  func link(with device: Identifier) -> SimulatedConnection? { table.number(of: device).flatMap { connection($0) } }
  private func connection(_ number: UInt64) -> SimulatedConnection? { connections.first { $0.number == number } }

  func setDevices(_ devices: [Identifier]) {
    announcer.setKnown(devices.filter { $0 != identity.device })
    act()
  }

  func setAddresses(_ addresses: [Address]) {
    table.setStatic(addresses, machine.now.uptime)
    act()
  }

  func note(_ address: Address, isFormer: Bool = false) {
    table.announced(address, from: address.place.source, isFormer: isFormer, machine.now.uptime)
    act()
  }

  func heard(_ beacon: [UInt8], from place: Place) {
    guard case .listens(let port, let isFormer) = announcer.read(beacon, at: machine.now.date) else { return }
    note(Address(place: place, port: port), isFormer: isFormer)
  }

  func renew(_ credentials: DeviceCredentials, _ epochs: [EpochKeys]) throws(SegueError) {
    try announcer.renew(epochs)
    (self.credentials, self.epochs) = (credentials, epochs)
    for device in devices {
      guard let connection = link(with: device) else { continue }
      if connection.channel.isRevoked(by: credentials) || !lists(device) { connection.close() }
    }
    for (connection, hasGreeted) in held {
      guard let peer = connection.channel.peer?.device, lists(peer) else { continue }
      held.removeAll { $0.connection === connection }
      link(connection, peer)
      if hasGreeted { received(.hello, over: connection) }
    }
    act()
  }

  private func lists(_ device: Identifier) -> Bool { credentials.members.standing(of: device) == .listed }

  func close() {
    isClosed = true
    for connection in connections { connection.close() }
  }

  func drop(isPowerLost: Bool) {
    isClosed = true
    for connection in connections { connection.drop(isPowerLost: isPowerLost) }
    connections = []
  }

  // MARK: Time

  func networkChanged() {
    table.networkChanged(machine.now.uptime)
    announcer.networkChanged(machine.now.uptime)
    act()
  }

  func act() {
    guard !isClosed else { return }
    let now = machine.now
    if machine.slept > slept + 1_000 {
      slept = machine.slept
      return networkChanged()
    }
    while let (address, age) = table.takeDue(now.uptime) { dial(address, age) }
    if announcer.isDue(linked: table.surelyLinked, now.uptime) {
      let nonce = machine.fleet.random.identifier().bytes
      if let beacon = announcer.takeDue(now, nonce: nonce, random: random()) {
        machine.fleet.multicast(beacon, from: machine)
      }
    }
    let next = [table.nextDeadline, announcer.nextDeadline].compactMap { $0 }.min() ?? .max
    // Also to see that it has slept.
    set(min(next, now.uptime + Self.lookPause))
  }

  private func set(_ at: Int64) {
    timerAt = at
    agent.later(at - machine.now.uptime) { [self] in
      guard timerAt == at, !isClosed else { return }
      tick()
    }
  }

  private func tick() {
    for connection in table.overdue(machine.now.uptime).compactMap({ connection($0) }) {
      let isHeld = held.contains { $0.connection === connection }
      failed(
        connection,
        isHeld
          ? SegueError(.notAllowed, "it is not listed") : SegueError(.remoteApplicationTimedOut, "no link in time"))
    }
    act()
  }

  private func random() -> UInt32 { UInt32(truncatingIfNeeded: machine.fleet.random.next()) }

  // MARK: Connections

  private func dial(_ address: Address, _ age: Int) {
    let uptime = machine.now.uptime
    lastNumber += 1
    let number = lastNumber
    guard
      let channel = try? SimulatedChannel(
        knockingUnder: epochs[min(age, epochs.count - 1)], credentials, identity, machine.cryptography),
      let wire = machine.fleet.dial(
        address, from: machine,
        refused: { [self] in
          if let dialled = self.connection(number) {
            failed(dialled, SegueError(.connectionUnavailable, "nobody listens there"))
          }
        })
    else { return table.undialled(address, uptime, random: random()) }
    let connection = SimulatedConnection(wire, 0, address, as: number, channel, on: machine, of: self)
    connections.append(connection)
    table.dialled(address, as: number, uptime)
    connection.start()
  }

  func accept(_ wire: Wire) -> Bool {
    guard !isClosed,
      let channel = try? SimulatedChannel(
        answering: epochs, invites: invites, credentials, identity, machine.cryptography)
    else { return false }
    lastNumber += 1
    let address = Address(place: wire.place(0), port: 0)
    let name = Identifier(high: 0, low: address.place.source.reduce(0) { $0 << 8 | UInt64($1) })
    switch table.accepted(lastNumber, from: .init(address: name, prefix: name), machine.now.uptime) {
    case .refused: return false
    case .added(let former):
      if let former, let other = self.connection(former) {
        failed(other, SegueError(.limitExceeded, "too many connections have not shown who they are"))
      }
    }
    let connection = SimulatedConnection(wire, 1, address, as: lastNumber, channel, on: machine, of: self)
    connections.append(connection)
    connection.start()
    act()
    return true
  }

  func knocked(_ connection: SimulatedConnection) { table.knocked(connection.number) }
  func isAuthenticated(_ connection: SimulatedConnection) {
    guard let peer = connection.channel.peer?.device else { return }
    if table.isSuperfluous(connection.number, to: peer) { end(connection, .linked(peer)) }
  }

  func failed(_ connection: SimulatedConnection, _ error: SegueError) {
    machine.fleet.trace(
      machine.name, connection.channel.hasKnocked ? "makes no link with" : "is not answered by",
      "\(connection.address.place.text): \(error.message)")
    end(
      connection,
      LinkTable<Address>.end(of: error, isDialled: connection.isDialled, hasKnocked: connection.channel.hasKnocked))
  }

  private func end(_ connection: SimulatedConnection, _ end: LinkTable<Address>.End) {
    remove(connection, end)
    connection.close()
    act()
  }

  private func remove(_ connection: SimulatedConnection, _ end: LinkTable<Address>.End = .failed) {
    connections.removeAll { $0 === connection }
    held.removeAll { $0.connection === connection }
    let peer = table.remove(connection.number, end, epochs: epochs.count, machine.now.uptime, random: random())
    if let peer { machine.fleet.trace(machine.name, "is no longer linked with", machine.fleet.oracle.name(of: peer)) }
  }

  func isUp(_ connection: SimulatedConnection) {
    guard let peer = connection.channel.peer else { return passOn(connection) }
    guard !connection.channel.isRevoked(by: credentials) else {
      return failed(connection, SegueError(.notAllowed, "revoked meanwhile"))
    }
    guard lists(peer.device) else {
      held.append((connection, hasGreeted: false))
      table.hold(connection.number, until: machine.now.uptime + 5_000)
      if let greeting = agent.snapshot.greeting(at: machine.now) { connection.send(.account(greeting)) }
      return act()
    }
    link(connection, peer.device)
  }

  private func link(_ connection: SimulatedConnection, _ peer: Identifier) {
    switch table.choice(for: connection.number, of: peer, machine.now.uptime) {
    case .refused: return end(connection, .linked(peer))
    case .contested: return failed(connection, SegueError(.busy, "the link changes hands again and again"))
    case .taken(let former): former.flatMap { self.connection($0) }?.close()
    }
    table.linked(
      connection.number, with: peer, epochs: epochs.count, machine.now.uptime, random: random())
    machine.fleet.trace(machine.name, "is linked with", machine.fleet.oracle.name(of: peer))
    machine.fleet.oracle.linked(machine, peer)
    // The listener's hub speaks first.
    if !connection.isDialled { connection.send(.hello) }
    look(after: connection)
    act()
  }

  private func passOn(_ connection: SimulatedConnection) {
    connections.removeAll { $0 === connection }
    table.remove(connection.number, epochs: epochs.count, machine.now.uptime, random: random())
    agent.joins.accept(connection)
    act()
  }

  func ended(_ connection: SimulatedConnection) {
    remove(connection)
    act()
  }

  // MARK: The hub

  func received(_ frame: Frame, over connection: SimulatedConnection) {
    table.heard(connection.number)
    guard let peer = connection.channel.peer?.device else { return }
    if let index = held.firstIndex(where: { $0.connection === connection }) {
      if case .hello = frame { held[index].hasGreeted = true }
      if case .account(let message) = frame, let certificate = connection.channel.peerCertificate {
        agent.heardUnlisted(message, certificate)
      }
      return
    }
    switch frame {
    case .hello:
      if connection.isDialled { connection.send(.hello) }
      agent.heard(nil, from: peer)
    case .ping: connection.send(.pong)
    case .account(let message): agent.heard(message, from: peer)
    case .pong, .join: break
    }
  }

  /// The hub asks where it hears nothing, and gives up what stays silent.
  private func look(after connection: SimulatedConnection) {
    agent.later(Self.lookPause) { [self] in
      guard !connection.isOver, !isClosed else { return }
      let silence = machine.now.uptime - connection.heardAt
      guard silence < Self.silence else { return connection.close() }
      if silence >= Self.lookPause { connection.send(.ping) }
      look(after: connection)
    }
  }
}
