// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The objects of a text that have one entry. The number of entries is known only at the end of an object, but its
/// meaning depends on that number from the beginning. One pass finds out for all objects, so that nested ones are not
/// read once for each level.
struct SingleEntryObjects {
  /// A bit for each object, in the order of their braces: set if it has more than one entry.
  private var severals: [UInt8]
  /// The number of the object that was asked for last.
  private var current = -1

  /// Deeper text is refused: a dictionary with keys of any kind takes three levels of brackets.
  private static let deepest = 3 * Limits.nesting + 8

  /// Looks at the objects behind the scanner, whose text may be malformed: what is said of it then means nothing.
  init(_ scanner: inout JSONScanner) {
    let start = scanner.offset
    severals = [UInt8](repeating: 0, count: scanner.remaining / 16 + 1)
    var count = 0
    // The number of each open object; -1 for an array.
    var open: [Int] = []
    while !scanner.isAtEnd, open.count <= Self.deepest {
      switch scanner.next {
      case UInt8(ascii: "\""):
        scanner.skipString()
        continue
      case UInt8(ascii: "{"):
        open.append(count)
        count += 1
      case UInt8(ascii: "["): open.append(-1)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
      case UInt8(ascii: ","):
        if let object = open.last, object >= 0, object / 8 < severals.count {
          severals[object / 8] |= 1 << UInt8(object & 7)
        }
      default: break
      }
      scanner.offset += 1
    }
    scanner.offset = start
  }

  /// Passes the next object.
  mutating func pass() { current += 1 }

  /// Whether the object that was passed last has one entry.
  var isSingle: Bool {
    current >= 0 && current / 8 < severals.count && severals[current / 8] >> UInt8(current & 7) & 1 == 0
  }
}
