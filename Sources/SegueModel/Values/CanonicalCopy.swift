// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The middle path of decoding: copies an item of definite lengths into its deterministic encoding, with numbers
/// shortened and keys sorted. Other encoders write such items. Anything else, good or bad, is for `Normaliser`.
struct CanonicalCopy {
  private let source: UnsafeRawPointer
  private let end: Int
  private var offset = 0
  /// Has a capacity of `end` bytes: no item that is accepted here becomes longer.
  private let target: UnsafeMutableRawPointer
  private var used = 0
  /// Offsets in `target` of the items of open dictionaries and sets. 32 bits are enough for `ValueBounds`.
  private var marks: [UInt32] = []
  private let bounds: ValueBounds

  private init(_ source: UnsafeRawPointer, _ end: Int, _ target: UnsafeMutableRawPointer, _ bounds: ValueBounds) {
    self.source = source
    self.end = end
    self.target = target
    self.bounds = bounds
    marks.reserveCapacity(64)
  }

  /// Nil if another path has to decode the item.
  static func encoding(of cbor: UnsafeRawBufferPointer, _ bounds: ValueBounds = .value) -> [UInt8]? {
    guard let source = cbor.baseAddress, cbor.count <= bounds.size else { return nil }
    var isWhole = false
    let encoding = [UInt8](unsafeUninitializedCapacity: cbor.count) { buffer, count in
      guard let target = UnsafeMutableRawBufferPointer(buffer).baseAddress else { return }
      var copy = CanonicalCopy(source, cbor.count, target, bounds)
      isWhole = copy.item(depth: 0) && copy.offset == cbor.count
      count = isWhole ? copy.used : 0
    }
    return isWhole ? encoding : nil
  }

  /// Copies the item at `offset`, which is inside `depth` containers.
  private mutating func item(depth: Int) -> Bool {
    guard let head = Head(source + offset, upTo: end &- offset) else { return false }
    offset &+= head.size
    switch head.major {
    case Head.Major.unsigned: return put(head)
    case Head.Major.negative: return head.argument <= UInt64(Int64.max) && put(head)
    case Head.Major.data: return content(head)
    case Head.Major.text:
      let start = offset
      return content(head) && UTF8Text.isValid(source + start, offset &- start)
    case Head.Major.array:
      guard depth < bounds.nesting, head.argument <= UInt64(end &- offset) else { return false }
      _ = put(head)
      for _ in 0..<head.count where !item(depth: depth &+ 1) { return false }
      return true
    case Head.Major.map: return items(head, width: 2, depth: depth)
    case Head.Major.tag: return tagged(head.argument, depth: depth)
    default: return simple(head)
    }
  }

  /// Writes a head in its shortest form.
  @inline(__always)
  private mutating func put(_ head: Head) -> Bool {
    used &+= Head.write(head.major, head.argument, to: target + used)
    return true
  }

  /// Copies a string with its head.
  @inline(__always)
  private mutating func content(_ head: Head) -> Bool {
    guard head.argument <= UInt64(end &- offset) else { return false }
    _ = put(head)
    (target + used).copyMemory(from: source + offset, byteCount: head.count)
    used &+= head.count
    offset &+= head.count
    return true
  }

  private mutating func simple(_ head: Head) -> Bool {
    switch head.initial {
    case Head.Simple.no, Head.Simple.yes, Head.Simple.null:
      target.storeBytes(of: head.initial, toByteOffset: used, as: UInt8.self)
      used &+= 1
    case Head.Simple.half...Head.Simple.double:
      used &+= FloatForm.write(FloatForm.number(head), to: target + used)
    default: return false
    }
    return true
  }

  /// Copies the entries of a dictionary or the elements of a set after their head.
  private mutating func items(_ head: Head, width: Int, depth: Int) -> Bool {
    guard depth < bounds.nesting, head.argument <= UInt64((end &- offset) / width) else { return false }
    _ = put(head)
    let first = marks.count
    for _ in 0..<head.count &* width {
      marks.append(UInt32(truncatingIfNeeded: used))
      guard item(depth: depth &+ 1) else { return false }
    }
    let twice = marks.withUnsafeBufferPointer {
      EntryOrder.sort(target, marks: UnsafeBufferPointer(rebasing: $0[first...]), width: width, end: used)
    }
    marks.removeLast(marks.count &- first)
    return twice == nil
  }

  private mutating func tagged(_ tag: UInt64, depth: Int) -> Bool {
    guard let inner = Head(source + offset, upTo: end &- offset) else { return false }
    switch (tag, inner.major) {
    // Other numbers of seconds may become longer: 2^52 as an integer instead of a single float.
    case (Head.Tag.date, _) where inner.initial == Head.Simple.double:
      let seconds = FloatForm.number(inner)
      guard seconds.isFinite else { return false }
      putTag(tag)
      if seconds.magnitude <= FloatForm.exactInteger, let integer = Int64(exactly: seconds) {
        used &+= Head.write(integer: integer, to: target + used)
      } else {
        used &+= FloatForm.write(seconds, to: target + used)
      }
      offset &+= inner.size
      return true
    case (Head.Tag.date, Head.Major.unsigned), (Head.Tag.date, Head.Major.negative):
      guard inner.argument < UInt64(FloatForm.exactInteger) else { return false }
      putTag(tag)
      offset &+= inner.size
      return put(inner)
    case (Head.Tag.url, Head.Major.text):
      putTag(tag)
      offset &+= inner.size
      let start = offset
      guard content(inner) else { return false }
      return AbsoluteURL.schemeCount(UnsafeRawBufferPointer(start: source + start, count: offset &- start)) != nil
    case (Head.Tag.uuid, Head.Major.data):
      putTag(tag)
      offset &+= inner.size
      return inner.argument == UInt64(Identifier.size) && content(inner)
    case (Head.Tag.set, Head.Major.array):
      putTag(tag)
      offset &+= inner.size
      return items(inner, width: 1, depth: depth)
    default: return false
    }
  }

  private mutating func putTag(_ tag: UInt64) { used &+= Head.write(Head.Major.tag, tag, to: target + used) }
}
