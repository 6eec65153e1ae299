// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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
