// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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
