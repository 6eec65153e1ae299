// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A participant on the socket of a hub: an app, or the agent. `AppDriver` connects it.
public protocol HubParticipant: AnyObject {
  /// The connection to the hub; nil while there is none.
  var link: FramedConnection? { get }
  var identity: AppIdentity { get }
  var isReady: Bool { get }
  /// The generation of the hub that has welcomed it.
  var hubGeneration: UInt64? { get }
  /// The agent that carries the hub; nil if an app does, or there is no hub.
  var hubAgent: AgentDescription? { get }
  /// The uptime in milliseconds at which its owner ticks it, or nil.
  var nextDeadline: Int64? { get }
  func tick(_ now: Instant)

  /// The connection to the hub is open: `link` has a hello for it.
  func connected(_ now: Instant)
  /// The connection is lost, or was closed.
  func disconnected(_ now: Instant)
  /// Takes in bytes from the hub.
  /// - Parameter descriptor: came with these bytes of one read.
  func receive(_ bytes: consuming [UInt8], with descriptor: PassedDescriptor?, _ now: Instant)
  func takeFault() -> HubFault?
  /// Waits again for a hub that does not answer, but shows a heartbeat.
  func waitForHub(_ now: Instant)
}

extension AppEngine: HubParticipant {}
