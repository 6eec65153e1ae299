// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The slow path of decoding: reads any well-formed CBOR item and writes it again in its deterministic encoding, or
/// reports what is wrong at which offset. It gets the rare cases from `CanonicalCopy`: indefinite lengths, and errors.
/// It compares each count or length with the available bytes before it uses it. It also gets each value that has
/// travelled and has references, and writes URLs in place of these.
struct Normaliser {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  private var writer: ValueWriter
  /// Nil if references are refused, as in every value.
  private let references: ReferenceReader?

  private init(_ bytes: UnsafeRawBufferPointer, _ bounds: ValueBounds, _ references: ReferenceReader?) {
    self.bytes = bytes
    self.references = references
    writer = ValueWriter(bounds)
    writer.reserve(bytes.count)
  }

  static func encoding(of cbor: [UInt8]) throws(SegueError) -> [UInt8] {
    let result = cbor.withUnsafeBytes { bytes -> Result<[UInt8], SegueError> in
      do throws(SegueError) { return .success(try encoding(of: bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  static func encoding(
    of cbor: UnsafeRawBufferPointer, _ bounds: ValueBounds = .value, _ references: ReferenceReader? = nil
  ) throws(SegueError) -> [UInt8] {
    guard cbor.count <= bounds.size else {
      throw SegueError(.limitExceeded, "\(cbor.count) bytes are more than the \(bounds.size) that a value may have")
    }
    var normaliser = Normaliser(cbor, bounds, references)
    try normaliser.item()
    guard normaliser.offset == cbor.count else {
      throw SegueError(.malformed, "bytes follow the value at offset \(normaliser.offset)")
    }
    return try normaliser.writer.finish().encoding
  }

  /// A head of any form; `isIndefinite` if its length is indefinite, or it is the break that ends such an item.
  private struct AnyHead {
    let start: Int
    let initial: UInt8
    let argument: UInt64
    let isIndefinite: Bool

    var major: UInt8 { initial >> 5 }
    var isBreak: Bool { initial == Head.Simple.end }
  }

  private mutating func head() throws(SegueError) -> AnyHead {
    let start = offset
    guard start < bytes.count else { throw truncated(start) }
    let initial = bytes[start]
    let information = initial & 31
    offset += 1
    switch information {
    case 0..<24: return AnyHead(start: start, initial: initial, argument: UInt64(information), isIndefinite: false)
    case 24...27:
      let size = 1 << Int(information - 24)
      guard bytes.count - offset >= size else { throw truncated(start) }
      var argument: UInt64 = 0
      for index in offset..<offset + size { argument = argument << 8 | UInt64(bytes[index]) }
      offset += size
      return AnyHead(start: start, initial: initial, argument: argument, isIndefinite: false)
    case 31 where (Head.Major.data...Head.Major.map).contains(initial >> 5) || initial == Head.Simple.end:
      return AnyHead(start: start, initial: initial, argument: 0, isIndefinite: true)
    default: throw SegueError(.malformed, "a reserved head (\(initial)) at offset \(start)")
    }
  }

  /// Recursive, but never deeper than `ValueBounds.deepest`: `begin` refuses that.
  private mutating func item() throws(SegueError) { try item(try head()) }

  private mutating func item(_ head: AnyHead) throws(SegueError) {
    switch head.major {
    case Head.Major.unsigned: try writer.put(head.argument)
    case Head.Major.negative: try writer.put(try integer(head))
    case Head.Major.data:
      if head.isIndefinite {
        try writer.put(data: try chunks(head))
      } else {
        try writer.put(data: try content(head))
      }
    case Head.Major.text: try text(head)
    case Head.Major.array: try container(.array, head)
    case Head.Major.map: try container(.dictionary, head)
    case Head.Major.tag: try tagged(head)
    default: try simple(head)
    }
  }

  private func integer(_ head: AnyHead) throws(SegueError) -> Int64 {
    guard let argument = Int64(exactly: head.argument) else {
      throw SegueError(.unsupportedValue, "an integer below -2^63 at offset \(head.start)")
    }
    return ~argument
  }

  private mutating func simple(_ head: AnyHead) throws(SegueError) {
    switch head.initial {
    case Head.Simple.no: try writer.put(false)
    case Head.Simple.yes: try writer.put(true)
    case Head.Simple.null: try writer.putNull()
    case Head.Simple.half...Head.Simple.double: try writer.put(number(head))
    case Head.Simple.end: throw SegueError(.malformed, "a break outside of an indefinite item at offset \(head.start)")
    // RFC 7049 allowed 24...31 here (its appendix A has one): readable, but a value cannot hold it.
    case 0xf8 where head.argument < 24:
      throw SegueError(.malformed, "a simple value in a reserved form at offset \(head.start)")
    case 0xf7: throw SegueError(.unsupportedValue, "undefined at offset \(head.start)")
    default: throw SegueError(.unsupportedValue, "simple(\(head.argument)) at offset \(head.start)")
    }
  }

  private func number(_ head: AnyHead) -> Double { FloatForm.number(head.initial, head.argument) }

  // MARK: - Strings and data

  /// The bytes of a string of definite length.
  private mutating func content(_ head: AnyHead) throws(SegueError) -> UnsafeRawBufferPointer {
    guard let count = Int(exactly: head.argument), count <= bytes.count - offset else { throw truncated(head.start) }
    let start = offset
    offset += count
    let content = UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
    if head.major == Head.Major.text, !UTF8Text.isValid(content) {
      throw SegueError(.malformed, "a string that is not UTF-8 at offset \(head.start)")
    }
    return content
  }

  /// The bytes of a string in chunks, each of which is a string of definite length (RFC 8949 §3.2.3).
  private mutating func chunks(_ head: AnyHead) throws(SegueError) -> [UInt8] {
    var result: [UInt8] = []
    while true {
      let chunk = try self.head()
      if chunk.isBreak { return result }
      guard chunk.major == head.major, !chunk.isIndefinite else {
        throw SegueError(.malformed, "a chunk of another kind at offset \(chunk.start)")
      }
      result.append(contentsOf: try content(chunk))
    }
  }

  private mutating func text(_ head: AnyHead) throws(SegueError) {
    if head.isIndefinite {
      try writer.put(Text.decoded(try chunks(head)))
    } else {
      try writer.put(validUTF8: try content(head))
    }
  }

  // MARK: - Containers

  private mutating func container(_ kind: Kind, _ head: AnyHead) throws(SegueError) {
    let width: UInt64 = kind == .dictionary ? 2 : 1
    guard head.argument <= UInt64(bytes.count - offset) / width else { throw truncated(head.start) }
    do throws(SegueError) {
      try writer.begin(kind)
    } catch {
      throw SegueError(error.status, "\(error.message), at offset \(head.start)")
    }
    if head.isIndefinite {
      try untilBreak(kind)
    } else {
      for _ in 0..<head.argument * width { try item() }
    }
    do throws(SegueError) {
      try writer.end()
    } catch {
      let status = error.status == .invalidArgument ? Status.malformed : error.status
      throw SegueError(status, "\(error.message), in the container at offset \(head.start)")
    }
  }

  private mutating func untilBreak(_ kind: Kind) throws(SegueError) {
    while true {
      let first = try head()
      if first.isBreak { return }
      try item(first)
      if kind == .dictionary { try item() }
    }
  }

  // MARK: - Tags

  private mutating func tagged(_ tag: AnyHead) throws(SegueError) {
    if tag.argument == Head.Tag.container, let references { return try reference(tag, references) }
    let inner: AnyHead
    switch tag.argument {
    case Head.Tag.date, Head.Tag.url, Head.Tag.uuid, Head.Tag.set: inner = try head()
    default: throw SegueError(.unsupportedValue, "tag \(tag.argument) at offset \(tag.start)")
    }
    switch (tag.argument, inner.major) {
    case (Head.Tag.date, Head.Major.unsigned), (Head.Tag.date, Head.Major.negative), (Head.Tag.date, Head.Major.simple):
      try writer.putDate(try seconds(inner))
    case (Head.Tag.url, Head.Major.text): try url(inner)
    case (Head.Tag.uuid, Head.Major.data):
      let uuid = inner.isIndefinite ? Identifier(bytes: try chunks(inner)) : Identifier(bytes: try content(inner))
      guard let uuid else { throw SegueError(.malformed, "a UUID that has not 16 bytes at offset \(tag.start)") }
      try writer.put(uuid)
    case (Head.Tag.set, Head.Major.array): try container(.set, inner)
    default: throw SegueError(.malformed, "tag \(tag.argument) on something else at offset \(tag.start)")
    }
  }

  private func seconds(_ head: AnyHead) throws(SegueError) -> Double {
    let seconds: Double?
    switch head.major {
    case Head.Major.unsigned: seconds = Double(exactly: head.argument)
    case Head.Major.negative: seconds = Double(exactly: try integer(head))
    default:
      guard (Head.Simple.half...Head.Simple.double).contains(head.initial) else {
        throw SegueError(.malformed, "a date that is no number at offset \(head.start)")
      }
      seconds = number(head)
    }
    guard let seconds, seconds.isFinite else {
      throw SegueError(.unsupportedValue, "a date that no finite double holds at offset \(head.start)")
    }
    return seconds
  }

  private mutating func url(_ head: AnyHead) throws(SegueError) {
    let text: String
    if head.isIndefinite {
      text = Text.decoded(try chunks(head))
    } else {
      text = Text.decoded(try content(head))
    }
    guard let url = AbsoluteURL(text) else {
      throw SegueError(.unsupportedValue, "not an absolute URL (RFC 3986) at offset \(head.start)")
    }
    try writer.put(url)
  }

  /// A reference, an array of two texts, becomes a URL.
  private mutating func reference(_ tag: AnyHead, _ references: ReferenceReader) throws(SegueError) {
    let list = try head()
    guard list.major == Head.Major.array, list.isIndefinite || list.argument == 2 else { throw noReference(tag) }
    let (identifier, rest) = (try string(tag), try string(tag))
    if list.isIndefinite, !(try head().isBreak) { throw noReference(tag) }
    // In the dictionary user_info, in that of the properties, in the document.
    let isDocument = writer.isValue(of: Activity.documentURLKey, depth: 2)
    guard let url = try references.url(identifier, rest, isDocument: isDocument),
      url.withUnsafeBytes({ AbsoluteURL.schemeCount($0) }) != nil
    else { throw noReference(tag) }
    try writer.put(checkedURL: url)
  }

  private mutating func string(_ tag: AnyHead) throws(SegueError) -> [UInt8] {
    let head = try head()
    guard head.major == Head.Major.text else { throw noReference(tag) }
    return head.isIndefinite ? try chunks(head) : Array(try content(head))
  }

  private func noReference(_ tag: AnyHead) -> SegueError {
    SegueError(.malformed, "no file of a container at offset \(tag.start)")
  }

  private func truncated(_ start: Int) -> SegueError {
    SegueError(.malformed, "truncated in the item at offset \(start)")
  }
}
