// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The networks of a device, as links with other devices use them: TCP, multicast and commands in the product,
/// simulated ones in the fleet. For one thread. No call blocks.
public protocol LinkTransport: AnyObject {
  /// The addresses of this device now.
  var interfaces: [NetworkInterface] { get }
  /// Calls `changed` when this device gets or loses an address, or an interface its connection, until the watch is
  /// closed. Throws SYSTEM if the system tells no news of networks.
  func watchInterfaces(_ changed: @escaping () -> Void) throws(SegueError) -> any InterfaceWatch
  /// Listens until the listener is closed.
  /// - Parameters:
  ///   - port: 0: one that is free.
  ///   - accepted: called with each connection, which the callee owns, and the address of the other end.
  ///   - hasAccepted: called after those of a turn.
  /// Throws SYSTEM, also if another process listens there.
  func listen(
    port: UInt16, accepted: @escaping (any LinkSocket, NetworkAddress) -> Void, hasAccepted: @escaping () -> Void
  ) throws(SegueError) -> any LinkListener
  /// Begins to connect. Throws SYSTEM if this device has no way there.
  func dial(_ address: NetworkAddress) throws(SegueError) -> any LinkSocket
  /// Links through commands (R14.4); nil: there are none.
  var commands: (any CommandTransport)? { get }
  /// Hears the datagrams of the groups of beacons, on the interfaces that are joined, until the sockets are closed.
  /// - Parameter heard: called with the first bytes of each datagram, and the address of its sender.
  func openBeacons(_ heard: @escaping ([UInt8], NetworkAddress) -> Void) -> any BeaconSockets
}

/// One end of a connection between two machines: a TCP socket in the product, or the end of a command.
public protocol LinkSocket: ByteConnection {
  /// Starts to call `ready` with the events of `watch`. A dialled one is writable once connecting has ended. `close`
  /// comes before what `ready` uses is released. Throws SYSTEM; then it is closed.
  func start(_ ready: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void) throws(SegueError)
  /// The reason for which connecting has failed; nil if it has not.
  var failure: SegueError? { get }
  /// The error with which the connection has come to nothing, with what is known here.
  /// - Parameter hasKnocked: whether the other end has proved the knock key.
  func explanation(of error: SegueError, hasKnocked: Bool) -> SegueError
  /// Bytes that have arrived, and are not read yet.
  var unread: Int { get }
  /// Whether what is written goes out in a later turn of the loop.
  var sendsLater: Bool { get }
  /// Has it end soon after the other machine has gone, although neither end says anything for minutes.
  func probe()
}

extension LinkSocket {
  public func explanation(of error: SegueError, hasKnocked: Bool) -> SegueError { error }
  public var sendsLater: Bool { false }
}

/// A listening socket.
public protocol LinkListener: AnyObject {
  /// 0 for one of this machine.
  var port: UInt16 { get }
  func close()
}

/// Watches the interfaces of a device.
public protocol InterfaceWatch: AnyObject {
  /// The addresses at the last change.
  var interfaces: [NetworkInterface] { get }
  func close()
}

extension LinkTransport {
  public var commands: (any CommandTransport)? { nil }
}

/// The sockets of the groups of beacons.
public protocol BeaconSockets: AnyObject {
  /// Hears the groups on these interfaces, and on no others.
  func join(_ interfaces: [NetworkInterface])
  /// Sends a datagram on each of them. One that the system refuses is lost, as on the way.
  func send(_ beacon: [UInt8])
  func close()
}
