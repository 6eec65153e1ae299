import SegueModel

/// Names that other people or devices chose, made fit to be shown: what could make one name look like another, or like
/// words of the program, is left out.
public enum ShownName {
  /// Removes control characters, changes of direction, characters without width, and blanks at the ends; makes each run
  /// of blanks one; cuts at 64 characters (Unicode scalars). A name of which nothing is left becomes "unnamed".
  public static func clean(_ name: String) -> String {
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
    return cleaned.utf8.isEmpty ? "unnamed" : cleaned
  }

  /// Blanks of all widths.
  private static func isBlank(_ value: UInt32) -> Bool {
    switch value {
    case 0x20, 0xa0, 0x1680, 0x2000...0x200a, 0x202f, 0x205f, 0x2800, 0x3000, 0x3164, 0x115f, 0x1160, 0xffa0: true
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

  /// Whether two names look the same to a reader who does not look closely: case and blanks do not count.
  public static func isAlike(_ left: String, _ right: String) -> Bool {
    func folded(_ name: String) -> [UInt8] {
      var folded: [UInt8] = []
      for byte in name.utf8 where byte != 0x20 && byte != 0x2d && byte != 0x5f && byte != 0x2e {
        folded.append(byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte)
      }
      return folded
    }
    return folded(left) == folded(right)
  }
}
