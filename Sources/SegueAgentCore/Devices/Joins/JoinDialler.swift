// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// Dials all addresses of an invite at once, until one of them has answered with its key; again when this device gets
/// another address meanwhile. For one thread.
final class JoinDialler: DeviceConnectionOwner {
  /// The most addresses that are dialled: each of an invite, some on each interface.
  private static let limit = 32
  /// Milliseconds for an interface to get an address while this device has no way to any address of the invite.
  private static let interfaceTime: Int64 = 10_000

  private let invite: Invite
  private let environment: any AgentEnvironment
  private let transport: any LinkTransport
  private let security: any LinkSecurity
  /// The uptime at which it gives up.
  private let end: Int64
  private let done: (Result<DeviceConnection, SegueError>) -> Void
  /// Called when `deadline` has changed.
  var changed: (() -> Void)?
  private var connections: [DeviceConnection] = []
  private var lastNumber: UInt64 = 0
  private var isOver = false
  /// Nil before `start`, and where the system tells no news of networks.
  private var network: (any InterfaceWatch)?
  /// The uptime until which it waits for an address of this device; nil while it dials.
  private var waitsUntil: Int64?
  /// Why the last address failed, and whether any device was reached.
  private var failure = SegueError(.connectionUnavailable, "the invite has no address that this device can dial")
  private var isReached = false

  /// - Parameters:
  ///   - end: the uptime at which it gives up.
  ///   - done: called once, with a connection that the callee owns then, or why there is none; not before `start` has
  ///     returned.
  init(
    _ invite: Invite, until end: Int64, in environment: any AgentEnvironment, over transport: any LinkTransport,
    _ security: any LinkSecurity, _ done: @escaping (Result<DeviceConnection, SegueError>) -> Void
  ) {
    self.invite = invite
    self.environment = environment
    self.transport = transport
    self.security = security
    self.end = end
    self.done = done
  }

  /// The uptime at which `tick` has something to do.
  var deadline: Int64 { min(end, waitsUntil ?? end) }

  func start() {
    do throws(SegueError) {
      // `cancel` closes it, and lets go of this object.
      network = try transport.watchInterfaces { [self] in networkHasChanged() }
    } catch { environment.log(.info, "join: \(error.message)") }
    dial()
  }

  /// The addresses to dial. Link-local ones come last.
  private func targets() -> [NetworkAddress] {
    let interfaces = network?.interfaces ?? transport.interfaces
    var all: [NetworkAddress] = []
    for host in invite.addresses {
      do throws(SegueError) {
        all += try NetworkAddress.read(host: host, port: invite.port).onInterfaces(interfaces)
      } catch { failure = error }
    }
    return Array((all.filter { !$0.isLinkLocal } + all.filter { $0.isLinkLocal }).prefix(Self.limit))
  }

  /// Dials the addresses that are not being dialled. If this device has no way to any, it waits for another address of
  /// its own.
  private func dial() {
    for address in targets() where !connections.contains(where: { $0.path == .address(address) }) {
      do throws(SegueError) {
        let channel = SecureChannel(
          joiningWith: invite, nonce: try environment.drawIdentifier().bytes,
          try security.context(joiningWith: invite))
        lastNumber += 1
        let connection = DeviceConnection(
          try transport.dial(address), .address(address), as: lastNumber, isDialled: true, channel, of: self,
          in: environment)
        try connection.start()
        connections.append(connection)
      } catch {
        failure = error
      }
    }
    guard connections.isEmpty else { return waitsUntil = nil }
    waitsUntil = environment.uptime + (network == nil ? 0 : Self.interfaceTime)
    environment.log(.info, "join: this device has no way to the other one yet: \(failure.message)")
  }

  private func networkHasChanged() {
    guard !isOver else { return }
    // Perhaps they are on their way from an address that has gone.
    for connection in connections where connection.isConnecting { connection.terminate() }
    dial()
    changed?()
  }

  /// Gives up. Calls nothing afterwards.
  func cancel() {
    isOver = true
    changed = nil
    network?.close()
    network = nil
    for connection in connections { connection.terminate() }
  }

  func tick(_ uptime: Int64) {
    guard !isOver, deadline <= uptime else { return }
    if end <= uptime, !connections.isEmpty {
      if connections.contains(where: { !$0.isConnecting }) { isReached = true }
      failure = SegueError(.remoteApplicationTimedOut, "nothing has answered in time")
    }
    finish(.failure(explained))
  }

  func isUp(_ connection: DeviceConnection) {
    connections.removeAll { $0 === connection }
    finish(.success(connection))
  }

  func failed(_ connection: DeviceConnection, _ error: SegueError) {
    if !connection.isConnecting { isReached = true }
    failure = error
    environment.log(.debug, "no join over \(connection.path.text): \(error.message)")
    connection.terminate()
    if connections.isEmpty { finish(.failure(explained)) }
  }

  func ended(_ connection: DeviceConnection) { connections.removeAll { $0 === connection } }

  private func finish(_ result: Result<DeviceConnection, SegueError>) {
    guard !isOver else { return }
    cancel()
    done(result)
  }

  /// The error of the join, which says what the user can do about it.
  private var explained: SegueError {
    isReached
      ? SegueError(
        .notAllowed,
        """
        join: the other device does not take this invite (it is used up, older than ten minutes, or its agent was \
        started again); ask for a new one
        """)
      : SegueError(
        .connectionUnavailable,
        """
        join: the other device is not reached: \(failure.message); are both devices in one network, and does its \
        firewall let TCP port \(Int(invite.port)) through?
        """)
  }
}
