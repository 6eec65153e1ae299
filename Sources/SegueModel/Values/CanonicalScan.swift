// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The fast path of decoding: one pass that tells whether bytes already are a value in its deterministic encoding, and
/// can be kept. Anything else, good or bad, is for `Normaliser`.
struct CanonicalScan {
  /// Returned by `item` for anything but a deterministic encoding. A number, for speed.
  private static let no = -1

  private let base: UnsafeRawPointer
  private let end: Int
  private let bounds: ValueBounds

  static func accepts(_ bytes: UnsafeRawBufferPointer, _ bounds: ValueBounds = .value) -> Bool {
    guard let base = bytes.baseAddress, bytes.count <= bounds.size else { return false }
    return CanonicalScan(base: base, end: bytes.count, bounds: bounds).item(at: 0, depth: 0) == bytes.count
  }

  /// The offset after the item at `start`, which is inside `depth` containers.
  @inline(__always)
  private func item(at start: Int, depth: Int) -> Int {
    // Handles small integers and short strings, which most keys are, without a call.
    guard start < end else { return Self.no }
    let initial = base.load(fromByteOffset: start, as: UInt8.self)
    if initial < 24 { return start &+ 1 }
    let count = Int(initial &- Head.Major.text << 5)
    if count < 24, end &- start > count, UTF8Text.isValid(base + start + 1, count) { return start &+ 1 &+ count }
    return anyItem(at: start, depth: depth)
  }

  private func anyItem(at start: Int, depth: Int) -> Int {
    guard start < end else { return Self.no }
    let initial = base.load(fromByteOffset: start, as: UInt8.self)
    let information = initial & 31
    var offset = start &+ 1
    var argument = UInt64(information)
    if information >= 24 {
      guard information <= 27 else { return Self.no }
      let size = 1 << Int(information &- 24)
      guard end &- offset >= size else { return Self.no }
      let head = Head(trusted: base + start)
      argument = head.argument
      offset &+= size
      if initial >= 0xe0 { return FloatForm.isShortest(head) && information > 24 ? offset : Self.no }
      guard Head.size(of: argument) == head.size else { return Self.no }
    }
    switch initial >> 5 {
    case Head.Major.unsigned: return offset
    case Head.Major.negative: return argument <= UInt64(Int64.max) ? offset : Self.no
    case Head.Major.data:
      guard argument <= UInt64(end &- offset) else { return Self.no }
      return offset &+ Int(truncatingIfNeeded: argument)
    case Head.Major.text:
      guard argument <= UInt64(end &- offset) else { return Self.no }
      let count = Int(truncatingIfNeeded: argument)
      return UTF8Text.isValid(base + offset, count) ? offset &+ count : Self.no
    case Head.Major.array:
      guard depth < bounds.nesting, argument <= UInt64(end &- offset) else { return Self.no }
      for _ in 0..<Int(truncatingIfNeeded: argument) {
        offset = item(at: offset, depth: depth &+ 1)
        guard offset >= 0 else { return Self.no }
      }
      return offset
    case Head.Major.map:
      guard depth < bounds.nesting, argument <= UInt64((end &- offset) / 2) else { return Self.no }
      return entries(Int(truncatingIfNeeded: argument), at: offset, depth: depth)
    case Head.Major.tag: return tagged(argument, at: offset, depth: depth)
    default:
      return initial == Head.Simple.no || initial == Head.Simple.yes || initial == Head.Simple.null ? offset : Self.no
    }
  }

  /// The entries of a map, whose keys are in ascending order.
  private func entries(_ count: Int, at start: Int, depth: Int) -> Int {
    var offset = start
    var last = start
    var lastEnd = start
    for index in 0..<count {
      let key = offset
      offset = item(at: key, depth: depth &+ 1)
      guard offset >= 0 else { return Self.no }
      if index > 0, ByteOrder.compare(base + last, lastEnd &- last, base + key, offset &- key) >= 0 { return Self.no }
      last = key
      lastEnd = offset
      offset = item(at: offset, depth: depth &+ 1)
      guard offset >= 0 else { return Self.no }
    }
    return offset
  }

  /// The content of a tag, at `start`.
  private func tagged(_ tag: UInt64, at start: Int, depth: Int) -> Int {
    guard start < end else { return Self.no }
    let initial = base.load(fromByteOffset: start, as: UInt8.self)
    let major = initial >> 5
    switch tag {
    case Head.Tag.date:
      guard major <= Head.Major.negative || (Head.Simple.half...Head.Simple.double).contains(initial) else {
        return Self.no
      }
      let offset = item(at: start, depth: depth)
      return offset >= 0 && isDate(Head(trusted: base + start)) ? offset : Self.no
    case Head.Tag.url:
      guard major == Head.Major.text else { return Self.no }
      let offset = item(at: start, depth: depth)
      guard offset >= 0 else { return Self.no }
      let text = start &+ Head(trusted: base + start).size
      let bytes = UnsafeRawBufferPointer(start: base + text, count: offset &- text)
      return AbsoluteURL.schemeCount(bytes) != nil ? offset : Self.no
    case Head.Tag.uuid:
      guard initial == 0x50, end &- start > Identifier.size else { return Self.no }
      return start &+ 1 &+ Identifier.size
    case Head.Tag.set:
      guard major == Head.Major.array, depth < bounds.nesting else { return Self.no }
      return elementsOfSet(at: start, depth: depth)
    default: return Self.no
    }
  }

  /// An integer up to 2^53, or a finite float that is not such an integer.
  private func isDate(_ head: Head) -> Bool {
    switch head.major {
    case Head.Major.unsigned: return head.argument <= UInt64(FloatForm.exactInteger)
    case Head.Major.negative: return head.argument < UInt64(FloatForm.exactInteger)
    default:
      let number = FloatForm.number(head)
      guard number.isFinite else { return false }
      return number.magnitude > FloatForm.exactInteger || number.rounded(.towardZero) != number
    }
  }

  /// The array of a set, whose elements are in ascending order.
  private func elementsOfSet(at start: Int, depth: Int) -> Int {
    let initial = base.load(fromByteOffset: start, as: UInt8.self)
    let information = initial & 31
    let size = information < 24 ? 1 : 1 + 1 << Int(information & 3)
    guard information <= 27, end &- start >= size else { return Self.no }
    let head = Head(trusted: base + start)
    var offset = start &+ size
    guard Head.size(of: head.argument) == size, head.argument <= UInt64(end &- offset) else { return Self.no }
    var last = offset
    for index in 0..<head.count {
      let element = offset
      offset = item(at: element, depth: depth &+ 1)
      guard offset >= 0 else { return Self.no }
      if index > 0, ByteOrder.compare(base + last, element &- last, base + element, offset &- element) >= 0 {
        return Self.no
      }
      last = element
    }
    return offset
  }
}
