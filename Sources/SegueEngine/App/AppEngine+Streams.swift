// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Streams of an app (R7.1 to R7.4), and those for attachments (R7.6).
extension AppEngine {
  /// Asks the origin of a continued activity for a stream (R7.1). The result is `streamAnswered`.
  /// - Parameter id: new.
  /// - Parameter otherEnd: the origin's.
  /// - Parameter attachment: the attachment to send on it (R7.6); once accepted, the engine is not involved.
  /// - Parameter timeout: milliseconds; nil for the limit of a continuation.
  public func askStream(
    _ id: Identifier, _ from: ContinuedFrom, attachment: Message.AttachmentPart? = nil, otherEnd: PassedDescriptor,
    timeout: Int64?, _ now: Instant
  ) {
    streams.ask(id, from, attachment: attachment, otherEnd: otherEnd, timeout: timeout, now)
  }

  /// Takes the requests for streams. The owner answers each with `take` or `refuse`.
  public func takeStreamRequests() -> [StreamRequest] { streams.takeRequests() }

  /// - Returns: whether it is accepted, with its descriptor: by the app, or by the sender of the attachment.
  public func take(_ request: StreamRequest) -> Bool { streams.take(request) }

  public func refuse(_ request: StreamRequest, _ error: SegueError) { streams.refuse(request, error) }

  /// The error, or nil.
  public func rejection(to request: StreamRequest) -> SegueError? { streams.rejection(to: request) }

  /// Sends the status of the local end to the other side.
  public func reportEnd(_ status: StreamStatus, of id: Identifier) { streams.reportEnd(status, of: id) }

  /// Asks how the other end ended, when it is closed, or both are shut down. The result is `streamEnded`.
  public func askHowEnded(_ id: Identifier, _ now: Instant) { streams.askHowEnded(id, now) }

  /// The other end was found shut down for writing. Across a link its hub did that, so the other app is asked.
  public func sawEnd(of id: Identifier) { streams.sawEnd(of: id) }

  public func hasHeardEnd(of id: Identifier) -> Bool { streams.hasHeardEnd(of: id) }

  /// The owner has released a stream.
  public func forgetStream(_ id: Identifier) { streams.remove(id) }
}
