/// Something of any size that goes with an activity (R7.6).
public struct Attachment: Sendable {
  public let name: String
  /// In bytes.
  public let size: UInt64
  /// Where the bytes are; nil: at the app where the activity comes from.
  public let source: AttachmentSource?

  public init(name: String, size: UInt64, source: AttachmentSource? = nil) {
    self.name = name
    self.size = size
    self.source = source
  }

  /// 1…255 bytes, and a name that a file can have in any folder: whoever fetches it may take the name as it is.
  public static func isName(_ name: String) -> Bool {
    1...Limits.identifier ~= name.utf8.count && !Text.isSame(name, ".") && !Text.isSame(name, "..")
      && !Text.has(name, 0) && !Text.has(name, UInt8(ascii: "/"))
  }
}

/// What is attached, for those who can read it. Safe for all threads.
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
