// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueSystem

/// A device of a fleet in the network that all its devices share.
final class FleetHost: Host {
  /// The port at which agents listen that may choose one.
  static let port: UInt16 = 40_000

  /// Outlives its host.
  unowned(unsafe) let device: FleetDevice

  init(of device: FleetDevice) {
    self.device = device
    super.init(device.name, in: device.fleet)
    let number = device.index + 1
    move(to: Place(network: number >> 16, number: number & 0xffff))
  }

  private var agent: FleetAgent? { device.fleetAgent }

  override func listens(at port: UInt16) -> Bool { agent?.listens(at: port) ?? false }
  override func accept(_ wire: Wire, at port: UInt16) { agent?.accept(wire, at: port) }
  override func heard(_ beacon: [UInt8], from place: Place) { agent?.heard(beacon, from: place) }
}

extension Fleet: NetworkSimulation {
  public var uptime: Int64 { clock.uptime }
  public func drawDelay() -> Int64 { network.delay(&random) }

  public func later(_ milliseconds: Int64, _ body: @escaping () -> Void) {
    push(.task(nil, body), at: clock.uptime + milliseconds)
  }

  public func host(at place: Place) -> Host? { agents.first { $0.host.place == place }?.host }

  public func listeners(to host: Host) -> [Host] {
    // A fleet has no other hosts.
    let sender = unsafeDowncast(host, to: FleetHost.self).device
    return agents.filter { $0 !== sender && $0.host.place?.network == host.place?.network && !isCut($0, sender) }
      .map { $0.host }
  }

  public func isCut(_ one: Host, _ other: Host) -> Bool {
    isCut(unsafeDowncast(one, to: FleetHost.self).device, unsafeDowncast(other, to: FleetHost.self).device)
  }

  /// The devices whose agents have sockets.
  private var agents: [FleetDevice] { devices.filter { $0.fleetAgent != nil } }
}
