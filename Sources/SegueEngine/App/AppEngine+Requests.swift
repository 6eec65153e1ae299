// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Questions of an app to others: requests to origins (R7.5), links with other devices, explanations (R6.5).
extension AppEngine {
  /// Sends a request to the origin of a continued activity. The result is `answered` with the returned number, by its
  /// deadline.
  /// - Parameter bytes: at most `limits.request`.
  /// - Parameter timeout: milliseconds; nil for the limit of a continuation.
  public func request(_ bytes: [UInt8], _ from: ContinuedFrom, timeout: Int64?, _ now: Instant) -> UInt64 {
    requests.ask(bytes, from, timeout: timeout, now)
  }

  /// Cancels a request; no effect on one that has ended.
  public func cancelRequest(_ number: UInt64) { requests.cancel(number) }

  /// The host answers; no effect if it is too late.
  /// - Parameter bytes: at most `limits.request`.
  public func respond(to number: UInt64, _ bytes: [UInt8], _ now: Instant) { requests.respond(to: number, bytes, now) }

  /// The host refuses, with a reason; no effect if it is too late.
  public func refuseRequest(_ number: UInt64, _ error: SegueError) { requests.refuse(number, error) }

  /// The error for a request of that many bytes, or nil.
  public func rejection(toSize size: UInt64, of what: String) -> SegueError? {
    requests.rejection(toSize: size, of: what)
  }

  /// Links this device's hub with another. Deliveries carry the returned number; the last one always is the end.
  public func link(_ descriptor: PassedDescriptor, _ now: Instant) -> UInt64 { appLinks.ask(descriptor, now) }

  /// Ends a link, or the attempt to make it; no effect on one that has ended.
  public func endLink(_ number: UInt64, _ now: Instant) { appLinks.end(number, now) }

  /// Answers "why is it not offered there?" (R6.5). The delivery carries the returned number, and comes at once if the
  /// app can answer itself.
  /// - Parameter state: the current activity; nil if it was invalidated.
  public func explain(_ id: Identifier, _ state: Activity?, _ now: Instant) -> UInt64 {
    explanations.ask(id, state, now)
  }
}
