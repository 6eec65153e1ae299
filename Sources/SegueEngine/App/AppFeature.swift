// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A feature of an app: owns its state, and has the same life cycle as all others. A feature calls only those that it
/// was created with, which come before it in `AppEngine.features`; none calls back.
protocol AppFeature: AnyObject {
  /// A hub has sent welcome: sends pending messages.
  func connected(_ now: Instant)
  /// The connection to the hub is lost.
  func disconnected(_ now: Instant)
  func tick(_ now: Instant)
  /// The uptime in milliseconds at which `tick` is due, or nil.
  var nextDeadline: Int64? { get }
  /// The app closes: ends everything in progress.
  func close(_ error: SegueError, _ now: Instant)
  /// Whether everything has ended.
  var isIdle: Bool { get }
  /// State that should have been released by now, or nil (leak check).
  var leak: StaticString? { get }
  /// The first violated invariant, or nil.
  var brokenInvariant: StaticString? { get }
}

/// A feature that reads channels of the hub.
protocol ChannelReader: AnyObject {
  func received(_ bytes: ArraySlice<UInt8>, on channel: FramedConnection.Channel, _ now: Instant)
  /// All bytes have arrived.
  func receivedEnd(of channel: FramedConnection.Channel, _ now: Instant)
  /// The hub aborted the channel, or some of its bytes are missing.
  func receivedReset(of channel: FramedConnection.Channel, _ now: Instant)
}

extension AppFeature {
  func connected(_ now: Instant) {}
  func disconnected(_ now: Instant) {}
  func tick(_ now: Instant) {}
  var nextDeadline: Int64? { nil }
  func close(_ error: SegueError, _ now: Instant) {}
  var isIdle: Bool { true }
  var leak: StaticString? { nil }
  var brokenInvariant: StaticString? { nil }
}
