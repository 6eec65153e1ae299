// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// Moves the bytes of an inbox's attachments: threads and files in the product, events in the fleet.
public protocol AttachmentMover: AnyObject {
  /// Begins to fetch an attachment from its origin, or to copy one that was handed over.
  /// - Parameters:
  ///   - ask: asks the origin for a stream, whose other end it passes on, within these milliseconds; the answer goes to
  ///     `AttachmentDownloadHandle.answered`. Called in later turns. Returns the identifier of the stream; nil if
  ///     nothing is asked.
  ///   - ended: called once, in a later turn: nil if the attachment is whole.
  /// Throws SYSTEM.
  func download(
    _ attachment: Attachment, ask: @escaping (Message.AttachmentPart, PassedDescriptor, Int64) -> Identifier?,
    ended: @escaping (SegueError?) -> Void
  ) throws(SegueError) -> any AttachmentDownloadHandle

  /// Reads a stored attachment.
  /// - Parameter done: called once, perhaps at once: the content; NOT_FOUND, BUSY, SYSTEM.
  func read(_ key: StoredAttachmentKey, _ done: @escaping (Result<AttachmentSource, SegueError>) -> Void)

  /// Whether the descriptor of a request can carry bytes.
  func canSend(_ request: StreamRequest) -> Bool
  /// Closes the descriptor of a request that is refused.
  func drop(_ request: StreamRequest)
  /// Begins to send the content of `read` to the app. Takes over the descriptor of the request, also if it throws.
  /// - Parameter ended: called once, in a later turn.
  /// Throws SYSTEM.
  func upload(
    _ source: AttachmentSource, for request: StreamRequest, _ ended: @escaping () -> Void
  ) throws(SegueError) -> any AttachmentUploadHandle
}

/// An attachment in the inbox, or of what an app has left.
public struct StoredAttachmentKey: Sendable {
  /// The continuation, or the offer of what was left, which differs for each state of it.
  public let id: Identifier
  /// The activity of what was left; nil: it is of a continuation.
  public let kept: Identifier?
  public let name: String

  func isSame(as other: StoredAttachmentKey) -> Bool { id == other.id && Text.isSame(name, other.name) }
}

/// A download of an `AttachmentMover`.
public protocol AttachmentDownloadHandle: AnyObject {
  /// The attachment with its content, once it has ended without an error; else nil.
  var whole: Attachment? { get }
  /// The origin has accepted or refused the stream.
  func answered(_ error: SegueError?)
  /// Ends it early, with this error.
  func stop(_ error: SegueError)
  /// Waits until nothing of it runs. After `stop`, or when it has ended.
  func join()
}

/// An upload of an `AttachmentMover`.
public protocol AttachmentUploadHandle: AnyObject {
  /// Ends it early: the other side sees a broken stream.
  func stop()
  /// Waits until nothing of it runs, at most until this uptime. After `stop`, or when it has ended.
  func join(until uptime: Int64)
}
