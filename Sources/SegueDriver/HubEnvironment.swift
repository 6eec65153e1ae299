import SegueEngine
import SegueModel
import SegueWire

/// What a `HubDriver` needs from the process that carries the hub: the product's, or one of the fleet. No call of it waits.
public protocol HubEnvironment: AnyObject {
  var now: Moment { get }
  /// How many descriptors the process may have.
  var descriptorLimit: Int { get }

  /// Takes the next connection that waits at the hub's listening socket, and watches it for reading.
  func accept(as number: HubEngine.PeerNumber) -> AcceptResult
  /// Sets whether `acceptConnections` is to be called while a connection waits. At first it is.
  func listen(_ isListening: Bool)
  /// Sets the uptime at which, or a little before which, `tick` is to be called; nil: at none.
  func setTimer(_ deadline: Int64?)
  /// Shows whoever waits for the hub that it serves its peers.
  func showLife(_ uptime: Int64)

  /// Takes over a descriptor that leads to another hub. `addLink` gives its connection to the driver, now or later.
  func openLink(_ descriptor: PassedDescriptor, for request: LinkRequest) throws(SegueError)
  /// Takes over a descriptor that is the end of a stream.
  func openStream(_ descriptor: PassedDescriptor, as number: UInt64) throws(SegueError) -> any StreamEndpoint
  /// Makes the two ends of a stream: one for the driver, and one for an app.
  func makeStream(as number: UInt64) throws(SegueError) -> (near: any StreamEndpoint, far: PassedDescriptor)
}

/// What came of accepting a connection.
public enum AcceptResult {
  case accepted(AcceptedConnection)
  /// No connection waits.
  case none
  /// The system has nothing left for a connection, not even to refuse it: it still waits.
  case exhausted
}

/// A connection that an app has opened, and what the system knows of it.
public struct AcceptedConnection {
  let connection: any ByteConnection
  /// The process at its other end.
  let process: Int32
  /// Whether that process carries the hub.
  let isOwn: Bool
  /// The number of its descriptor: the lowest that was free.
  let descriptor: Int

  public init(_ connection: any ByteConnection, process: Int32, isOwn: Bool, descriptor: Int) {
    self.connection = connection
    self.process = process
    self.isOwn = isOwn
    self.descriptor = descriptor
  }
}
