// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// Connections: those that others make, those that this device dials, and the links that become of both.
extension DeviceLinks {
  /// A connection that is refused costs no more than its descriptor.
  /// - Parameter path: by which the other end has made it; what has no address leads to this device.
  func admit(_ socket: any LinkSocket, _ path: LinkPath) {
    let uptime = environment.uptime
    guard let machine = Identifier(bytes: path.source), let prefix = Identifier(bytes: path.prefix),
      let nonce = try? environment.drawIdentifier().bytes
    else { return socket.close() }
    let number = connections.takeNumber()
    guard case .added(let former) = table.accepted(number, from: .init(address: machine, prefix: prefix), uptime) else {
      return socket.close()
    }
    if let former, let other = connections[former] {
      failed(other, SegueError(.limitExceeded, "too many connections have not shown who they are"))
    }
    do throws(SegueError) {
      var invites = owner.linkInvites
      // Nobody joins through a relay, which is for devices of the account.
      if case .relay = path { invites = [] }
      let channel = SecureChannel(answering: keys.epochs, invites: invites, nonce: nonce, keys.context)
      try add(socket, path, as: number, isDialled: false, channel)
    } catch {
      table.remove(number, epochs: keys.epochs.count, uptime, random: environment.drawJitter())
      environment.log(.error, "\(error.message)")
    }
  }

  /// Dials a path.
  /// - Parameter age: how many epochs back to knock.
  func dial(_ path: LinkPath, _ age: Int, _ uptime: Int64) {
    do throws(SegueError) {
      let nonce = try environment.drawIdentifier().bytes
      let channel = SecureChannel(
        knockingUnder: keys.epochs[min(age, keys.epochs.count - 1)], nonce: nonce, keys.context)
      let number = connections.takeNumber()
      try add(try begin(path), path, as: number, isDialled: true, channel)
      table.dialled(path, as: number, within: path.time, uptime)
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
}

extension DeviceLinks: DeviceConnectionOwner {
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
      owner.linksFoundCopy(of: identity.device, connection.path)
    }
    log.write(what, at: connection.path, error, in: environment)
    table.note(error, of: connection.number)
    end(connection, what)
  }

  /// Ends a connection that is no link.
  /// - Parameter end: the end of the attempt.
  func end(_ connection: DeviceConnection, _ end: LinkTable<LinkPath>.End) {
    table.remove(
      connection.number, end, epochs: keys.epochs.count, environment.uptime, random: environment.drawJitter())
    connection.terminate()
    act()
  }

  /// A device that was dialled has shown its certificate. If it is linked, nothing is shown of this one. Otherwise the
  /// hub introduces itself in the packet that has this device's certificate, which saves a link one round trip. It is
  /// no link before the other device has accepted that certificate.
  public func isAuthenticated(_ connection: DeviceConnection) {
    guard let peer = connection.peer else { return }
    guard !connection.isRevoked(by: keys.context) else { return failed(connection, Self.revoked) }
    guard connection.isMeant(peer.device) else { return failed(connection, Self.other(peer.device)) }
    if isAvoided(connection, to: peer.device) { return refuse(connection, peer.device) }
    if table.isSuperfluous(connection.number, to: peer.device, environment.uptime) {
      return end(connection, .linked(peer.device))
    }
    if keys.context.lists(peer.device) { attach(connection, peer) }
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
    guard !connection.isRevoked(by: keys.context) else { return failed(connection, Self.revoked) }
    guard connection.isMeant(peer.device) else { return failed(connection, Self.other(peer.device)) }
    if isAvoided(connection, to: peer.device) { return refuse(connection, peer.device) }
    guard keys.context.lists(peer.device) else { return hold(connection) }
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
      owner.linksFoundCopy(of: peer.device, connection.path)
      return failed(connection, SegueError(.busy, "the other device's link changes hands again and again"))
    case .taken: break
    }
    let isReplacing = present != nil
    // If two are made at once, one ends now. An older one stays until the hubs have moved what they share.
    let ending = present.flatMap { table.isNew($0.number, uptime) ? $0 : nil }
    if !isAttached { attach(connection, peer) }
    guard !connection.isOver else { return act() }
    table.linked(
      connection.number, with: peer.device, at: connection.path, epochs: keys.epochs.count, uptime,
      random: environment.drawJitter())
    // Not before the hub has the new one: what the other device offers stays where it is (R2.8).
    ending?.terminate()
    environment.log(.info, "linked with the device at \(connection.path.text)")
    if isReplacing {
      owner.linkHasMoved(with: peer.device, hasEnded: ending != nil)
    } else {
      owner.linkHasChanged(with: peer.device, true, heardAt: uptime)
    }
    if connection.isDialled, let address = connection.path.address {
      owner.linkWasDialled(to: peer.device, at: address)
    }
    connection.passOn()
    act()
  }

  /// A device joins over it.
  private func passOn(_ connection: DeviceConnection) {
    guard connection.invite != nil else {
      return failed(connection, SegueError(.invalidState, "no device can join now"))
    }
    connections.remove(connection)
    table.remove(connection.number, epochs: keys.epochs.count, environment.uptime, random: environment.drawJitter())
    owner.linkIsJoin(connection)
    act()
  }

  /// It is closed.
  public func ended(_ connection: DeviceConnection) {
    connections.remove(connection)
    for held in provisional where held.connection === connection { held.close() }
    provisional.removeAll { $0.connection === connection }
    let peer = table.remove(
      connection.number, epochs: keys.epochs.count, environment.uptime, random: environment.drawJitter())
    guard let peer else {
      // The link may be the former one again, by another path.
      if connection.isAttached { relays?.linksChanged() }
      return
    }
    environment.log(.info, "the link with the device at \(connection.path.text) has ended")
    names.unlinked(peer)
    owner.linkHasChanged(with: peer, false, heardAt: connection.heardAt)
    act()
  }
}
