// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The environment of a `HubDriver`: the process that carries the hub, in the product or in the fleet. No call blocks.
public protocol HubEnvironment: AnyObject {
  var now: Instant { get }
  /// The number of descriptors that the process may have.
  var descriptorLimit: Int { get }

  /// Accepts the next connection at the hub's listening socket, and watches it for reading.
  func accept(as number: HubEngine.PeerNumber) -> AcceptResult
  /// Sets whether `acceptConnections` is called while a connection waits; initially true.
  func listen(_ isListening: Bool)
  /// Sets the uptime at which, or slightly before which, to call `tick`; nil for none.
  func setTimer(_ deadline: Int64?)
  /// Writes the heartbeat, which shows that the hub serves its peers.
  func touchHeartbeat(_ uptime: Int64)

  /// Takes over a descriptor of a connection to another hub. `addLink` passes the connection to the driver, now or
  /// later.
  func openLink(_ descriptor: PassedDescriptor, for request: LinkRequest) throws(SegueError)
  /// Takes over a descriptor that is the end of a stream.
  func openStream(_ descriptor: PassedDescriptor, as number: UInt64) throws(SegueError) -> any StreamEndpoint
  /// Creates the two ends of a stream: one for the driver, and one for an app.
  func makeStream(as number: UInt64) throws(SegueError) -> (near: any StreamEndpoint, far: PassedDescriptor)
}

/// The result of accepting a connection.
public enum AcceptResult {
  case accepted(AcceptedConnection)
  /// A connection whose process is still looked at (R13.8): `HubDriver.admit` follows, unless the hub ends.
  case later
  /// No connection waits.
  case none
  /// The system has no descriptor left, not even to reject the connection, which still waits.
  case exhausted
}

/// A connection that an app has opened, with the system's information about it.
public struct AcceptedConnection {
  let connection: any ByteConnection
  /// The process at its other end.
  let process: Int32
  /// Whether that process carries the hub.
  let isOwn: Bool
  /// The number of its descriptor, the lowest free one.
  let descriptor: Int
  /// Whether that process runs in a sandbox (R13.8).
  let standing: PeerStanding

  public init(
    _ connection: any ByteConnection, process: Int32, isOwn: Bool, descriptor: Int, _ standing: PeerStanding = .free
  ) {
    self.connection = connection
    self.process = process
    self.isOwn = isOwn
    self.descriptor = descriptor
    self.standing = standing
  }
}
