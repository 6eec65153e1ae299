// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueSystem

/// A process of a host, which runs the tasks of its sockets.
public protocol SocketProcess: AnyObject {
  /// Does something if the process lives then.
  func later(_ milliseconds: Int64, _ body: @escaping () -> Void)
}

/// The sockets of one process of a host.
public final class HostSockets {
  public let host: Host
  /// The port that is listened at if any will do.
  let port: UInt16
  /// Nil once the process is gone, which breaks the cycle.
  private var process: (any SocketProcess)?
  fileprivate var watches: [SimulatedTransport.Watch] = []
  var listeners: [SimulatedTransport.Listener] = []
  fileprivate var beacons: [SimulatedTransport.Beacons] = []
  private var sockets: [SimulatedSocket] = []

  public init(of host: Host, port: UInt16, in process: any SocketProcess) {
    (self.host, self.port, self.process) = (host, port, process)
  }

  /// Does something if the process lives then.
  func later(_ milliseconds: Int64, _ body: @escaping () -> Void) { process?.later(milliseconds, body) }

  func keep(_ socket: SimulatedSocket) { sockets.append(socket) }
  func release(_ socket: SimulatedSocket) { sockets.removeAll { $0 === socket } }

  public func listens(at port: UInt16) -> Bool { listeners.contains { $0.port == port } }
  public func accept(_ wire: Wire, at port: UInt16) { listeners.first { $0.port == port }?.accept(wire) }
  public func heard(_ beacon: [UInt8], from place: Place) { for each in beacons { each.hear(beacon, from: place) } }
  /// The host has another address, or none.
  public func hasMoved() { for watch in watches { watch.look() } }
  /// Hosts reach each other again that were cut off.
  public func resumed() { for socket in sockets { socket.resumed() } }

  /// The process is gone.
  /// - Parameter isPowerLost: nobody is told; otherwise the system closes its connections.
  public func drop(isPowerLost: Bool) {
    for socket in sockets { socket.drop(isPowerLost: isPowerLost) }
    (sockets, watches, listeners, beacons) = ([], [], [], [])
    process = nil
  }
}

/// Stands for the networks of a host, for one of its processes.
public final class SimulatedTransport: LinkTransport {
  private let sockets: HostSockets
  private var host: Host { sockets.host }

  public let commands: (any CommandTransport)?

  public init(_ sockets: HostSockets) {
    self.sockets = sockets
    commands = SimulatedCommands(sockets)
  }

  public var interfaces: [NetworkInterface] {
    guard let place = host.place else { return [] }
    return [
      NetworkInterface(index: UInt32(place.network) + 1, canMulticast: true, address: place.address(port: 0))
    ]
  }

  public func watchInterfaces(_ changed: @escaping () -> Void) -> any InterfaceWatch {
    let watch = Watch(self, changed)
    sockets.watches.append(watch)
    return watch
  }

  public func listen(
    port: UInt16, accepted: @escaping (any LinkSocket, NetworkAddress) -> Void, hasAccepted: @escaping () -> Void
  ) throws(SegueError) -> any LinkListener {
    let listener = Listener(port == 0 ? sockets.port : port, sockets) { [sockets] wire in
      accepted(SimulatedSocket(wire, 1, in: sockets), wire.place(0).address(port: 50_000))
      hasAccepted()
    }
    sockets.listeners.append(listener)
    return listener
  }

  public func dial(_ address: NetworkAddress) throws(SegueError) -> any LinkSocket {
    guard let wire = host.dial(address) else {
      throw SegueError(.system, "dialling \(address.text): no route to host")
    }
    return SimulatedSocket(wire, 0, in: sockets)
  }

  public func openBeacons(_ heard: @escaping ([UInt8], NetworkAddress) -> Void) -> any BeaconSockets {
    let beacons = Beacons(sockets, heard)
    sockets.beacons.append(beacons)
    return beacons
  }

  fileprivate final class Watch: InterfaceWatch {
    private let transport: SimulatedTransport
    private(set) var interfaces: [NetworkInterface]
    private var changed: (() -> Void)?

    init(_ transport: SimulatedTransport, _ changed: @escaping () -> Void) {
      (self.transport, self.changed) = (transport, changed)
      interfaces = transport.interfaces
    }

    func look() {
      guard interfaces != transport.interfaces else { return }
      interfaces = transport.interfaces
      changed?()
    }

    func close() {
      changed = nil
      transport.sockets.watches.removeAll { $0 === self }
    }
  }

  final class Listener: LinkListener {
    let port: UInt16
    private let sockets: HostSockets
    let accept: (Wire) -> Void

    init(_ port: UInt16, _ sockets: HostSockets, _ accept: @escaping (Wire) -> Void) {
      (self.port, self.sockets, self.accept) = (port, sockets, accept)
    }

    func close() { sockets.listeners.removeAll { $0 === self } }
  }

  fileprivate final class Beacons: BeaconSockets {
    private let sockets: HostSockets
    private let heard: ([UInt8], NetworkAddress) -> Void
    private var hasJoined = false

    init(_ sockets: HostSockets, _ heard: @escaping ([UInt8], NetworkAddress) -> Void) {
      (self.sockets, self.heard) = (sockets, heard)
    }

    func join(_ interfaces: [NetworkInterface]) { hasJoined = !interfaces.isEmpty }
    func send(_ beacon: [UInt8]) { if hasJoined { sockets.host.multicast(beacon) } }
    func hear(_ beacon: [UInt8], from place: Place) { if hasJoined { heard(beacon, place.address(port: 47_470)) } }
    func close() { sockets.beacons.removeAll { $0 === self } }
  }
}
