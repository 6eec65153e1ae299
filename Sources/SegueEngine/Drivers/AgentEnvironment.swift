// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The process of an agent, as its decisions see it: a loop in the product, a simulated machine in the fleet. For one
/// thread. No call blocks.
public protocol AgentEnvironment: AnyObject {
  /// Uptime in milliseconds, date in seconds since 1970.
  var now: Instant { get }
  /// The uptime of `now`.
  var uptime: Int64 { get }
  /// Milliseconds that the system has slept since it started.
  var slept: Int64 { get }
  /// The name of the device for people, unless its user gives it another one in the account.
  var deviceName: String { get }
  /// Draws a random identifier. Throws SYSTEM if a sandbox refuses random numbers.
  func drawIdentifier() throws(SegueError) -> Identifier
  /// Draws 32 bits for jitter.
  func drawJitter() -> UInt32
  /// Calls `body` in a later turn.
  func post(_ body: @escaping () -> Void)
  /// Makes a timer that calls its owner at the uptime that is set, or before. The timer is then unset, unless it has
  /// called before that uptime. The owner sets it again if nothing was due. The owner closes the timer before the owner
  /// is released: some environments keep the owner until then, and others do not. Throws SYSTEM.
  func makeTimer(for owner: any AgentTimerOwner) throws(SegueError) -> any AgentTimer
  /// Writes a line to the log of the process, if that has lines of this severity.
  func log(_ severity: Severity, _ message: DiagnosticText)
}

extension AgentEnvironment {
  public var uptime: Int64 { now.uptime }
}

/// An object that has timers of an `AgentEnvironment`.
public protocol AgentTimerOwner: AnyObject {
  /// The uptime of a timer has come, or is near.
  func timerIsDue(_ timer: any AgentTimer)
}

/// A timer of an `AgentEnvironment`.
public protocol AgentTimer: AnyObject {
  /// - Parameter uptime: in milliseconds; nil: none. One that is later than that which is set changes nothing. One that
  ///   comes soon may stay though there is none.
  func set(_ uptime: Int64?)
  /// No call follows. A second call has no effect.
  func close()
}
