import SegueModel

/// The place where the hubs of a device stand, as one of its processes sees it: the runtime folder in the product, a
/// simulated one in the fleet (docs/decisions/numbered-generations.md). No call of it waits.
public protocol HubDirectory: AnyObject {
  /// As it is named in messages.
  var path: String { get }
  /// Whether its path still leads to it.
  var isInPlace: Bool { get }
  /// The highest generation that has a socket; 0: there is none.
  var highestGeneration: UInt64 { get }
  /// The last number that a generation can have.
  var lastGeneration: UInt64 { get }
  /// Milliseconds since the hub of a generation last served somebody; nil: there is no such hub. From any thread.
  func heartbeatAge(_ generation: UInt64) -> Int64?

  /// Throws SYSTEM if the system refuses, which another hub would not change.
  func connect(to generation: UInt64) throws(SegueError) -> HubContact
  /// Makes this process the hub of a generation. Nil: another process is about to.
  func becomeHub(_ generation: UInt64, offersFrontmostOnly: Bool) throws(SegueError) -> (any ElectedHub)?
  /// Removes what the last generation there can be has left: the numbers begin anew.
  func removeLastGeneration() throws(SegueError)
  /// Opens what is at the path now, and makes it if need be.
  func reopen() throws(SegueError)

  /// Has `HubElection.directoryChanged` called from now on when a generation comes or goes. A second call does nothing.
  func watch() throws(SegueError)
  /// Looks more often for a while: a generation is likely to come.
  func lookSoon()
  /// Has `HubElection.tick` called at an uptime; nil: not.
  func setTimer(_ uptime: Int64?)

  func log(_ severity: Severity, _ message: DiagnosticText)
}

/// The result of connecting to a hub.
public enum HubContact {
  case connected(any ByteConnection)
  /// Nobody listens, or another user does.
  case nobody
  /// More connections wait to be accepted than the system queues.
  case backlogFull
}

/// A hub that this process runs.
public protocol ElectedHub: AnyObject {
  var generation: UInt64 { get }
  /// Whether others still find it under its generation.
  var isNamed: Bool { get }
  /// Sends what is due.
  func flush()
  /// Ends, because there is another hub.
  func stepDown()
  /// Ends, because nobody in this process needs it.
  func close()
}

/// An app of this process that looks for a hub.
public protocol HubSeeker: AnyObject {
  /// Generation of the hub that it is connected to; nil: it is not connected.
  var hubGeneration: UInt64? { get }
  /// Whether a hub in its process tells each app of the frontmost offer only.
  var offersFrontmostOnly: Bool { get }
  /// Gets ready to be connected, unless it is. Throws SYSTEM.
  func prepare() throws(SegueError)
  /// Takes over a connection to a hub, and closes it if that fails.
  func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError)
  /// Leaves its hub for a higher one.
  func disconnect()
  /// Returns what it does next, because the hub has no room for another connection.
  func backlogFull(at generation: UInt64) -> HubSearch
  /// Notes what the system has refused. Returns milliseconds after which it is to be tried again.
  func couldNotConnect(_ error: SegueError) -> Int64
}

/// How an app finds its next hub.
public enum HubSearch {
  /// Looks for a hub of this generation at least, and becomes it if there is none; after so many milliseconds.
  case seek(minimum: UInt64, after: Int64)
  /// Looks again after so many milliseconds, or as soon as there is a hub of a higher generation than this.
  case retry(UInt64, after: Int64)
}
