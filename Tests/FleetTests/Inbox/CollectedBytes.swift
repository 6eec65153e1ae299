// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

@testable import SegueFleet

extension CollectedBytes {
  /// An attachment of an app; one that is too large to be stored has no content.
  static func attachment(_ name: String, size: UInt64) -> Attachment {
    let attachment = Attachment(name: name, size: size)
    guard size <= Limits.storedAttachments else { return attachment }
    return Attachment(name: name, size: size, source: CollectedBytes(content(of: attachment)))
  }

  /// The bytes of every attachment of that name and size.
  static func content(of attachment: Attachment) -> [UInt8] {
    let seed = attachment.name.utf8.reduce(UInt8(0)) { 31 &* $0 &+ $1 }
    return (0..<Int(attachment.size)).map { UInt8(truncatingIfNeeded: $0 / 3) &+ seed }
  }
}
