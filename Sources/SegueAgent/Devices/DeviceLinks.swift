import SegueDevices
import SegueDriver
import SegueModel
import SegueRuntime
import SegueTLS
import SegueTransport
import SegueTrust

/// The links of this device with the other devices of its account (docs/device-links.md): listens, dials, and passes
/// connections to the hub once a device has shown its certificate. For the loop's thread, all but `init`.
public final class DeviceLinks: DeviceConnectionOwner {
  /// Connections accepted in a turn.
  private static let acceptsInTurn = 64
  /// Milliseconds without accepting after the system refused a connection.
  private static let acceptPause: Int64 = 250
  /// Milliseconds between two looks at the clock, which tell that the device has slept.
  private static let sleepCheck: Int64 = 10_000
  /// Milliseconds between two lines of the log about connections that come to nothing.
  private static let logPause: Int64 = 5_000
  /// The most own challenges that are remembered.
  private static let challengeLimit = 64

  private let loop: Loop
  private let device: Device
  private let timer: LoopTimer
  private let network: NetworkWatcher
  private let announcing: DeviceDiscovery
  private let isAnnounced: Bool
  /// This device, by its certificate.
  public let identity: DeviceIdentity
  private var context: TLSContext
  private var epochs: [EpochKeys]

  private var listener: (fd: Int32, watch: Watch)?
  private var acceptsAt: Int64?
  private var lastNumber: UInt64 = 0
  /// What each connection is, by its number.
  private var table: LinkTable<NetworkAddress>
  private var connections: [DeviceConnection] = []
  /// Own challenges that the other end has answered under a key of the account, oldest first: a connection that leads
  /// back to this process has one of them.
  private var challenges: [[UInt8]] = []
  private var slept = Clock.slept
  private var isClosed = false
  /// The uptime at which the log was last told why there is no link.
  private var loggedAt: Int64 = -logPause
  /// Called when a device is linked (true), or no longer.
  public var changed: ((_ device: Identifier, _ isLinked: Bool) -> Void)?
  /// Called when two machines are one device, because a state folder was copied: this one, or another.
  var copied: ((_ device: Identifier, _ address: NetworkAddress) -> Void)?
  /// The invites with which devices may join now.
  var invites: [Invite] = []
  /// Called with a connection on which a device joins, TLS being up; the callee owns it from then on.
  var joined: ((DeviceConnection) -> Void)?
  /// Called when a device has refused the certificate of this one as revoked; nil: one that has not shown its own.
  var refused: ((_ device: Identifier?) -> Void)?

  /// - Parameters:
  ///   - device: carries the hub.
  ///   - epochs: of the account, newest first; not empty.
  ///   - isAnnounced: whether beacons are sent and heard.
  /// Throws INVALID_ARGUMENT for credentials that do not fit together, SYSTEM.
  public convenience init(
    on loop: Loop, _ device: Device, _ credentials: DeviceCredentials, _ epochs: [EpochKeys], isAnnounced: Bool = true
  ) throws(SegueError) {
    let context = try TLSContext(credentials)
    guard let identity = context.identity else { throw SegueError(.invalidArgument, "the certificate has no device") }
    let announcing = try DeviceDiscovery(epochs)
    self.init(
      loop, device, try LoopTimer(), try NetworkWatcher(), announcing, isAnnounced: isAnnounced, identity, context,
      epochs)
  }

  private init(
    _ loop: Loop, _ device: Device, _ timer: LoopTimer, _ network: NetworkWatcher, _ announcing: DeviceDiscovery,
    isAnnounced: Bool, _ identity: DeviceIdentity, _ context: TLSContext, _ epochs: [EpochKeys]
  ) {
    self.loop = loop
    self.device = device
    self.timer = timer
    self.network = network
    self.announcing = announcing
    self.isAnnounced = isAnnounced
    self.identity = identity
    self.context = context
    self.epochs = epochs
    table = LinkTable(own: identity.device)
  }

  /// The devices that are linked now.
  public var devices: [Identifier] { table.devices }

  /// The certificate that a linked device has shown; nil if it is not linked.
  func certificate(of device: Identifier) -> ShownCertificate? { link(with: device)?.shown }
  /// Where a linked device is; nil if it is not linked.
  func address(of device: Identifier) -> NetworkAddress? { link(with: device)?.address }
  private func link(with device: Identifier) -> DeviceConnection? {
    table.number(of: device).flatMap { connection($0) }
  }
  private func connection(_ number: UInt64) -> DeviceConnection? { connections.first { $0.number == number } }

  // MARK: Opening and closing

  /// Starts to listen, to dial and to announce itself.
  /// - Parameter port: 0: one that is free.
  /// - Returns: the port. Throws SYSTEM; then `close` is called, or this again if `isListening` is false.
  public func open(port: UInt16) throws(SegueError) -> UInt16 {
    let (fd, port) = try TCPSocket.listen(port: port)
    do throws(SegueError) {
      // `close` ends all that may call.
      listener = (fd, try Watch(fd, on: loop) { [unowned(unsafe) self] _, _ in self.accept() })
    } catch {
      Descriptors.close(fd)
      throw error
    }
    try timer.start(on: loop) { [unowned(unsafe) self] in self.tick() }
    try network.start(on: loop) { [unowned(unsafe) self] in self.networkChanged() }
    if isAnnounced {
      announcing.open(port: port, network.interfaces, on: loop) { [unowned(unsafe) self] address, isFormer in
        self.noteAddress(address, isFormer: isFormer)
      }
    }
    act()
    return port
  }

  /// Dials an address at which a device of the account listens.
  /// - Parameter isFormer: whether it was announced under a former epoch.
  func noteAddress(_ address: NetworkAddress, isFormer: Bool = false) {
    table.announced(address, from: address.source, isFormer: isFormer, Clock.uptime)
    act()
  }

  /// Whether the port was free.
  var isListening: Bool { listener != nil }
  /// The addresses of this device.
  var interfaces: [NetworkInterface] { network.interfaces }

  func isRefused(_ connection: DeviceConnection) {
    // A device that has itself been removed knows a key, too: while others link with this one, its word does not count.
    guard connection.peer != nil || table.devices.isEmpty else { return }
    refused?(connection.peer?.device)
  }

  /// Closes all connections. No call may follow.
  public func close() {
    isClosed = true
    timer.close()
    network.close()
    announcing.close()
    if let listener {
      listener.watch.close()
      Descriptors.close(listener.fd)
    }
    for connection in connections { connection.terminate() }
  }

  // MARK: What is known of the account

  /// Sets the addresses that the user has named.
  public func setAddresses(_ addresses: [NetworkAddress]) {
    table.setStatic(addresses, Clock.uptime)
    act()
  }

  /// Sets the other devices of the account: this one announces itself until all of them are linked.
  public func setDevices(_ devices: [Identifier]) {
    announcing.setKnown(isAnnounced ? devices.filter { $0 != identity.device } : [])
    act()
  }

  /// Takes a renewed certificate, new revocations or a new epoch. Connections of revoked devices end at once; those
  /// that are not up yet are checked when they are. If this throws, all is as before.
  public func renew(_ credentials: DeviceCredentials, _ epochs: [EpochKeys]) throws(SegueError) {
    let context = try TLSContext(credentials)
    try announcing.renew(epochs)
    self.context = context
    self.epochs = epochs
    for connection in devices.compactMap({ link(with: $0) }) where connection.isRevoked(by: context) {
      Log.info("the device at \(connection.address.text) was revoked")
      connection.terminate()
    }
    act()
  }

  // MARK: Time

  private func tick() {
    let uptime = Clock.uptime
    if let at = acceptsAt, at <= uptime {
      acceptsAt = nil
      listener?.watch.watch(reading: true, writing: false)
    }
    for connection in table.overdue(uptime).compactMap({ connection($0) }) {
      failed(connection, SegueError(.remoteApplicationTimedOut, "no link within \(HalfOpenTable.time) ms"))
    }
    act()
  }

  /// Dials and announces what is due, and sets the timer.
  private func act() {
    guard !isClosed else { return }
    let uptime = Clock.uptime
    let slept = Clock.slept
    if slept > self.slept + 1_000 {
      self.slept = slept
      networkChanged()
    }
    while let (address, age) = table.takeDue(uptime) { dial(address, age, uptime) }
    announcing.announce(linked: table.surelyLinked, uptime)
    var next = uptime + Self.sleepCheck
    for deadline in [table.nextDeadline, announcing.nextDeadline, acceptsAt] {
      if let deadline { next = min(next, deadline) }
    }
    timer.set(next)
  }

  private func networkChanged() {
    Log.debug("the network has changed")
    for connection in connections { connection.isSuspected = true }
    table.networkChanged(Clock.uptime)
    announcing.networkChanged(network.interfaces, Clock.uptime)
    act()
  }

  // MARK: Connections

  private func accept() {
    guard let listener, acceptsAt == nil else { return }
    let uptime = Clock.uptime
    for _ in 0..<Self.acceptsInTurn {
      switch TCPSocket.accept(listener.fd) {
      case .connection(let fd, let address): admit(fd, address, uptime)
      case .none: return
      case .exhausted:
        listener.watch.watch(reading: false, writing: false)
        acceptsAt = uptime + Self.acceptPause
        return act()
      }
    }
  }

  private func admit(_ fd: Int32, _ address: NetworkAddress, _ uptime: Int64) {
    guard let nonce = try? Randomness.identifier().bytes else { return Descriptors.close(fd) }
    do throws(SegueError) {
      let channel = SecureChannel(answering: epochs, invites: invites, nonce: nonce, context)
      let connection = try add(fd, address, isDialled: false, channel, uptime)
      let former = table.accepted(connection.number, from: address.source, uptime)
      if let former, let other = self.connection(former) {
        failed(other, SegueError(.limitExceeded, "too many connections have not shown who they are"))
      }
      act()
    } catch {
      Log.error("\(error.message)")
    }
  }

  private func dial(_ address: NetworkAddress, _ age: Int, _ uptime: Int64) {
    do throws(SegueError) {
      let nonce = try Randomness.identifier().bytes
      let channel = SecureChannel(knockingUnder: epochs[min(age, epochs.count - 1)], nonce: nonce, context)
      let connection = try add(try TCPSocket.dial(address), address, isDialled: true, channel, uptime)
      table.dialled(address, as: connection.number, uptime)
    } catch {
      Log.debug("\(error.message)")
      table.undialled(address, uptime, random: random())
    }
  }

  /// Takes over the socket.
  private func add(
    _ fd: Int32, _ address: NetworkAddress, isDialled: Bool, _ channel: SecureChannel, _ uptime: Int64
  ) throws(SegueError) -> DeviceConnection {
    lastNumber += 1
    let connection = DeviceConnection(
      fd, address, as: lastNumber, isDialled: isDialled, channel, of: self)
    try connection.start(on: loop)
    connections.append(connection)
    return connection
  }

  /// A number for jitter.
  private func random() -> UInt32 {
    let drawn = try? Randomness.identifier()
    return drawn?.bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } ?? UInt32(truncatingIfNeeded: Clock.uptime)
  }

  // MARK: From connections

  /// The other end has proved the knock key.
  func knocked(_ connection: DeviceConnection) {
    table.knocked(connection.number)
    guard !connection.isDialled, let challenge = connection.challenge else { return }
    challenges.append(challenge)
    challenges.removeFirst(max(0, challenges.count - Self.challengeLimit))
  }

  /// Something was heard on a link that was suspected of being dead.
  func heard(_ connection: DeviceConnection) { table.heard(connection.number) }

  func failed(_ connection: DeviceConnection, _ error: SegueError) {
    let what = LinkTable<NetworkAddress>.end(
      of: error, isDialled: connection.isDialled, hasKnocked: connection.hasKnocked)
    // The certificate is this device's, and the listener another process.
    if case .own = what, let challenge = connection.challenge,
      !challenges.contains(where: { $0.elementsEqual(challenge) })
    {
      copied?(identity.device, connection.address)
    }
    // One that has knocked is a device of the account, or was: worth a word, but not one for each try.
    var isTold = Clock.uptime >= loggedAt + Self.logPause
    switch what {
    case .failed, .foreign: break
    case .linked, .own, .silent: isTold = false
    }
    if isTold { loggedAt = Clock.uptime }
    Log.write(isTold ? .info : .debug, "no link with \(connection.address.text): \(error.message)")
    end(connection, what)
  }

  private func end(_ connection: DeviceConnection, _ end: LinkTable<NetworkAddress>.End) {
    table.remove(connection.number, end, epochs: epochs.count, Clock.uptime, random: random())
    connection.terminate()
    act()
  }

  /// A device that was dialled has shown its certificate. If it is linked, nothing is shown of this one. Otherwise the
  /// hub introduces itself in the packet that has this device's certificate, which saves a link one round trip. It is
  /// no link before the other device has accepted that certificate.
  func isAuthenticated(_ connection: DeviceConnection) {
    guard let peer = connection.peer else { return }
    guard !connection.isRevoked(by: context) else { return failed(connection, Self.revoked) }
    if table.isSuperfluous(connection.number, to: peer.device) { return end(connection, .linked(peer.device)) }
    attach(connection, peer)
  }

  private static var revoked: SegueError {
    SegueError(.notAllowed, "the other device's certificate was revoked meanwhile")
  }

  /// Passes a connection to the hub; ends it if there is none.
  private func attach(_ connection: DeviceConnection, _ peer: DeviceIdentity) {
    do throws(SegueError) {
      try device.addLink(of: peer.device) { number, ready in
        connection.attach(number, ready)
        return connection
      }
    } catch {
      // The agent carries no hub for the moment.
      Log.info("no link with the device at \(connection.address.text): \(error.message)")
      end(connection, .failed)
    }
  }

  /// A device has shown its certificate, and has accepted that of this one.
  func isUp(_ connection: DeviceConnection) {
    guard let peer = connection.peer else { return passOn(connection) }
    // It may have begun under former revocations.
    guard !connection.isRevoked(by: context) else { return failed(connection, Self.revoked) }
    let uptime = Clock.uptime
    switch table.choice(for: connection.number, of: peer.device, uptime) {
    case .refused: return end(connection, .linked(peer.device))
    case .contested:
      copied?(peer.device, connection.address)
      return failed(connection, SegueError(.busy, "the other device's link changes hands again and again"))
    case .taken(let former): former.flatMap { self.connection($0) }?.terminate()
    }
    if !connection.isAttached { attach(connection, peer) }
    guard !connection.isOver else { return act() }
    table.linked(connection.number, with: peer.device, epochs: epochs.count, uptime, random: random())
    Log.info("linked with the device at \(connection.address.text)")
    changed?(peer.device, true)
    connection.passOn()
    act()
  }

  /// A device joins over it.
  private func passOn(_ connection: DeviceConnection) {
    guard connection.invite != nil, let joined else {
      return failed(connection, SegueError(.invalidState, "no device can join now"))
    }
    connections.removeAll { $0 === connection }
    table.remove(connection.number, epochs: epochs.count, Clock.uptime, random: random())
    joined(connection)
    act()
  }

  /// It is closed.
  func ended(_ connection: DeviceConnection) {
    connections.removeAll { $0 === connection }
    let peer = table.remove(connection.number, epochs: epochs.count, Clock.uptime, random: random())
    guard let peer else { return }
    Log.info("the link with the device at \(connection.address.text) has ended")
    changed?(peer, false)
    act()
  }
}
