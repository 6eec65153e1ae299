// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The links of this device with the other devices of its account (docs/device-links.md): listens, dials, and passes
/// connections to the hub once a device has shown its certificate. No I/O: all that is sent or heard passes through a
/// `LinkTransport`.
public final class DeviceLinks: DeviceConnectionOwner, AgentTimerOwner {
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
  private let hub: any LinkHub
  private var state = State.idle
  private var listener: (any LinkListener)?
  /// Accepts what comes by commands of other devices; nil if the system refuses.
  private var commands: (any LinkListener)?
  let announcing: DeviceDiscovery
  /// This device, by its certificate.
  public let identity: DeviceIdentity
  private(set) var context: any SecurityContext
  private var epochs: [EpochKeys]

  private var lastNumber: UInt64 = 0
  /// The state of each connection, by its number.
  var table: LinkTable<LinkPath>
  private(set) var connections: [DeviceConnection] = []
  private var challenges = OwnChallenges()
  private var sleep: SleepCheck
  let names: DeviceNames
  /// The connections through other devices (R14.3). Set by the owner, whose it is; it outlives this object.
  unowned(unsafe) var relays: DeviceRelays?
  /// The user's addresses, and the paths to each device.
  var (addresses, paths): ([NetworkAddress], [DevicePaths]) = ([], [])
  private var log = FailedLinkLog()
  /// Called when a device is linked (true), or no longer, with the uptime at which it was last heard.
  public var changed: ((_ device: Identifier, _ isLinked: Bool, _ heardAt: Int64) -> Void)?
  /// Called when this device has another network or address, or has woken up.
  public var networkChanged: (() -> Void)?
  /// Called when another connection with a linked device takes the place of the former one, and whether that has ended:
  /// then the session of the hubs is about to resume, or to begin anew.
  public var moved: ((_ device: Identifier, _ hasEnded: Bool) -> Void)?
  /// Called with the address at which this device has dialled a device that is linked now.
  public var reached: ((_ device: Identifier, _ address: NetworkAddress) -> Void)?
  /// Called when two machines are one device, because a state folder was copied: this one, or another.
  public var copied: ((_ device: Identifier, _ path: LinkPath) -> Void)?
  /// Called when a genuine beacon is of another time, in seconds since 1970.
  public var otherTime: ((_ date: Double) -> Void)?
  /// The invites with which devices may join now.
  public var invites: [Invite] = []
  /// Called with a connection on which a device joins, TLS being up; the callee owns it from then on.
  public var joined: ((DeviceConnection) -> Void)?
  /// Connections with devices that are not listed, oldest first.
  var provisional: [ProvisionalLink] = []
  /// The first message to such a device: it says which roster this one has; nil without an account.
  public var greeting: () -> [UInt8]? = { nil }
  /// Called with what such a device says about the account, and its certificate; the callee answers when it is judged.
  public var heardUnlisted: ((_ message: [UInt8], _ from: PeerCertificate, _ judged: @escaping () -> Void) -> Void)?
  /// Called when the connection with such a device has ended.
  public var turnedAway: ((PeerCertificate) -> Void)?
  /// Called when a device has refused the certificate of this one as revoked; nil: one that has not shown its own.
  public var refused: ((_ device: Identifier?) -> Void)?

  /// - Parameters:
  ///   - epochs: those of the account, newest first; not empty.
  ///   - isAnnounced: whether beacons are sent and heard.
  /// Throws INVALID_ARGUMENT for credentials that do not fit together, SYSTEM.
  public convenience init(
    in environment: any AgentEnvironment, over transport: any LinkTransport, _ security: any LinkSecurity,
    _ hub: any LinkHub, _ credentials: DeviceCredentials, _ epochs: [EpochKeys], isAnnounced: Bool = true,
    resolving resolver: (any NameResolver)? = nil
  ) throws(SegueError) {
    let context = try security.context(of: credentials)
    guard let identity = context.identity else { throw SegueError(.invalidArgument, "the certificate has no device") }
    let announcing = try DeviceDiscovery(epochs, isOn: isAnnounced, in: environment, over: transport)
    let names = DeviceNames(in: environment, resolver)
    self.init(environment, transport, security, hub, announcing, names, identity, context, epochs)
  }

  private init(
    _ environment: any AgentEnvironment, _ transport: any LinkTransport, _ security: any LinkSecurity,
    _ hub: any LinkHub, _ announcing: DeviceDiscovery, _ names: DeviceNames, _ identity: DeviceIdentity,
    _ context: any SecurityContext, _ epochs: [EpochKeys]
  ) {
    self.environment = environment
    self.transport = transport
    self.security = security
    self.hub = hub
    self.announcing = announcing
    self.names = names
    sleep = SleepCheck(environment)
    self.identity = identity
    self.context = context
    self.epochs = epochs
    table = LinkTable(own: identity.device)
  }

  /// The devices that are linked now.
  public var devices: [Identifier] { table.devices }

  /// The certificate that a linked device has shown; nil if it is not linked.
  public func certificate(of device: Identifier) -> PeerCertificate? { link(with: device)?.shown }
  /// The path by which a device is linked; nil if it is not.
  public func path(to device: Identifier) -> LinkPath? { link(with: device)?.path }
  private func link(with device: Identifier) -> DeviceConnection? {
    table.number(of: device).flatMap { connection($0) }
  }
  private func connection(_ number: UInt64) -> DeviceConnection? { connections.first { $0.number == number } }

  // MARK: Opening and closing

  /// Starts to listen, to dial and to announce itself.
  /// - Parameter port: 0: one that is free.
  /// - Returns: the port. Throws SYSTEM; then `close` is called, or this again if `isListening` is false.
  public func open(port: UInt16) throws(SegueError) -> UInt16 {
    let port = try listen(port: port)
    // `close` ends all that may call.
    let timer = try environment.makeTimer(for: self)
    do throws(SegueError) {
      let network = try transport.watchInterfaces { [unowned(unsafe) self] in self.networkHasChanged() }
      state = .open(Opened(timer: timer, network: network))
    } catch {
      timer.close()
      throw error
    }
    setCosts()
    listenForCommands()
    // `close` ends it.
    names.resolved = { [unowned(unsafe) self] entry, lookup in self.resolved(entry, lookup) }
    announcing.open(
      interfaces,
      found: { [unowned(unsafe) self] address, isFormer in self.noteAddress(address, isFormer: isFormer) },
      differs: { [unowned(unsafe) self] date in self.otherTime?(date) })
    act()
    return port
  }

  /// Listens at another port. Links stay. If this throws, all is as before.
  public func move(to port: UInt16) throws(SegueError) -> UInt16 {
    let port = try listen(port: port)
    announcing.networkChanged(interfaces, environment.uptime)
    act()
    return port
  }

  private func listen(port: UInt16) throws(SegueError) -> UInt16 {
    let former = listener
    // `close` ends all that may call.
    let opened = try transport.listen(
      port: port,
      accepted: { [unowned(unsafe) self] socket, address in self.admit(socket, .address(address)) },
      hasAccepted: { [unowned(unsafe) self] in self.act() })
    listener = opened
    former?.close()
    announcing.setPort(opened.port)
    return opened.port
  }

  private func listenForCommands() {
    let own = LinkPath.command(identity.device)
    do throws(SegueError) {
      // `close` ends all that may call.
      commands = try transport.commands?.listen(
        accepted: { [unowned(unsafe) self] socket in self.admit(socket, own) },
        hasAccepted: { [unowned(unsafe) self] in self.act() })
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
  public var isListening: Bool { listener != nil }
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
    listener?.close()
    listener = nil
    commands?.close()
    commands = nil
    for connection in connections { connection.terminate() }
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
    self.context = context
    self.epochs = epochs
    let held = provisional
    // Also those whose place another one has taken.
    for connection in connections where connection.isAttached {
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
    for connection in table.overdue(uptime).compactMap({ connection($0) }) {
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
    names.act(linked: table.surelyLinked)
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
    networkChanged?()
    for connection in connections { connection.suspect() }
    table.networkChanged(environment.uptime)
    // A link that answers stays.
    hub.networkChanged()
    announcing.networkChanged(interfaces, environment.uptime)
    act()
  }

  // MARK: Connections

  /// A connection that is refused costs no more than its descriptor.
  /// - Parameter path: by which the other end has made it; what has no address leads to this device.
  func admit(_ socket: any LinkSocket, _ path: LinkPath) {
    let uptime = environment.uptime
    guard let machine = Identifier(bytes: path.source), let prefix = Identifier(bytes: path.prefix),
      let nonce = try? environment.drawIdentifier().bytes
    else { return socket.close() }
    lastNumber += 1
    let number = lastNumber
    guard case .added(let former) = table.accepted(number, from: .init(address: machine, prefix: prefix), uptime) else {
      return socket.close()
    }
    if let former, let other = connection(former) {
      failed(other, SegueError(.limitExceeded, "too many connections have not shown who they are"))
    }
    do throws(SegueError) {
      var invites = self.invites
      // Nobody joins through a relay, which is for devices of the account.
      if case .relay = path { invites = [] }
      let channel = SecureChannel(answering: epochs, invites: invites, nonce: nonce, context)
      try add(socket, path, as: number, isDialled: false, channel)
    } catch {
      table.remove(number, epochs: epochs.count, uptime, random: environment.drawJitter())
      environment.log(.error, "\(error.message)")
    }
  }

  private func dial(_ path: LinkPath, _ age: Int, _ uptime: Int64) {
    do throws(SegueError) {
      let nonce = try environment.drawIdentifier().bytes
      let channel = SecureChannel(knockingUnder: epochs[min(age, epochs.count - 1)], nonce: nonce, context)
      lastNumber += 1
      try add(try begin(path), path, as: lastNumber, isDialled: true, channel)
      table.dialled(path, as: lastNumber, within: path.time, uptime)
    } catch {
      environment.log(.debug, "\(error.message)")
      table.undialled(path, uptime, random: environment.drawJitter(), failure: error)
    }
  }

  /// Begins an attempt. Throws SYSTEM if there is no way now.
  private func begin(_ path: LinkPath) throws(SegueError) -> any LinkSocket {
    switch path {
    case .address(let address): return try transport.dial(address)
    case .command(let device, version: _):
      guard let commands = transport.commands else { throw SegueError(.system, "this device starts no commands") }
      return try commands.start(to: device)
    case .relay(through: let relay, to: let device):
      guard let relays else { throw SegueError(.system, "there are no relays") }
      return relays.sockets.dial(device, through: relay)
    }
  }

  /// Takes over the socket, also if it throws.
  private func add(
    _ socket: any LinkSocket, _ path: LinkPath, as number: UInt64, isDialled: Bool, _ channel: SecureChannel
  ) throws(SegueError) {
    let connection = DeviceConnection(
      socket, path, as: number, isDialled: isDialled, channel, of: self, in: environment)
    try connection.start()
    connections.append(connection)
  }

  // MARK: From connections

  /// The other end has proved the knock key.
  public func knocked(_ connection: DeviceConnection) {
    table.knocked(connection.number)
    guard !connection.isDialled, let challenge = connection.challenge else { return }
    challenges.append(challenge)
  }

  /// Something was heard on a link that was suspected of being dead.
  public func heard(_ connection: DeviceConnection) { table.heard(connection.number) }

  public func failed(_ connection: DeviceConnection, _ cause: SegueError) {
    let error = connection.explained(cause)
    let what = LinkTable<LinkPath>.end(
      of: error, isDialled: connection.isDialled, isChallenged: connection.challenge != nil,
      hasKnocked: connection.hasKnocked)
    // The certificate is this device's, and the listener another process.
    if case .own = what, let challenge = connection.challenge, !challenges.contains(challenge) {
      copied?(identity.device, connection.path)
    }
    log.write(what, at: connection.path, error, in: environment)
    table.note(error, of: connection.number)
    end(connection, what)
  }

  func end(_ connection: DeviceConnection, _ end: LinkTable<LinkPath>.End) {
    table.remove(connection.number, end, epochs: epochs.count, environment.uptime, random: environment.drawJitter())
    connection.terminate()
    act()
  }

  /// A device that was dialled has shown its certificate. If it is linked, nothing is shown of this one. Otherwise the
  /// hub introduces itself in the packet that has this device's certificate, which saves a link one round trip. It is
  /// no link before the other device has accepted that certificate.
  public func isAuthenticated(_ connection: DeviceConnection) {
    guard let peer = connection.peer else { return }
    guard !connection.isRevoked(by: context) else { return failed(connection, Self.revoked) }
    guard connection.isMeant(peer.device) else { return failed(connection, Self.other(peer.device)) }
    if isAvoided(connection, to: peer.device) { return refuse(connection, peer.device) }
    if table.isSuperfluous(connection.number, to: peer.device, environment.uptime) {
      return end(connection, .linked(peer.device))
    }
    if context.lists(peer.device) { attach(connection, peer) }
  }

  /// Passes a connection to the hub; ends it if there is none.
  private func attach(_ connection: DeviceConnection, _ peer: DeviceIdentity) {
    do throws(SegueError) {
      try hub.addLink(of: peer.device) { number, ready in
        connection.attach(number, ready)
        return connection
      }
    } catch {
      // The agent carries no hub for the moment.
      environment.log(.info, "no link with the device at \(connection.path.text): \(error.message)")
      end(connection, .failed)
    }
  }

  /// A device has shown its certificate, and has accepted that of this one.
  public func isUp(_ connection: DeviceConnection) {
    guard let peer = connection.peer else { return passOn(connection) }
    // It may have begun under former revocations.
    guard !connection.isRevoked(by: context) else { return failed(connection, Self.revoked) }
    guard connection.isMeant(peer.device) else { return failed(connection, Self.other(peer.device)) }
    if isAvoided(connection, to: peer.device) { return refuse(connection, peer.device) }
    guard context.lists(peer.device) else { return hold(connection) }
    link(connection, with: peer, isAttached: connection.isAttached)
  }

  /// The user does not want such a path used to the device at the other end.
  private func refuse(_ connection: DeviceConnection, _ device: Identifier) {
    let error = Self.avoided(PathCost.of(connection.path, interfaces))
    log.write(.avoided(device), at: connection.path, error, in: environment)
    end(connection, .avoided(device))
  }

  /// - Parameter isAttached: whether the hub has the connection already.
  func link(_ connection: DeviceConnection, with peer: DeviceIdentity, isAttached: Bool) {
    let uptime = environment.uptime
    let present = link(with: peer.device)
    let other = present?.hubNumber.flatMap { hub.hub(at: $0) }
    switch table.choice(for: connection.number, of: peer.device, at: connection.path, hub: other, uptime) {
    case .refused: return end(connection, .linked(peer.device))
    case .contested:
      copied?(peer.device, connection.path)
      return failed(connection, SegueError(.busy, "the other device's link changes hands again and again"))
    case .taken: break
    }
    let isReplacing = present != nil
    // If two are made at once, one ends now. An older one stays until the hubs have moved what they share.
    let ending = present.flatMap { table.isNew($0.number, uptime) ? $0 : nil }
    if !isAttached { attach(connection, peer) }
    guard !connection.isOver else { return act() }
    table.linked(
      connection.number, with: peer.device, at: connection.path, epochs: epochs.count, uptime,
      random: environment.drawJitter())
    // Not before the hub has the new one: what the other device offers stays where it is (R2.8).
    ending?.terminate()
    environment.log(.info, "linked with the device at \(connection.path.text)")
    if isReplacing { moved?(peer.device, ending != nil) } else { changed?(peer.device, true, uptime) }
    if connection.isDialled, let address = connection.path.address { reached?(peer.device, address) }
    connection.passOn()
    act()
  }

  /// A device joins over it.
  private func passOn(_ connection: DeviceConnection) {
    guard connection.invite != nil, let joined else {
      return failed(connection, SegueError(.invalidState, "no device can join now"))
    }
    connections.removeAll { $0 === connection }
    table.remove(connection.number, epochs: epochs.count, environment.uptime, random: environment.drawJitter())
    joined(connection)
    act()
  }

  /// It is closed.
  public func ended(_ connection: DeviceConnection) {
    connections.removeAll { $0 === connection }
    for held in provisional where held.connection === connection { held.close() }
    provisional.removeAll { $0.connection === connection }
    let peer = table.remove(
      connection.number, epochs: epochs.count, environment.uptime, random: environment.drawJitter())
    guard let peer else {
      // The link may be the former one again, by another path.
      if connection.isAttached { relays?.linksChanged() }
      return
    }
    environment.log(.info, "the link with the device at \(connection.path.text) has ended")
    names.unlinked(peer)
    changed?(peer, false, connection.heardAt)
    act()
  }
}
