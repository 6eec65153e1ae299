// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An activity that apps of other teams may continue, too (R13.1).
extension Activity {
  /// The key of `userInfo` for the MIME type of what the activity shows (R13.2).
  static var contentTypeKey: String { "contentType" }

  /// Whether activities of a type are public unless their origin says otherwise.
  public static func isPublicType(_ type: String) -> Bool { PublicTypes.has(type) || isBrowsingWeb(type) }

  public var isPublic: Bool { publicity ?? Self.isPublicType(type) }

  /// The MIME type that its offer carries: for the desktop's default application. Nil: it is not public, or says none.
  public var offeredContentType: String? {
    guard isPublic, let text = userInfo?[Activity.contentTypeKey]?.string, ContentType.isValid(text) else { return nil }
    return text
  }
}

/// A MIME type without parameters: `type/subtype`, of the characters of RFC 6838 §4.2.
public enum ContentType {
  public static func isValid(_ text: String) -> Bool {
    Text.withBytes(text) { bytes in
      guard bytes.count <= Limits.type, let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else { return false }
      return slash > 0 && slash + 1 < bytes.count && bytes.indices.allSatisfy { $0 == slash || isName(bytes[$0]) }
    }
  }

  private static func isName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    // ! # $ & + - . ^ _
    case 0x21, 0x23, 0x24, 0x26, 0x2b, 0x2d, 0x2e, 0x5e, 0x5f: true
    default: false
    }
  }
}
