// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Encodes a value as JSON text.
final class JSONEncoder {
  /// An open container of the value.
  private struct Container {
    /// `undecided` until the first key of a dictionary is known.
    enum Form { case undecided, array, object, set, pairs }
    var form = Form.array
    /// Whether it has one entry.
    var isSingle = false
    /// Elements, or keys and values, that were begun: not more than a value has bytes.
    var items: UInt32 = 0
    /// The offset of the bytes of the current key of an object in the encoding, and their number.
    var key: UInt32 = 0
    var keyCount: UInt32 = 0
  }

  private let value: Value
  private let mode: JSONMode
  private var reader: ValueReader
  private let text: JSONText
  /// Outermost first.
  private var open = InlineArray<66, Container>(repeating: Container())
  private var depth = 0
  /// The dictionaries that are objects; nil: those whose first key is a string.
  private let objects: StringKeyedDictionaries?
  /// The dictionaries that were begun.
  private var dictionaries = 0

  private init(_ value: Value, _ mode: JSONMode, objects: StringKeyedDictionaries? = nil) {
    self.value = value
    self.mode = mode
    self.objects = objects
    reader = ValueReader(value)
    text = JSONText(room: 2 * value.encoding.count + 64)
  }

  /// Throws UNSUPPORTED_VALUE, with the path, for what the mode has no text for; LIMIT_EXCEEDED.
  static func text(of value: Value, _ mode: JSONMode) throws(SegueError) -> JSONText {
    var encoder = JSONEncoder(value, mode)
    var isDone = try encoder.encode()
    if !isDone {
      encoder = JSONEncoder(value, mode, objects: StringKeyedDictionaries(value))
      isDone = try encoder.encode()
    }
    guard isDone, !encoder.text.isTooLong else {
      throw SegueError(.limitExceeded, "value: its JSON text is longer than \(Limits.json) bytes")
    }
    return encoder.text
  }

  /// Returns false if a dictionary that was taken for an object has a key that is not a string.
  private func encode() throws(SegueError) -> Bool {
    while let item = reader.next() {
      guard let kind = item.kind else {
        leave()
        continue
      }
      guard depth > 0 else {
        try put(kind, item)
        continue
      }
      if open[depth &- 1].form == .undecided { decide(kind) }
      let container = open[depth &- 1]
      let isKey = container.form == .object && container.items & 1 == 0
      if isKey, kind != .string, mode.isTagged { return false }
      if text.isTooLong { return true }
      separate(container)
      open[depth &- 1].items &+= 1
      if isKey { try putKey(kind) } else { try put(kind, item) }
    }
    return true
  }

  // MARK: - Containers

  private func enter(_ form: Container.Form, isSingle: Bool = false) {
    // Invariant: no value is deeper than `ValueBounds.deepest`.
    open[depth] = Container(form: form, isSingle: isSingle)
    depth &+= 1
    switch form {
    case .array: text.put(UInt8(ascii: "["))
    case .object: text.put(UInt8(ascii: "{"))
    case .set: text.put("{\"$set\":[")
    case .pairs: text.put("{\"$dict\":[")
    case .undecided: break
    }
  }

  private func enterDictionary(_ count: Int) {
    let number = dictionaries
    dictionaries &+= 1
    var form = Container.Form.object
    if mode.isTagged { form = objects.map { $0.contains(number) ? .object : .pairs } ?? .undecided }
    enter(form, isSingle: count == 1)
  }

  /// Decides by the first key of a dictionary what it is.
  private func decide(_ key: Kind) {
    depth &-= 1
    enter(key == .string ? .object : .pairs, isSingle: open[depth].isSingle)
  }

  /// Puts what stands before an item.
  private func separate(_ container: Container) {
    let isSecond = container.items & 1 == 1
    switch container.form {
    case .object where isSecond: return text.put(mode == .forPeople ? ": " : ":")
    case .pairs: return text.put(isSecond ? "," : container.items == 0 ? "[" : "],[")
    default: if container.items > 0 { text.put(UInt8(ascii: ",")) }
    }
    if mode == .forPeople { breakLine() }
  }

  private func breakLine() {
    text.put(UInt8(ascii: "\n"))
    text.indent(2 * depth)
  }

  private func leave() {
    depth &-= 1
    let container = open[depth]
    if mode == .forPeople, container.items > 0 { breakLine() }
    switch container.form {
    case .array: text.put(UInt8(ascii: "]"))
    case .object: text.put(UInt8(ascii: "}"))
    case .set: text.put("]}")
    case .pairs: text.put(container.items > 0 ? "]]}" : "]}")
    case .undecided: text.put("{}")
    }
  }

  // MARK: - Items

  /// Puts the current item as a key of an object.
  private func putKey(_ kind: Kind) throws(SegueError) {
    if kind == .string {
      // One more mark keeps an ordinary key from being a tag.
      open[depth &- 1].key = UInt32(truncatingIfNeeded: reader.contentRange.lowerBound)
      open[depth &- 1].keyCount = UInt32(truncatingIfNeeded: reader.contentRange.count)
      let isLikeTag = mode.isTagged && open[depth &- 1].isSingle && startsWithMark
      return putString(prefix: isLikeTag ? "$" : "")
    }
    guard mode == .forPeople else { throw refuse("JSON has only strings as keys, not \(kind.name)") }
    try Memory.check(reader.itemSizeAtMost, copies: 8)
    let key = reader.take() ?? .null
    Text.withBytes(key.diagnostic) { text.put(string: $0) }
  }

  private var startsWithMark: Bool { reader.withContent { $0.first == JSONTag.mark } ?? false }

  /// Puts the current string or URL.
  private func putString(prefix: StaticString = "") {
    reader.withContent { text.put(string: $0, prefix: prefix) }
  }

  private func put(_ kind: Kind, _ item: ValueReader.Item) throws(SegueError) {
    switch kind {
    case .null: text.put("null")
    case .bool: text.put(item.bool ? "true" : "false")
    case .integer: put(item)
    case .double where item.double.isFinite: text.put(item.double)
    case .string: putString()
    case .array: enter(.array)
    case .dictionary: enterDictionary(item.count)
    case .double, .data, .date, .url, .uuid, .set: try putExtra(kind, item)
    }
  }

  private func put(_ item: ValueReader.Item) {
    let magnitude = item.isNegative ? item.int64.magnitude : item.uint64
    let isTagged = mode == .taggedIntegers && magnitude > 1 << 53
    if isTagged { begin(.integer) }
    if item.isNegative { text.put(item.int64) } else { text.put(item.uint64) }
    if isTagged { text.put("\"}") }
  }

  /// Puts what JSON lacks.
  private func putExtra(_ kind: Kind, _ item: ValueReader.Item) throws(SegueError) {
    switch mode {
    case .plain:
      throw refuse(
        kind == .double ? "JSON has no number \(JSONTag.name(item.double))" : "JSON has no form of \(kind.name)")
    case .tagged, .taggedIntegers: putTagged(kind, item)
    case .forPeople: putForPeople(kind, item)
    }
  }

  private func putTagged(_ kind: Kind, _ item: ValueReader.Item) {
    switch kind {
    case .set: return enter(.set)
    case .date:
      text.put("{\"$date\":")
      putSeconds(item.double)
      return text.put(UInt8(ascii: "}"))
    case .data:
      begin(.data)
      reader.withContent { text.put(base64: $0) }
    case .uuid:
      begin(.uuid)
      if let uuid = reader.uuid { text.put(uuid) }
    case .url:
      text.put("{\"$url\":")
      putString()
      return text.put(UInt8(ascii: "}"))
    default:
      begin(.double)
      text.put(JSONTag.name(item.double))
    }
    text.put("\"}")
  }

  /// Puts a tag up to the quotation mark of its string.
  private func begin(_ tag: JSONTag) {
    text.put("{\"")
    text.put(tag.key)
    text.put("\":\"")
  }

  /// An integral date is an integer in the encoding, too.
  private func putSeconds(_ seconds: Double) {
    guard seconds.magnitude <= FloatForm.exactInteger, let integer = Int64(exactly: seconds) else {
      return text.put(seconds)
    }
    text.put(integer)
  }

  private func putForPeople(_ kind: Kind, _ item: ValueReader.Item) {
    switch kind {
    case .set: return enter(.array)
    case .url: return putString()
    case .date:
      guard let date = CalendarDate(item.double) else { return putSeconds(item.double) }
      return text.put(date)
    default: text.put(UInt8(ascii: "\""))
    }
    switch kind {
    case .data: reader.withContent { text.put(base64: $0) }
    case .uuid: if let uuid = reader.uuid { text.put(uuid) }
    default: text.put(JSONTag.name(item.double))
    }
    text.put(UInt8(ascii: "\""))
  }

  // MARK: - Errors

  /// The error for the current item, with its path; for a key, with that of its dictionary.
  @inline(never)
  private func refuse(_ what: DiagnosticText) -> SegueError {
    let path = DiagnosticText.Pieces()
    for level in 0..<depth {
      let container = open[level]
      if container.form == .array {
        JSONPath.append(Int(container.items) - 1, to: path)
      } else if container.items & 1 == 0 {
        value.encoding.withEncoding {
          let key = UnsafeRawBufferPointer(start: $0 + Int(container.key), count: Int(container.keyCount))
          JSONPath.append(key, to: path)
        }
      }
    }
    return SegueError(.unsupportedValue, "value: \(what)\(JSONPath.suffix(path))")
  }
}
