// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport

/// The networks of this device: TCP, multicast for beacons, and commands. For the loop.
public final class TCPTransport: LinkTransport {
  private let loop: Loop
  public let commands: (any CommandTransport)?

  public init(on loop: Loop, commands: (any CommandTransport)? = nil) {
    (self.loop, self.commands) = (loop, commands)
  }

  public var interfaces: [NetworkInterface] { NetworkInterface.all() }

  public func watchInterfaces(_ changed: @escaping () -> Void) throws(SegueError) -> any InterfaceWatch {
    let watcher = try NetworkWatcher()
    try watcher.start(on: loop, changed)
    return watcher
  }

  public func listen(
    port: UInt16, accepted: @escaping (any LinkSocket, NetworkAddress) -> Void, hasAccepted: @escaping () -> Void
  ) throws(SegueError) -> any LinkListener {
    try TCPListener(port: port, on: loop, accepted, hasAccepted)
  }

  public func dial(_ address: NetworkAddress) throws(SegueError) -> any LinkSocket {
    TCPConnection(try TCPSocket.dial(address), address, on: loop)
  }

  public func openBeacons(_ heard: @escaping ([UInt8], NetworkAddress) -> Void) -> any BeaconSockets {
    MulticastSockets(on: loop, heard)
  }
}

extension NetworkWatcher: InterfaceWatch {}

/// A socket of each group of beacons that this device can hear. A network without multicast has none: addresses are
/// static there. For the loop.
private final class MulticastSockets: BeaconSockets {
  private var sockets: [BeaconSocket] = []

  init(on loop: Loop, _ heard: @escaping ([UInt8], NetworkAddress) -> Void) {
    for group in BeaconSocket.groups {
      do throws(SegueError) {
        let socket = try BeaconSocket(group)
        try socket.start(on: loop, heard)
        sockets.append(socket)
      } catch {
        Log.info("other devices are not discovered by \(group): \(error.message)")
      }
    }
  }

  func join(_ interfaces: [NetworkInterface]) { for socket in sockets { socket.join(interfaces) } }
  func send(_ beacon: [UInt8]) { for socket in sockets { socket.send(beacon) } }

  func close() {
    for socket in sockets { socket.close() }
    sockets = []
  }
}
