extension Value {
  /// The value in CBOR diagnostic notation (RFC 8949 §8), for people.
  public var diagnostic: String {
    let text = DiagnosticText.Pieces()
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
