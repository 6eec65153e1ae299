import SegueDevices
import SegueDriver
import SegueModel
import SegueRuntime
import SegueTLS
import SegueTransport
import SegueTrust

/// The links of this device with the other devices of its account (docs/device-links.md): listens, dials, and passes
/// connections to the hub once a device has shown its certificate. For the loop's thread, all but `init`.
public final class DeviceLinks {
  /// Connections accepted in a turn.
  private static let acceptsInTurn = 64
  /// Milliseconds without accepting after the system refused a connection.
  private static let acceptPause: Int64 = 250
  /// Milliseconds between two looks at the clock, which tell that the device has slept.
  private static let sleepCheck: Int64 = 10_000

  private let loop: Loop
  private let device: Device
  private let timer: LoopTimer
  private let network: NetworkWatcher
  private let announcing: DeviceDiscovery
  private var context: TLSContext
  private var epochs: [EpochKeys]

  private var listener: (fd: Int32, watch: Watch)?
  private var acceptsAt: Int64?
  private var lastNumber: UInt64 = 0
  private var halfOpen = HalfOpenTable()
  private var dialler = Dialler<NetworkAddress>()
  /// All connections that are not links: accepted, and dialled ones.
  private var pending: [DeviceConnection] = []
  private var linked: [DeviceConnection] = []
  private var slept = Clock.slept
  private var isClosed = false
  /// Called when a device is linked (true), or no longer.
  public var changed: ((_ device: Identifier, _ isLinked: Bool) -> Void)?

  /// - Parameters:
  ///   - device: carries the hub.
  ///   - epochs: of the account, newest first; not empty.
  /// Throws INVALID_ARGUMENT for credentials that do not fit together, SYSTEM.
  public convenience init(
    on loop: Loop, _ device: Device, _ credentials: DeviceCredentials, _ epochs: [EpochKeys]
  ) throws(SegueError) {
    let context = try TLSContext(credentials)
    let announcing = try DeviceDiscovery(epochs)
    self.init(loop, device, try LoopTimer(), try NetworkWatcher(), announcing, context, epochs)
  }

  private init(
    _ loop: Loop, _ device: Device, _ timer: LoopTimer, _ network: NetworkWatcher, _ announcing: DeviceDiscovery,
    _ context: TLSContext, _ epochs: [EpochKeys]
  ) {
    self.loop = loop
    self.device = device
    self.timer = timer
    self.network = network
    self.announcing = announcing
    self.context = context
    self.epochs = epochs
  }

  /// This device, by its certificate.
  public var identity: DeviceIdentity { context.identity }
  /// The devices that are linked now.
  public var devices: [Identifier] { linked.compactMap { $0.peer?.device } }

  // MARK: Opening and closing

  /// Starts to listen, to dial and to announce itself.
  /// - Parameter port: 0: one that is free.
  /// - Returns: the port. Throws SYSTEM; then `close` is called.
  public func open(port: UInt16) throws(SegueError) -> UInt16 {
    // `close` ends all that may call.
    try timer.start(on: loop) { [unowned(unsafe) self] in self.tick() }
    try network.start(on: loop) { [unowned(unsafe) self] in self.networkChanged() }
    let (fd, port) = try TCPSocket.listen(port: port)
    do throws(SegueError) {
      listener = (fd, try Watch(fd, on: loop) { [unowned(unsafe) self] _, _ in self.accept() })
    } catch {
      Descriptors.close(fd)
      throw error
    }
    announcing.open(port: port, network.interfaces, on: loop) { [unowned(unsafe) self] address in
      self.dialler.announced(address, Clock.uptime)
      self.act()
    }
    act()
    return port
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
    for connection in pending + linked { connection.terminate() }
  }

  // MARK: What is known of the account

  /// Sets the addresses that the user has named.
  public func setAddresses(_ addresses: [NetworkAddress]) {
    dialler.setStatic(addresses, Clock.uptime)
    act()
  }

  /// Sets the other devices of the account: this one announces itself until all of them are linked.
  public func setDevices(_ devices: [Identifier]) {
    announcing.known = devices.filter { $0 != identity.device }
    act()
  }

  /// Takes a renewed certificate, new revocations or a new epoch. Connections of revoked devices, and those that are
  /// not up, end at once. If this throws, all is as before.
  public func renew(_ credentials: DeviceCredentials, _ epochs: [EpochKeys]) throws(SegueError) {
    let context = try TLSContext(credentials)
    try announcing.renew(epochs)
    self.context = context
    self.epochs = epochs
    for connection in pending { failed(connection, SegueError(.cancelled, "the account has changed")) }
    for connection in linked where connection.isRevoked(by: context) {
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
    let late = halfOpen.takeOverdue(uptime)
    for connection in pending where late.contains(connection.number) || connection.deadline <= uptime {
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
    while let (address, age) = dialler.takeDue(uptime) { dial(address, age, uptime) }
    let sure = linked.filter { !$0.isSuspected }.compactMap { $0.peer?.device }
    announcing.announce(linked: sure, uptime)
    var next = uptime + Self.sleepCheck
    for deadline in [dialler.nextDeadline, announcing.nextDeadline, halfOpen.nextDeadline, acceptsAt] {
      if let deadline { next = min(next, deadline) }
    }
    for connection in pending where connection.isDialled { next = min(next, connection.deadline) }
    timer.set(next)
  }

  private func networkChanged() {
    Log.debug("the network has changed")
    for connection in linked { connection.isSuspected = true }
    dialler.networkChanged(Clock.uptime)
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
      let channel = SecureChannel(answering: epochs, nonce: nonce, context)
      let connection = try add(fd, address, isDialled: false, channel, uptime)
      let former = halfOpen.add(connection.number, from: address.bytes, uptime)
      if let former, let other = pending.first(where: { $0.number == former }) {
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
      _ = try add(try TCPSocket.dial(address), address, isDialled: true, channel, uptime)
    } catch {
      Log.debug("\(error.message)")
      dialler.ended(address, .failed, epochs: epochs.count, uptime, random: random())
    }
  }

  /// Takes over the socket.
  private func add(
    _ fd: Int32, _ address: NetworkAddress, isDialled: Bool, _ channel: SecureChannel, _ uptime: Int64
  ) throws(SegueError) -> DeviceConnection {
    lastNumber += 1
    let connection = DeviceConnection(
      fd, address, as: lastNumber, isDialled: isDialled, channel, by: uptime + HalfOpenTable.time, of: self)
    try connection.start(on: loop)
    pending.append(connection)
    return connection
  }

  /// A number for jitter.
  private func random() -> UInt32 {
    let drawn = try? Randomness.identifier()
    return drawn?.bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } ?? UInt32(truncatingIfNeeded: Clock.uptime)
  }

  // MARK: From connections

  /// Whether there is a link with a device that is not suspected of being dead.
  func isLinked(_ peer: DeviceIdentity) -> Bool { dialler.isLinked(peer.device) }

  /// The other end has proved the knock key.
  func knocked(_ connection: DeviceConnection) { halfOpen.knocked(connection.number) }

  /// Something was heard on a link that was suspected of being dead.
  func heard(_ connection: DeviceConnection) {
    if let peer = connection.peer { dialler.heard(peer.device) }
  }

  /// It leads to a device that is linked.
  func isSuperfluous(_ connection: DeviceConnection) {
    if let peer = connection.peer { end(connection, .linked(peer.device)) }
  }

  func failed(_ connection: DeviceConnection, _ error: SegueError) {
    // One that has knocked is a device of the account, or was: worth a word.
    Log.write(connection.hasKnocked ? .info : .debug, "no link with \(connection.address.text): \(error.message)")
    let isOwn = connection.isDialled && error.status == .invalidState
    end(connection, isOwn ? .own : connection.hasKnocked ? .failed : .silent)
  }

  private func end(_ connection: DeviceConnection, _ end: Dialler<NetworkAddress>.End) {
    connection.terminate()
    if connection.isDialled {
      dialler.ended(connection.address, end, epochs: epochs.count, Clock.uptime, random: random())
    }
    act()
  }

  /// A device has shown its certificate, and has accepted that of this one.
  func isUp(_ connection: DeviceConnection) {
    guard let peer = connection.peer else { return }
    let uptime = Clock.uptime
    if let former = linked.first(where: { $0.peer == peer }) {
      guard
        LinkChoice.replaces(
          own: identity.device, peer: peer.device, isDialled: connection.isDialled, wasDialled: former.isDialled,
          age: uptime - (former.linkedAt ?? 0))
      else { return end(connection, .linked(peer.device)) }
      former.terminate()
    }
    do throws(SegueError) {
      try device.addLink(of: peer.device) { number, ready in
        connection.attach(number, uptime, ready)
        return connection
      }
    } catch {
      // The agent carries no hub for the moment.
      Log.info("no link with the device at \(connection.address.text): \(error.message)")
      return end(connection, .failed)
    }
    pending.removeAll { $0 === connection }
    halfOpen.remove(connection.number)
    guard !connection.isOver else { return act() }
    linked.append(connection)
    if connection.isDialled {
      let linked = Dialler<NetworkAddress>.End.linked(peer.device)
      dialler.ended(connection.address, linked, epochs: epochs.count, uptime, random: random())
    } else {
      dialler.linked(peer.device)
    }
    Log.info("linked with the device at \(connection.address.text)")
    changed?(peer.device, true)
    connection.passOn()
    act()
  }

  /// It is closed.
  func ended(_ connection: DeviceConnection) {
    halfOpen.remove(connection.number)
    pending.removeAll { $0 === connection }
    guard linked.contains(where: { $0 === connection }), let peer = connection.peer else { return }
    linked.removeAll { $0 === connection }
    Log.info("the link with the device at \(connection.address.text) has ended")
    dialler.unlinked(peer.device, Clock.uptime, random: random())
    changed?(peer.device, false)
    act()
  }
}
