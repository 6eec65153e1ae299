// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A file or bytes of any size that belong to an activity (R7.6).
public struct Attachment: Sendable {
  public let name: String
  /// In bytes.
  public let size: UInt64
  /// The source of the bytes; nil if the origin has them.
  public let source: AttachmentSource?

  public init(name: String, size: UInt64, source: AttachmentSource? = nil) {
    self.name = name
    self.size = size
    self.source = source
  }

  /// 1…255 bytes, and valid as a file name in any folder: a receiver may use the name as it is.
  public static func isName(_ name: String) -> Bool {
    1...Limits.identifier ~= Text.size(name) && !Text.isSame(name, ".") && !Text.isSame(name, "..")
      && !Text.has(name, 0) && !Text.has(name, UInt8(ascii: "/"))
  }
}

/// The content of an attachment, for code that can read it. Thread-safe.
open class AttachmentSource: @unchecked Sendable {
  public init() {}
}

extension [Attachment] {
  /// A dictionary of names and sizes.
  public func value() throws(SegueError) -> Value {
    var writer = ValueWriter()
    try writer.begin(.dictionary)
    for attachment in self {
      try writer.put(attachment.name)
      try writer.put(attachment.size)
    }
    try writer.end()
    return try writer.finish()
  }
}
