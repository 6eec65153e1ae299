// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// Observes an app: what it begins, and which callbacks run. The fleet checks by this that each promise is kept; a real
/// device observes nothing. The app calls it with its lock.
public protocol AppObserver: AnyObject {
  /// The app has begun something that ends in a callback.
  /// - Parameter deadline: the uptime by which it ends; nil if only the hub's answer, or its end, ends it.
  func began(_ operation: AppOperation, deadline: Int64?)
  /// A delivery is queued: its callback is due.
  func queued(_ delivery: Delivery)
  /// The callback of a delivery is about to run.
  func willRun(_ delivery: Delivery)
  /// The callback of a step of a continuation is about to run.
  func willRun(_ step: ContinuationStep, of continuation: Identifier)
  /// The host has answered a continuation in time, or handed its document over: objects may still be restored.
  func answered(_ continuation: Identifier)
  /// The state of an activity was replaced by one that has come back (R3.10).
  func replaced(_ activity: Identifier, with state: Activity)
}

/// An operation that an app begins, and that ends in exactly one callback.
public enum AppOperation {
  case continuation(Identifier, Offer)
  /// The state of an activity comes back (R3.10).
  case resumption(Identifier)
  /// "Why is it not offered there?" (R6.5)
  case explanation(UInt64)
  case request(UInt64)
  /// The origin is asked for a stream.
  case stream(Identifier)
  /// The origin is asked for the stream of an attachment.
  case attachment(Identifier)
  /// The status of a stream's end is asked for.
  case streamEnd(Identifier)
}
