// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Decodes a value from JSON text. Keeps its own stack of open containers, no deeper than a value may be.
struct JSONDecoder: ~Copyable {
  /// An open container of the value.
  private struct Container {
    enum Form { case array, object, set, pairs }
    var form = Form.array
    /// The offset of its first element or key.
    var start = 0
    /// The offset of the current key of an object, -1 if none has been read.
    var key = -1
    /// The elements, or keys and values of pairs, before the current one.
    var index = 0
  }

  private var scanner: JSONScanner
  private var writer = ValueWriter()
  private let isTagged: Bool
  /// Outermost first.
  private var open = InlineArray<64, Container>(repeating: Container())
  private var depth = 0
  /// The tag whose contents are being read.
  private var tag: JSONTag?
  /// Known once an object needs it.
  private var singles: SingleEntryObjects?

  private init(_ text: UnsafeRawBufferPointer, isTagged: Bool) {
    scanner = JSONScanner(text)
    self.isTagged = isTagged
  }

  /// - Parameter mode: not `forPeople`.
  static func value(of text: UnsafeRawBufferPointer, _ mode: JSONMode) throws(SegueError) -> Value {
    guard text.count <= Limits.json else {
      throw SegueError(.limitExceeded, "\(text.count) bytes are more than the \(Limits.json) that JSON text may have")
    }
    var decoder = JSONDecoder(text, isTagged: mode.isTagged)
    // A value is mostly shorter than its text.
    decoder.writer.reserve(min(text.count, Limits.value))
    do throws(SegueError) {
      try decoder.decode()
      return try decoder.writer.finish()
    } catch {
      throw decoder.located(error)
    }
  }

  private mutating func decode() throws(SegueError) {
    while true {
      if try begins() { continue }
      repeat {
        if depth == 0 {
          guard scanner.nextToken() == 0, scanner.isAtEnd else { throw scanner.fail("something follows the value") }
          return
        }
      } while try !advances()
    }
  }

  // MARK: - Values

  /// Reads a value, or the beginning of one; returns whether its first element or entry comes next.
  private mutating func begins() throws(SegueError) -> Bool {
    switch scanner.nextToken() {
    case UInt8(ascii: "\""): try writer.put(validUTF8: try scanner.string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    case UInt8(ascii: "["):
      try writer.begin(.array)
      scanner.offset &+= 1
      return try enters(.array)
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "t"):
      try scanner.expect(word: "true")
      try writer.put(true)
    case UInt8(ascii: "f"):
      try scanner.expect(word: "false")
      try writer.put(false)
    case UInt8(ascii: "n"):
      try scanner.expect(word: "null")
      try writer.putNull()
    default: throw scanner.fail("a value is expected")
    }
    return false
  }

  private mutating func number() throws(SegueError) {
    switch try scanner.number() {
    case .unsigned(let number): try writer.put(number)
    case .negative(let number): try writer.put(number)
    case .double(let number): try writer.put(number)
    }
  }

  /// Enters a container behind its bracket, whose head is written; returns false if it is empty, and then leaves it.
  private mutating func enters(_ form: Container.Form) throws(SegueError) -> Bool {
    let isEmpty = scanner.nextToken() == (form == .object ? UInt8(ascii: "}") : UInt8(ascii: "]"))
    // Invariant: the writer has as many open containers, and refuses the one that would be too deep.
    open[depth] = Container(form: form, start: scanner.offset)
    depth &+= 1
    if isEmpty {
      try leave()
    } else if form == .pairs {
      try scanner.expect(UInt8(ascii: "["), "a pair of key and value is expected")
    }
    return !isEmpty
  }

  /// Moves from the end of a value to the next one in the innermost container; returns false if the container ends
  /// instead, which is then left.
  private mutating func advances() throws(SegueError) -> Bool {
    let last = depth &- 1
    switch open[last].form {
    case .object:
      if scanner.take(UInt8(ascii: ",")) {
        open[last].key = -1
        guard scanner.nextToken() == UInt8(ascii: "\"") else { throw scanner.fail("a key is expected") }
        try key()
        return true
      }
      guard scanner.nextToken() == UInt8(ascii: "}") else { throw scanner.fail("a comma or } is expected") }
    case .array, .set:
      if scanner.take(UInt8(ascii: ",")) {
        open[last].index &+= 1
        return true
      }
      guard scanner.nextToken() == UInt8(ascii: "]") else { throw scanner.fail("a comma or ] is expected") }
    case .pairs:
      open[last].index &+= 1
      if open[last].index & 1 == 1 {
        try scanner.expect(UInt8(ascii: ","), "a comma and the value of the key are expected")
        return true
      }
      try scanner.expect(UInt8(ascii: "]"), "the end of the pair is expected")
      if scanner.take(UInt8(ascii: ",")) {
        try scanner.expect(UInt8(ascii: "["), "a pair of key and value is expected")
        return true
      }
      guard scanner.nextToken() == UInt8(ascii: "]") else { throw scanner.fail("a comma or ] is expected") }
    }
    try leave()
    return false
  }

  /// Leaves the innermost container at its bracket or brace.
  private mutating func leave() throws(SegueError) {
    try writer.end()
    scanner.offset &+= 1
    let form = open[depth &- 1].form
    depth &-= 1
    if form == .set || form == .pairs { try scanner.expect(UInt8(ascii: "}"), "the end of a tagged value is expected") }
  }

  // MARK: - Objects

  /// Reads the key whose quotation mark comes next, and the colon.
  private mutating func key() throws(SegueError) {
    let start = scanner.offset
    try writer.put(validUTF8: try scanner.string())
    open[depth &- 1].key = start
    try scanner.expect(UInt8(ascii: ":"), "a colon is expected")
  }

  /// Reads the beginning of an object, or all of one that stands for a value without elements.
  private mutating func object() throws(SegueError) -> Bool {
    let brace = scanner.offset
    singles?.pass()
    scanner.offset &+= 1
    if isTagged, scanner.nextToken() == UInt8(ascii: "\"") {
      let start = scanner.offset
      let name = try scanner.string()
      if name.first == JSONTag.mark {
        let isEscape = name.count > 1 && name[1] == JSONTag.mark
        let tag = isEscape ? nil : JSONTag(name)
        try scanner.expect(UInt8(ascii: ":"), "a colon is expected")
        if isOnlyEntry(brace) {
          if isEscape { return try escapedKey(start) }
          guard let tag else {
            throw scanner.fail("an object with one entry, whose key is no known tag", at: start)
          }
          return try tagged(tag)
        }
      }
      scanner.offset = start
    }
    try writer.begin(.dictionary)
    guard try enters(.object) else { return false }
    guard scanner.nextToken() == UInt8(ascii: "\"") else { throw scanner.fail("a key is expected") }
    try key()
    return true
  }

  /// Enters an object with one entry whose key begins with `$$`, and is what follows the first of them.
  private mutating func escapedKey(_ start: Int) throws(SegueError) -> Bool {
    try writer.begin(.dictionary)
    scanner.offset = start
    _ = try enters(.object)
    let name = try scanner.string()
    try writer.put(validUTF8: UnsafeRawBufferPointer(rebasing: name[1...]))
    open[depth &- 1].key = start
    try scanner.expect(UInt8(ascii: ":"), "a colon is expected")
    return true
  }

  /// Whether the object that begins at `brace` ends behind the value that comes next.
  private mutating func isOnlyEntry(_ brace: Int) -> Bool {
    let start = scanner.offset
    let first = scanner.nextToken()
    guard first == UInt8(ascii: "[") || first == UInt8(ascii: "{") else {
      scanner.skipValue()
      defer { scanner.offset = start }
      return scanner.nextToken() != UInt8(ascii: ",")
    }
    if singles == nil {
      scanner.offset = brace
      singles = SingleEntryObjects(&scanner)
      singles?.pass()
      scanner.offset = start
    }
    return singles?.isSingle ?? true
  }

  // MARK: - Tagged values

  /// Reads what stands behind the key of a tag, and the end of the object; returns true at the first element of a set
  /// or a dictionary.
  private mutating func tagged(_ tag: JSONTag) throws(SegueError) -> Bool {
    self.tag = tag
    let first = scanner.nextToken()
    if tag == .set || tag == .dictionary {
      guard first == UInt8(ascii: "[") else { throw scanner.fail("an array is expected") }
      try writer.begin(tag == .set ? .set : .dictionary)
      scanner.offset &+= 1
      self.tag = nil
      return try enters(tag == .set ? .set : .pairs)
    }
    let start = scanner.offset
    if tag == .date {
      guard first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") <= 9 else {
        throw scanner.fail("a number of seconds is expected")
      }
      guard let seconds = try seconds() else {
        throw scanner.fail("a number of seconds that is no double", at: start, .unsupportedValue)
      }
      try writer.putDate(seconds)
    } else {
      guard first == UInt8(ascii: "\"") else { throw scanner.fail("a string is expected") }
      try put(tag, try scanner.string(), start)
    }
    try scanner.expect(UInt8(ascii: "}"), "the end of a tagged value is expected")
    self.tag = nil
    return false
  }

  private mutating func seconds() throws(SegueError) -> Double? {
    switch try scanner.number() {
    case .unsigned(let number): Double(exactly: number)
    case .negative(let number): Double(exactly: number)
    case .double(let number): number
    }
  }

  private mutating func put(_ tag: JSONTag, _ text: UnsafeRawBufferPointer, _ start: Int) throws(SegueError) {
    switch tag {
    case .data:
      // The text may be in this memory itself: its bytes are read before theirs are written.
      let memory = scanner.memory(text.count)
      guard let count = Base64.decode(text, to: memory) else { throw scanner.fail("no canonical base64", at: start) }
      try writer.put(data: UnsafeRawBufferPointer(start: memory, count: count))
    case .url:
      guard AbsoluteURL.schemeCount(text) != nil else { throw scanner.fail("no absolute URL (RFC 3986)", at: start) }
      try writer.put(url: text)
    case .uuid:
      guard let uuid = Identifier(hexadecimal: text) else { throw scanner.fail("no UUID (RFC 9562)", at: start) }
      try writer.put(uuid)
    case .double:
      guard let number = JSONTag.double(text) else {
        throw scanner.fail("neither NaN, Infinity nor -Infinity", at: start)
      }
      try writer.put(number)
    default: try integer(text, start)
    }
  }

  private mutating func integer(_ text: UnsafeRawBufferPointer, _ start: Int) throws(SegueError) {
    // A scanner of the digits alone sees whether they are an integer.
    var digits = JSONScanner(text)
    let isNumber = digits.next == UInt8(ascii: "-") || digits.next &- UInt8(ascii: "0") <= 9
    let number: JSONScanner.Number
    do throws(SegueError) {
      guard isNumber else { throw digits.fail("no integer") }
      number = try digits.number()
    } catch {
      throw scanner.fail("no integer of 64 bits", at: start, error.status)
    }
    guard digits.isAtEnd else { throw scanner.fail("no integer of 64 bits", at: start) }
    switch number {
    case .unsigned(let number): try writer.put(number)
    case .negative(let number): try writer.put(number)
    case .double: throw scanner.fail("no integer of 64 bits", at: start)
    }
  }

  // MARK: - Errors

  /// The same error, with the offset and the path (RFC 6901) of what it is about.
  @inline(never)
  private mutating func located(_ error: SegueError) -> SegueError {
    var offset = scanner.fault ?? scanner.offset
    if scanner.fault == nil, let twice = writer.duplicate, depth > 0 { offset = moveToEntry(twice) }
    let path = DiagnosticText.Pieces()
    for level in 0..<depth { describe(open[level], to: path) }
    if let tag {
      path.appendLiteral("/")
      path.appendInterpolation(tag.key)
    }
    return SegueError(
      error.status == .invalidArgument ? .malformed : error.status,
      "json: \(error.message), at offset \(offset)\(JSONPath.suffix(path))")
  }

  /// Moves to an entry or element of the innermost container, which has been read; returns its offset.
  private mutating func moveToEntry(_ number: Int) -> Int {
    let last = depth - 1
    scanner.offset = open[last].start
    for _ in 0..<number {
      scanner.skipValue()
      if open[last].form == .object {
        scanner.offset += 1
        scanner.skipValue()
      }
      _ = scanner.take(UInt8(ascii: ","))
    }
    _ = scanner.nextToken()
    open[last].key = scanner.offset
    open[last].index = open[last].form == .pairs ? 2 * number : number
    return scanner.offset
  }

  private mutating func describe(_ container: Container, to path: DiagnosticText.Pieces) {
    switch container.form {
    case .object:
      guard container.key >= 0 else { return }
      scanner.offset = container.key
      guard let key = try? scanner.string() else { return }
      JSONPath.append(key, to: path)
    case .array: JSONPath.append(container.index, to: path)
    case .set:
      path.appendLiteral("/$set")
      JSONPath.append(container.index, to: path)
    case .pairs:
      path.appendLiteral("/$dict")
      JSONPath.append(container.index / 2, to: path)
      JSONPath.append(container.index % 2, to: path)
    }
  }
}
