// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The inbox of the agent, which also keeps what is retained for other devices (R14.5). For one thread.
public protocol RetainingInbox: PushInbox {
  /// The offers of apps of this device to others; nothing private.
  var ownOffers: [Offer] { get }
  /// The offers and pushes that are retained for other devices, the oldest first.
  var retainedOffers: [KeptRecord] { get }
  /// Why nothing is retained; nil: it is.
  var retentionProblem: SegueError? { get }
  /// Why not all is retained that a device wants; nil: it is, or is about to be.
  func retentionProblem(of device: Identifier) -> SegueError?
  /// Sets what a device wants to have retained, in place of what it has wanted before.
  func retain(_ wanted: [RetainedOrigin], for device: Identifier)
  /// Keeps a push of a linked device for another one (R3.15).
  /// - Parameter done: called once, not inside this call, unless the agent ends before: nil if it is stored.
  func keepPush(_ push: RetainedOrigin, _ done: @escaping (SegueError?) -> Void)
  /// Drops pushes of a device that wait for others.
  func dropPushes(_ ids: [Identifier], of device: Identifier)
  /// The pushes of which their targets are to be told now.
  var duePushes: [RetainedOrigin] { get }
  /// The target of a push is being told. The activity is `RetainedOrigin.identifier`.
  func toldPush(_ activity: Identifier)
  /// The target has chosen an app (nil), or says why it does not continue the activity, or has not answered.
  func answeredPush(_ activity: Identifier, _ error: SegueError?)
  /// Sets the other devices of the account, those that are linked, and what the account calls this one.
  func setDevices(_ devices: [Identifier], linked: [Identifier], name: String?)
}
