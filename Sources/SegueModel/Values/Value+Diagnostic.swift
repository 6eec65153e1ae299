// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

extension Value {
  /// The value in CBOR diagnostic notation (RFC 8949 §8), for people.
  public var diagnostic: String {
    let text = DiagnosticText.Pieces()
    // A large text that grows by doubling would need three times its memory.
    let size = diagnosticSize
    if size >= Memory.largeSize { text.reserve(size) }
    var reader = ValueReader(self)
    // For each open container: its closing text, whether it is a dictionary, and the number of items so far.
    var open: [(close: StaticString, isDictionary: Bool, count: Int)] = []
    while let item = reader.next() {
      guard let kind = item.kind else {
        text.appendInterpolation(open.removeLast().close)
        continue
      }
      if let container = open.last {
        if container.count > 0 { text.appendLiteral(container.isDictionary && container.count & 1 == 1 ? ": " : ", ") }
        open[open.count - 1].count += 1
      }
      switch kind {
      case .array:
        text.appendLiteral("[")
        open.append(("]", false, 0))
      case .set:
        text.appendLiteral("258([")
        open.append(("])", false, 0))
      case .dictionary:
        text.appendLiteral("{")
        open.append(("}", true, 0))
      default: Self.describe(kind, item, reader, to: text)
      }
    }
    return DiagnosticText(stringInterpolation: text).string
  }

  /// The same for an error: a large value is not written out.
  public var briefDiagnostic: String {
    encoding.count <= Limits.title ? diagnostic : String(joining: "of \(encoding.count) bytes")
  }

  /// No fewer bytes than the text has.
  public var diagnosticSize: Int {
    var reader = ValueReader(self)
    var size = 0
    while let item = reader.next() {
      // The end of a container was counted when it began; each item has a separator.
      guard let kind = item.kind else { continue }
      size += 2
      switch kind {
      case .null, .bool: size += 5
      case .integer: size += item.isNegative ? Self.digits(item.int64.magnitude) + 1 : Self.digits(item.uint64)
      case .double, .date: size += longestNumber
      case .string, .url: size += 6 + Self.quotedSize(reader)
      case .data: size += 3 + 2 * item.count
      case .uuid: size += 7 + 2 * Identifier.size
      case .array, .set, .dictionary: size += 7
      }
    }
    return size
  }

  /// The bytes of a double, with a tag around it.
  private var longestNumber: Int { 32 }

  private static func digits(_ number: UInt64) -> Int {
    var (left, count) = (number, 1)
    while left >= 10 {
      left /= 10
      count += 1
    }
    return count
  }

  /// The bytes of a quoted text. A byte that may be escaped counts as if it were.
  private static func quotedSize(_ reader: borrowing ValueReader) -> Int {
    var size = 0
    reader.withContent { content in
      for byte in content {
        switch byte {
        case ..<0x20, 0x22, 0x5C, 0x7F, 0xC2, 0xE2: size += 6
        default: size += 1
        }
      }
    }
    return size
  }

  private static func describe(
    _ kind: Kind, _ item: ValueReader.Item, _ reader: borrowing ValueReader, to text: DiagnosticText.Pieces
  ) {
    switch kind {
    case .null: text.appendLiteral("null")
    case .bool: text.appendInterpolation(item.bool ? "true" : "false" as StaticString)
    case .integer:
      if item.isNegative { text.appendInterpolation(item.int64) } else { text.appendInterpolation(item.uint64) }
    case .double: text.appendInterpolation(describe(item.double))
    case .date:
      // An integral date is an integer in the encoding, too.
      let integer = item.double.magnitude <= FloatForm.exactInteger ? Int64(exactly: item.double) : nil
      text.appendLiteral("1(")
      if let integer { text.appendInterpolation(integer) } else { text.appendInterpolation(describe(item.double)) }
      text.appendLiteral(")")
    case .string: quote(reader, to: text)
    case .url:
      text.appendLiteral("32(")
      quote(reader, to: text)
      text.appendLiteral(")")
    case .data: hexadecimal(reader, to: text)
    case .uuid:
      text.appendLiteral("37(")
      hexadecimal(reader, to: text)
      text.appendLiteral(")")
    case .array, .dictionary, .set: break
    }
  }

  /// Always with a point or an exponent, so that it does not look like an integer.
  private static func describe(_ number: Double) -> String {
    if number.isNaN { return "NaN" }
    if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
    return number.description
  }

  private static func quote(_ reader: borrowing ValueReader, to text: DiagnosticText.Pieces) {
    text.appendLiteral("\"")
    for scalar in (reader.string ?? "").unicodeScalars {
      switch scalar {
      case "\"": text.appendLiteral("\\\"")
      case "\\": text.appendLiteral("\\\\")
      case "\n": text.appendLiteral("\\n")
      case "\r": text.appendLiteral("\\r")
      case "\t": text.appendLiteral("\\t")
      case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{2028}", "\u{2029}":
        text.appendLiteral("\\u")
        for shift in stride(from: 12, through: 0, by: -4) { put(digit: scalar.value >> UInt32(shift), to: text) }
      default: text.appendInterpolation(String(scalar))
      }
    }
    text.appendLiteral("\"")
  }

  private static func hexadecimal(_ reader: borrowing ValueReader, to text: DiagnosticText.Pieces) {
    text.appendLiteral("h'")
    reader.withContent { content in
      for byte in content {
        put(digit: UInt32(byte) >> 4, to: text)
        put(digit: UInt32(byte), to: text)
      }
    }
    text.appendLiteral("'")
  }

  /// Puts the hexadecimal digit of the lowest four bits.
  private static func put(digit number: UInt32, to text: DiagnosticText.Pieces) {
    let digits: StaticString = "0123456789abcdef"
    text.appendInterpolation(String(UnicodeScalar(digits.utf8Start[Int(number & 15)])))
  }
}
