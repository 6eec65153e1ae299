import SegueModel

/// The content of an attachment that is to be stored.
public struct AttachmentContent: Sendable {
  public enum Source: Sendable {
    case bytes([UInt8])
    /// A file, read from its beginning; it stays the caller's, and must not change meanwhile.
    case descriptor(Int32)
    /// Only its origin has it: it is larger than `Limits.storedAttachments`, or could not be fetched.
    case origin
  }

  /// Valid as the name of a file.
  public let name: String
  /// In bytes.
  public let size: UInt64
  public let source: Source

  public init(name: String, size: UInt64, source: Source) {
    self.name = name
    self.size = size
    self.source = source
  }
}

/// An attachment as the inbox knows it.
public struct StoredAttachment: Sendable {
  public let name: String
  /// In bytes.
  public let size: UInt64
  /// False: only its origin has it.
  public let isHere: Bool
  let number: Int64
}

/// Names a stored document and its attachments, as long as the entry or kept offer that it belongs to lasts.
public struct StoredPayload: Sendable {
  /// Bytes of the activity document.
  public let documentSize: Int
  /// In the order in which they were attached.
  public let attachments: [StoredAttachment]
  let number: Int64
}
