// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Names that other people or devices chose, made fit to be shown: what could make one name look like another, or like
/// words of the program, is left out.
public enum DisplayName {
  /// Removes control characters, changes of direction, characters without width, and blanks at the ends; makes each run
  /// of blanks one; cuts at 64 characters (Unicode scalars). A name of which nothing is left becomes "unnamed".
  public static func clean(_ name: String) -> String {
    let cleaned = shown(name)
    return cleaned.utf8.isEmpty ? "unnamed" : cleaned
  }

  /// Whether nothing of a name can be shown.
  static func isBlank(_ name: String) -> Bool { shown(name).utf8.isEmpty }

  /// Checks a name that a user gives. Throws INVALID_ARGUMENT, LIMIT_EXCEEDED.
  /// - Parameter what: is named, for the message.
  public static func check(_ name: String, _ what: String) throws(SegueError) {
    try Text.check(name, what, atMost: Limits.identifier)
    guard !isBlank(name) else {
      throw SegueError(.invalidArgument, "\(what): is blank: it has no character that can be seen")
    }
  }

  private static func shown(_ name: String) -> String {
    var scalars: [Unicode.Scalar] = []
    var isBlankDue = false
    var marks = 0
    for scalar in String(decoding: Text.oneLine(name), as: UTF8.self).unicodeScalars {
      if isBlank(scalar.value) {
        isBlankDue = !scalars.isEmpty
        continue
      }
      if isHidden(scalar.value) { continue }
      // A stack of accents would cover the lines above.
      marks = isMark(scalar.value) ? marks + 1 : 0
      if marks > 2 || (marks > 0 && scalars.isEmpty) { continue }
      guard scalars.count + (isBlankDue ? 2 : 1) <= Limits.deviceName else { break }
      if isBlankDue { scalars.append(" ") }
      isBlankDue = false
      scalars.append(scalar)
    }
    var cleaned = ""
    for scalar in scalars { cleaned.unicodeScalars.append(scalar) }
    return cleaned
  }

  /// Blanks of all widths.
  private static func isBlank(_ value: UInt32) -> Bool {
    switch value {
    case 0x20, 0xa0, 0x1680, 0x2000...0x200a, 0x202f, 0x205f, 0x2800, 0x3000, 0x3164, 0x115f, 0x1160, 0xffa0: true
    case 0x13441, 0x13442, 0x16fe4, 0x1d159: true
    default: false
    }
  }

  /// Characters that are not seen, or change those beside them: soft hyphen, joiners, variation selectors, tags,
  /// invisible operators, changes of direction, byte order marks, private use, noncharacters.
  private static func isHidden(_ value: UInt32) -> Bool {
    switch value {
    case 0xad, 0x34f, 0x61c, 0x17b4, 0x17b5, 0x180b...0x180f, 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x206f: true
    case 0xe000...0xf8ff, 0xfe00...0xfe0f, 0xfeff, 0xfff0...0xfffb, 0xfffe, 0xffff: true
    case 0x1d173...0x1d17a, 0xe0000...0xe0fff, 0xf0000...0x10ffff: true
    default: false
    }
  }

  private static func isMark(_ value: UInt32) -> Bool {
    switch value {
    case 0x300...0x36f, 0x483...0x489, 0x1ab0...0x1aff, 0x1dc0...0x1dff, 0x20d0...0x20ff, 0xfe20...0xfe2f: true
    default: false
    }
  }

  /// Whether two names look the same to a reader who does not look closely: neither case, nor blanks, nor marks count,
  /// nor which of Latin, Greek and Cyrillic a letter is of that looks the same in each. Letters of other scripts count
  /// as they are.
  public static func isAlike(_ left: String, _ right: String) -> Bool { looks(left).elementsEqual(looks(right)) }

  /// The Latin letters, small ones, that those from U+00C0, U+03AC and U+0430 on look like; "-" for none.
  private static let latin: StaticString = """
    aaaaaaaceeeelllldnoooooxouuuuypsaaaaaaaceeeelllldnooooo-ouuuuypyaaaaaaccccccccddddeeeeeeeeeegggg\
    gggghhhhlllllllllllljjkkkllllllllllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs
    """
  private static let greek: StaticString = "aehlyaby-ezh-lk-mn-o-p-oty-x--lyoy-"
  private static let cyrillic: StaticString = "a6b--e-3--k-mho-pcty-x------b---ee---sllj--hk-y-"

  private static func looks(_ name: String) -> [UInt32] {
    let (latin, greek, cyrillic) = (latin.bytes, greek.bytes, cyrillic.bytes)
    func letter(_ table: [UInt8], _ index: UInt32, or value: UInt32) -> UInt32 {
      let letter = table[Int(index)]
      return letter == UInt8(ascii: "-") ? value : UInt32(letter)
    }
    var looks: [UInt32] = []
    for scalar in name.unicodeScalars where !isMark(scalar.value) {
      // Wide forms of ASCII.
      let value = scalar.value >= 0xff01 && scalar.value <= 0xff5e ? scalar.value - 0xfee0 : scalar.value
      switch value {
      case 0x20, 0x2d, 0x2e, 0x5f: break
      case 0x30: looks.append(0x6f)
      case 0x31, 0x49, 0x69, 0x7c: looks.append(0x6c)
      case 0x41...0x5a: looks.append(value | 0x20)
      case 0xc0...0x17f: looks.append(letter(latin, value - 0xc0, or: value))
      case 0x386: looks.append(0x61)
      case 0x388: looks.append(0x65)
      case 0x389: looks.append(0x68)
      case 0x38a: looks.append(0x6c)
      case 0x38c: looks.append(0x6f)
      case 0x38e: looks.append(0x79)
      case 0x391...0x3ab: looks.append(letter(greek, value + 0x20 - 0x3ac, or: value + 0x20))
      case 0x3ac...0x3ce: looks.append(letter(greek, value - 0x3ac, or: value))
      case 0x400...0x40f: looks.append(letter(cyrillic, value + 0x50 - 0x430, or: value + 0x50))
      case 0x410...0x42f: looks.append(letter(cyrillic, value + 0x20 - 0x430, or: value + 0x20))
      case 0x430...0x45f: looks.append(letter(cyrillic, value - 0x430, or: value))
      default: looks.append(value)
      }
    }
    return looks
  }
}
