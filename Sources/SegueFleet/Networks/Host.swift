// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The location of a host: one of several networks, and its number there.
public struct Place: Equatable, Sendable {
  public let network: Int
  public let number: Int

  public func address(port: UInt16) -> NetworkAddress {
    var address = linux_address()
    // IPv4 in IPv6 (RFC 4291 §2.5.5.2).
    withUnsafeMutableBytes(of: &address.bytes) { bytes in
      (bytes[10], bytes[11]) = (0xff, 0xff)
      (bytes[12], bytes[13]) = (10, UInt8(truncatingIfNeeded: network))
      (bytes[14], bytes[15]) = (UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number))
    }
    address.port = port
    return NetworkAddress(address)
  }

  public init(network: Int, number: Int) { (self.network, self.number) = (network, number) }

  /// The place to which an address leads.
  public init(_ address: NetworkAddress) {
    let bytes = address.bytes
    self.init(network: Int(bytes[13]), number: Int(bytes[14]) << 8 | Int(bytes[15]))
  }
}

/// The simulation whose hosts share networks.
public protocol NetworkSimulation: AnyObject {
  var uptime: Int64 { get }
  /// Draws the milliseconds that a segment takes.
  func drawDelay() -> Int64
  /// Does something that is in progress until then.
  func later(_ milliseconds: Int64, _ body: @escaping () -> Void)
  /// Returns the host at a place; nil if there is none.
  func host(at place: Place) -> Host?
  /// Returns the other hosts that a datagram of one reaches, which may be fewer than there are in its network.
  func listeners(to host: Host) -> [Host]
  /// Whether the hosts of two networks reach each other, as over routers or a VPN; datagrams to the group of beacons
  /// stay in their network.
  func isRouted(_ network: Int, to other: Int) -> Bool
  /// Whether nothing comes from one host to the other until `resumed` of their connections.
  func isCut(_ one: Host, _ other: Host) -> Bool
}

extension NetworkSimulation {
  public func isRouted(_ network: Int, to other: Int) -> Bool { network == other }
}

/// Something that has an address: a device of the user, or a hostile machine. The simulation outlives its hosts.
open class Host {
  public unowned(unsafe) let simulation: any NetworkSimulation
  public let name: String
  /// Nil: it is in no network.
  public private(set) var place: Place?
  public private(set) var isAwake = true
  /// The commands of its user, at most one for a device (R14.4).
  public private(set) var commands: [(device: Identifier, command: HostCommand, version: UInt64)] = []
  private var lastVersion: UInt64 = 0
  /// The actions that came while it slept, and run when it wakes up.
  private var postponed: [() -> Void] = []

  public init(_ name: String, in simulation: any NetworkSimulation) {
    self.name = name
    self.simulation = simulation
  }

  /// Whether it listens at a port.
  open func listens(at port: UInt16) -> Bool { false }
  /// A connection to a port at which it listens; its end is 1.
  open func accept(_ wire: Wire, at port: UInt16) {}
  /// A datagram to the group of beacons.
  open func heard(_ beacon: [UInt8], from place: Place) {}

  open func move(to place: Place?) { self.place = place }

  open func fallAsleep() { isAwake = false }

  open func awake() {
    isAwake = true
    let postponed = self.postponed
    self.postponed = []
    for body in postponed { simulation.later(0, body) }
  }

  /// Does something now, or when it wakes up.
  public func whenAwake(_ body: @escaping () -> Void) { if isAwake { body() } else { postponed.append(body) } }

  /// Its user sets the command for a device, or takes it back.
  public func setCommand(_ command: HostCommand?, for device: Identifier) {
    commands.removeAll { $0.device == device }
    lastVersion += 1
    if let command { commands.append((device, command, lastVersion)) }
  }

  // MARK: Sending

  /// Dials an address.
  /// - Returns: the connection, of which it has end 0; nil if no host is there.
  public func dial(_ address: NetworkAddress) -> Wire? {
    let there = Place(address)
    guard let place, simulation.isRouted(place.network, to: there.network), let listener = simulation.host(at: there),
      let wire = Wire(self, listener)
    else { return nil }
    wire.call(at: address.port)
    return wire
  }

  /// Sends a datagram to the group of beacons.
  public func multicast(_ beacon: [UInt8]) {
    guard let place else { return }
    for other in simulation.listeners(to: self) {
      simulation.later(simulation.drawDelay()) {
        if other.isAwake, other.place?.network == place.network { other.heard(beacon, from: place) }
      }
    }
  }
}
