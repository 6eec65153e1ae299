// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The inbox of the agent, which also keeps what is retained for other devices (R14.5). For one thread.
public protocol RetainingInbox: PushInbox {
  /// Called, not inside another call, when what apps of this device offer may have changed, or what is retained; nil:
  /// not wanted.
  var retentionChanged: (() -> Void)? { get set }
  /// The offers of apps of this device to others; nothing private.
  var ownOffers: [Offer] { get }
  /// The offers that are retained for other devices, the oldest first.
  var retainedOffers: [KeptRecord] { get }
  /// Why not all is retained that a device wants; nil: it is, or is about to be.
  func retentionProblem(of device: Identifier) -> SegueError?
  /// Sets what a device wants to have retained, in place of what it has wanted before.
  func retain(_ wanted: [RetainedOrigin], for device: Identifier)
  /// Sets the other devices of the account, those that are linked, and what the account calls this one.
  func setDevices(_ devices: [Identifier], linked: [Identifier], name: String?)
}
