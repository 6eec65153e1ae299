extension Value {
  /// The value in CBOR diagnostic notation (RFC 8949 §8), for people.
  public var diagnostic: String {
    var text = ""
    var reader = ValueReader(self)
    // For each open container: its closing text, whether it is a dictionary, and the number of items so far.
    var open: [(close: String, isDictionary: Bool, count: Int)] = []
    while let item = reader.next() {
      guard let kind = item.kind else {
        text += open.removeLast().close
        continue
      }
      if let container = open.last {
        if container.count > 0 { text += container.isDictionary && container.count & 1 == 1 ? ": " : ", " }
        open[open.count - 1].count += 1
      }
      switch kind {
      case .array:
        text += "["
        open.append(("]", false, 0))
      case .set:
        text += "258(["
        open.append(("])", false, 0))
      case .dictionary:
        text += "{"
        open.append(("}", true, 0))
      default: Self.describe(kind, item, reader, to: &text)
      }
    }
    return text
  }

  private static func describe(
    _ kind: Kind, _ item: ValueReader.Item, _ reader: borrowing ValueReader, to text: inout String
  ) {
    switch kind {
    case .null: text += "null"
    case .bool: text += item.bool ? "true" : "false"
    case .integer: text += item.isNegative ? "\(item.int64)" : "\(item.uint64)"
    case .double: text += describe(item.double)
    case .date:
      // An integral date is an integer in the encoding, too.
      let integer = item.double.magnitude <= FloatForm.exactInteger ? Int64(exactly: item.double) : nil
      text += "1(\(integer.map { "\($0)" } ?? describe(item.double)))"
    case .string: quote(reader, to: &text)
    case .url:
      text += "32("
      quote(reader, to: &text)
      text += ")"
    case .data: hexadecimal(reader, to: &text)
    case .uuid:
      text += "37("
      hexadecimal(reader, to: &text)
      text += ")"
    case .array, .dictionary, .set: break
    }
  }

  /// Always with a point or an exponent, so that it does not look like an integer.
  private static func describe(_ number: Double) -> String {
    if number.isNaN { return "NaN" }
    if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
    return number.description
  }

  private static func quote(_ reader: borrowing ValueReader, to text: inout String) {
    text += "\""
    for scalar in (reader.string ?? "").unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{2028}", "\u{2029}":
        text += "\\u"
        for shift in stride(from: 12, through: 0, by: -4) { text += digit(scalar.value >> UInt32(shift)) }
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }

  private static func hexadecimal(_ reader: borrowing ValueReader, to text: inout String) {
    text += "h'"
    reader.withContent { content in
      for byte in content { text += digit(UInt32(byte) >> 4) + digit(UInt32(byte)) }
    }
    text += "'"
  }

  /// The hexadecimal digit of the lowest four bits.
  private static func digit(_ number: UInt32) -> String {
    let digits: StaticString = "0123456789abcdef"
    return String(UnicodeScalar(digits.utf8Start[Int(number & 15)]))
  }
}
