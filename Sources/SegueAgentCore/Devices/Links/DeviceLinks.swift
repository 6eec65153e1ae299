// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The links of this device with the other devices of its account (docs/device-links.md): listens, dials, and passes
/// connections to the hub once a device has shown its certificate. No I/O: all that is sent or heard passes through a
/// `LinkTransport`.
public final class DeviceLinks: AgentTimerOwner {
  /// The parts that are open while it listens.
  private struct Opened {
    let timer: any AgentTimer
    let network: any InterfaceWatch
  }

  private enum State {
    case idle
    case open(Opened)
    case closed
  }

  let environment: any AgentEnvironment
  let transport: any LinkTransport
  private let security: any LinkSecurity
  let hub: any LinkHub
  /// The owner outlives it: it closes it before it goes.
  unowned(unsafe) let owner: any DeviceLinksOwner
  private var state = State.idle
  private var listeners = LinkListeners()
  let announcing: DeviceDiscovery
  /// This device, by its certificate.
  public let identity: DeviceIdentity
  private(set) var keys: LinkKeys
  /// The state of each connection, by its number.
  var table: LinkTable<LinkPath>
  var connections = LinkConnections()
  var challenges = OwnChallenges()
  private var sleep: SleepCheck
  let names: DeviceNames
  /// The connections through other devices (R14.3); nil: there are none. Set by the owner before `open`.
  var relays: DeviceRelays?
  /// The paths to each device.
  var paths: [DevicePaths] = []
  var log = FailedLinkLog()
  /// Connections with devices that are not listed, oldest first.
  var provisional: [ProvisionalLink] = []

  /// - Parameters:
  ///   - epochs: those of the account, newest first; not empty.
  ///   - isAnnounced: whether beacons are sent and heard.
  /// Throws INVALID_ARGUMENT for credentials that do not fit together, SYSTEM.
  public convenience init(
    in environment: any AgentEnvironment, over transport: any LinkTransport, _ security: any LinkSecurity,
    _ hub: any LinkHub, _ credentials: DeviceCredentials, _ epochs: [EpochKeys], isAnnounced: Bool = true,
    resolving resolver: (any NameResolver)? = nil, for owner: any DeviceLinksOwner
  ) throws(SegueError) {
    let context = try security.context(of: credentials)
    guard let identity = context.identity else { throw SegueError(.invalidArgument, "the certificate has no device") }
    let announcing = try DeviceDiscovery(epochs, isOn: isAnnounced, in: environment, over: transport)
    let names = DeviceNames(in: environment, resolver)
    let keys = LinkKeys(context: context, epochs: epochs)
    self.init(environment, transport, security, hub, announcing, names, identity, keys, owner)
  }

  private init(
    _ environment: any AgentEnvironment, _ transport: any LinkTransport, _ security: any LinkSecurity,
    _ hub: any LinkHub, _ announcing: DeviceDiscovery, _ names: DeviceNames, _ identity: DeviceIdentity,
    _ keys: LinkKeys, _ owner: any DeviceLinksOwner
  ) {
    self.environment = environment
    self.transport = transport
    self.security = security
    self.hub = hub
    self.announcing = announcing
    self.names = names
    sleep = SleepCheck(environment)
    self.identity = identity
    self.keys = keys
    self.owner = owner
    table = LinkTable(own: identity.device)
  }

  /// The devices that are linked now.
  public var devices: [Identifier] { table.devices }

  /// The certificate that a linked device has shown; nil if it is not linked.
  public func certificate(of device: Identifier) -> PeerCertificate? { link(with: device)?.shown }
  /// The path by which a device is linked; nil if it is not.
  public func path(to device: Identifier) -> LinkPath? { link(with: device)?.path }
  /// The connection of the link with a device; nil if there is none.
  func link(with device: Identifier) -> DeviceConnection? { table.number(of: device).flatMap { connections[$0] } }

  // MARK: Opening and closing

  /// Starts to listen, to dial and to announce itself.
  /// - Parameter port: 0: one that is free.
  /// - Returns: the port. Throws SYSTEM; then `close` is called, or this again if `isListening` is false.
  public func open(port: UInt16) throws(SegueError) -> UInt16 {
    let port = try listen(port: port)
    // `close` ends all that may call, and lets go of this object.
    let timer = try environment.makeTimer(for: self)
    do throws(SegueError) {
      let network = try transport.watchInterfaces { [self] in networkHasChanged() }
      state = .open(Opened(timer: timer, network: network))
    } catch {
      timer.close()
      throw error
    }
    setCosts()
    listenForCommands()
    // `close` ends it, and lets go of this object.
    announcing.open(interfaces) { [self] news, address in heard(news, from: address) }
    act()
    return port
  }

  /// A genuine beacon has come from an address.
  private func heard(_ news: BeaconCodec.News, from address: NetworkAddress) {
    switch news {
    case .listens(let port, let isFormer): noteAddress(address.with(port: port), isFormer: isFormer)
    case .otherTime(let date): owner.linksHeardOtherTime(date)
    }
  }

  /// Listens at another port. Links stay. If this throws, all is as before.
  public func move(to port: UInt16) throws(SegueError) -> UInt16 {
    let port = try listen(port: port)
    announcing.networkChanged(interfaces, environment.uptime)
    act()
    return port
  }

  private func listen(port: UInt16) throws(SegueError) -> UInt16 {
    // `close` ends all that may call, and lets go of this object.
    let opened = try transport.listen(
      port: port, accepted: { [self] socket, address in admit(socket, .address(address)) },
      hasAccepted: { [self] in act() })
    listeners.take(tcp: opened)
    announcing.setPort(opened.port)
    return opened.port
  }

  private func listenForCommands() {
    let own = LinkPath.command(identity.device)
    do throws(SegueError) {
      // `close` ends all that may call, and lets go of this object.
      listeners.take(
        commands: try transport.commands?.listen(
          accepted: { [self] socket in admit(socket, own) }, hasAccepted: { [self] in act() }))
    } catch {
      environment.log(.error, "other devices cannot come by commands: \(error.message)")
    }
  }

  /// Has beacons sent and heard, or no longer. Links stay.
  public func setAnnounced(_ isAnnounced: Bool) {
    announcing.set(isOn: isAnnounced, interfaces)
    act()
  }

  /// Dials an address at which a device of the account listens.
  /// - Parameter isFormer: whether it was announced under a former epoch.
  public func noteAddress(_ address: NetworkAddress, isFormer: Bool = false) {
    table.announced(.address(address), from: address.bytes, isFormer: isFormer, environment.uptime)
    act()
  }

  /// Whether the port was free.
  public var isListening: Bool { listeners.tcp != nil }
  /// The addresses of this device.
  public var interfaces: [NetworkInterface] {
    if case .open(let opened) = state { opened.network.interfaces } else { [] }
  }

  /// Closes all connections. No call may follow.
  public func close() {
    if case .open(let opened) = state {
      opened.timer.close()
      opened.network.close()
    }
    state = .closed
    names.close()
    announcing.close()
    listeners.close()
    for connection in connections.all { connection.terminate() }
  }

  // MARK: Addresses, devices and credentials

  /// Sets the other devices of the account: this one announces itself until all of them are linked.
  public func setDevices(_ devices: [Identifier]) {
    let others = devices.filter { $0 != identity.device }
    if others != announcing.others { table.devicesChanged(environment.uptime) }
    for former in announcing.others where !others.contains(former) {
      table.setRelayed(former, [], environment.uptime)
    }
    announcing.setKnown(others)
    act()
  }

  /// Takes a renewed certificate, new revocations or a new epoch. Connections of revoked devices end at once; those
  /// that are not up yet are checked when they are. If this throws, all is as before.
  public func renew(_ credentials: DeviceCredentials, _ epochs: [EpochKeys]) throws(SegueError) {
    let context = try security.context(of: credentials)
    try announcing.renew(epochs)
    keys = LinkKeys(context: context, epochs: epochs)
    let held = provisional
    // Also those whose place another one has taken.
    for connection in connections.all where connection.isAttached {
      guard let device = connection.peer?.device, !held.contains(where: { $0.connection === connection }) else {
        continue
      }
      if !connection.isRevoked(by: context), context.lists(device) { continue }
      environment.log(.info, "the device at \(connection.path.text) is no longer in the account")
      connection.terminate()
    }
    for each in held { judge(each) }
    act()
  }

  // MARK: Time

  public func timerIsDue(_ timer: any AgentTimer) {
    let uptime = environment.uptime
    for connection in table.overdue(uptime).compactMap({ connections[$0] }) {
      if table.isReplaced(connection.number) {
        connection.terminate()
        continue
      }
      if let held = provisional.first(where: { $0.connection === connection }) {
        overdue(held, uptime)
        continue
      }
      let time = connection.isDialled ? connection.path.time : HalfOpenTable.time
      failed(connection, SegueError(.remoteApplicationTimedOut, "no link within \(time) ms"))
    }
    act()
  }

  /// Dials and announces what is due, and sets the timer.
  func act() {
    guard case .open(let opened) = state else { return }
    let uptime = environment.uptime
    if sleep.hasSlept(environment) { networkHasChanged() }
    names.act(linked: table.surelyLinked) { [self] entry, lookup in resolved(entry, lookup) }
    while let (path, age) = table.takeDue(uptime) { dial(path, age, uptime) }
    announcing.announce(linked: table.surelyLinked, uptime)
    var next = uptime + SleepCheck.pause
    for deadline in [table.nextDeadline, announcing.nextDeadline, names.nextDeadline(linked: table.surelyLinked)] {
      if let deadline { next = min(next, deadline) }
    }
    opened.timer.set(next)
  }

  private func networkHasChanged() {
    environment.log(.debug, "the network has changed")
    setCosts()
    // A path within one network may be one through a tunnel now.
    endAvoided()
    names.networkChanged()
    owner.networkHasChanged()
    for connection in connections.all { connection.suspect() }
    table.networkChanged(environment.uptime)
    // A link that answers stays.
    hub.networkChanged()
    announcing.networkChanged(interfaces, environment.uptime)
    act()
  }
}
