// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The directory of the hubs of a device, as one of its processes sees it: the runtime folder in the product, a
/// simulated one in the fleet (docs/decisions/numbered-generations.md). No call blocks.
public protocol HubDirectory: AnyObject {
  /// Its name in messages.
  var path: String { get }
  /// Whether its path still leads to it.
  var isInPlace: Bool { get }
  /// The highest generation that has a socket; 0 if there is none.
  var highestGeneration: UInt64 { get }
  /// The highest possible generation.
  var lastGeneration: UInt64 { get }
  /// A number of the socket that a generation has now, and another one for another socket; nil if it has none.
  func socketNumber(of generation: UInt64) -> UInt64?
  /// Milliseconds since the last heartbeat of a generation's hub; nil if there is no such hub. From any thread.
  func heartbeatAge(_ generation: UInt64) -> Int64?

  /// The process that runs a generation, for people.
  func holder(of generation: UInt64) -> DiagnosticText

  /// Throws SYSTEM if the system refuses, which another hub would not change.
  func connect(to generation: UInt64) throws(SegueError) -> HubContact
  /// Makes this process the hub of a generation. Nil if another process is about to.
  func becomeHub(_ generation: UInt64, offersFrontmostOnly: Bool) throws(SegueError) -> (any ElectedHub)?
  /// Removes the files of the last possible generation: numbers start again.
  func removeLastGeneration() throws(SegueError)
  /// Opens the directory that is now at the path, and creates it if necessary.
  func reopen() throws(SegueError)

  /// Starts to call `HubElection.directoryChanged` when a generation appears or disappears. A second call has no
  /// effect.
  func watch() throws(SegueError)
  /// Checks more often for a while: a new generation is likely.
  func lookSoon()
  /// Sets the uptime at which `HubElection.tick` is called; nil for none.
  func setTimer(_ uptime: Int64?)

  func log(_ severity: Severity, _ message: DiagnosticText)
}

/// The result of connecting to a hub.
public enum HubContact {
  case connected(any ByteConnection)
  /// No process listens, or one of another user.
  case nobody
  /// The backlog is full.
  case backlogFull
}

/// A hub that this process runs.
public protocol ElectedHub: AnyObject {
  var generation: UInt64 { get }
  /// Whether it is still listed under its generation.
  var isNamed: Bool { get }
  /// Sends pending messages.
  func flush()
  /// Ends, because there is another hub.
  func stepDown()
  /// Ends, because no app of this process needs it.
  func close()
}

/// An app of this process that looks for a hub.
public protocol HubSeeker: AnyObject {
  /// The generation of its hub; nil if it is not connected.
  var hubGeneration: UInt64? { get }
  /// Whether a hub in its process publishes only the frontmost offer.
  var offersFrontmostOnly: Bool { get }
  /// Prepares to be connected, unless it is ready. Throws SYSTEM.
  func prepare() throws(SegueError)
  /// Takes over a connection to a hub, and closes it if that fails.
  func connected(to hub: any ByteConnection, generation: UInt64) throws(SegueError)
  /// Leaves its hub, since it is not to be found any more.
  func disconnect()
  /// Leaves its hub for one of a higher generation; returns the next step.
  func superseded(by generation: UInt64) -> NextHubAttempt
  /// The hub accepts no further connection; returns the next step.
  func backlogFull(at generation: UInt64) -> NextHubAttempt
  /// Records a refusal of the system. Returns milliseconds until the next attempt.
  func couldNotConnect(_ error: SegueError) -> Int64
}

/// The next step of an app to find a hub.
public enum NextHubAttempt {
  /// Looks for a hub of at least this generation after a delay, and becomes it if there is none.
  case seek(minimum: UInt64, after: Int64)
  /// Looks again after a delay, or as soon as there is a hub of a higher generation.
  case retry(UInt64, after: Int64)
}
