// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// An attachment as the inbox knows it.
public struct StoredAttachment: Sendable {
  public let name: String
  /// In bytes.
  public let size: UInt64
  /// False: only its origin has it.
  public let isHere: Bool
  /// Its number in the store.
  public let number: Int64

  public init(name: String, size: UInt64, isHere: Bool, number: Int64) {
    (self.name, self.size, self.isHere, self.number) = (name, size, isHere, number)
  }
}

/// Names a stored document and its attachments, as long as the entry or kept offer that it belongs to lasts.
public struct StoredPayload: Sendable {
  /// Bytes of the activity document.
  public let documentSize: Int
  /// In the order in which they were attached.
  public let attachments: [StoredAttachment]
  /// Its number in the store.
  public let number: Int64

  public init(documentSize: Int, attachments: [StoredAttachment], number: Int64) {
    (self.documentSize, self.attachments, self.number) = (documentSize, attachments, number)
  }
}
