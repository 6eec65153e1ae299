// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Reads the items of a value in the order of their bytes: an array's head, its elements, then what follows the array.
/// The caller counts items, and knows what should come: there must be an item for each call, and an item of another
/// kind is not consumed.
public struct FlatReader {
  /// The start of an encoding, which outlives the reader.
  private let base: UnsafeRawPointer
  /// The offset of the next item.
  private var offset = 0

  /// Nil unless the bytes are one item in its deterministic encoding. The bytes must outlive the reader.
  public init?(_ cbor: UnsafeRawBufferPointer) {
    guard let base = cbor.baseAddress, CanonicalScan.accepts(cbor) else { return nil }
    self.base = base
  }

  private var head: Head {
    @inline(__always) get { Head(trusted: base + offset) }
  }

  /// False: the next item is not null.
  public mutating func null() -> Bool {
    guard base.load(fromByteOffset: offset, as: UInt8.self) == Head.Simple.null else { return false }
    offset &+= 1
    return true
  }

  /// Nil if the next item is of another kind, here and below.
  public mutating func bool() -> Bool? {
    let initial = base.load(fromByteOffset: offset, as: UInt8.self)
    guard initial == Head.Simple.no || initial == Head.Simple.yes else { return nil }
    offset &+= 1
    return initial == Head.Simple.yes
  }

  public mutating func unsigned() -> UInt64? {
    let head = head
    guard head.major == Head.Major.unsigned else { return nil }
    offset &+= head.size
    return head.argument
  }

  public mutating func uuid() -> Identifier? {
    let start = base + offset
    // The item may have only one byte; a tag has a number, and an item after it.
    guard start.load(as: UInt8.self) == 0xd8,
      start.loadUnaligned(fromByteOffset: 1, as: UInt16.self).bigEndian == 0x2550
    else { return nil }
    offset &+= 3 &+ Identifier.size
    return Identifier(trusted: start + 3)
  }

  public mutating func string(atMost limit: Int) -> String? {
    let head = head
    guard head.major == Head.Major.text, head.count <= limit else { return nil }
    let text = UnsafeRawBufferPointer(start: base + offset + head.size, count: head.count)
    offset &+= head.size &+ head.count
    return Text.decoded(text)
  }

  public mutating func data() -> [UInt8]? {
    let head = head
    guard head.major == Head.Major.data else { return nil }
    let bytes = UnsafeRawBufferPointer(start: base + offset + head.size, count: head.count)
    offset &+= head.size &+ head.count
    return Array(bytes)
  }

  /// The range of the next item's bytes, counted from the start of the encoding.
  public mutating func dataRange() -> Range<Int>? {
    let head = head
    guard head.major == Head.Major.data else { return nil }
    let start = offset &+ head.size
    offset = start &+ head.count
    return start..<offset
  }

  /// The number of elements that follow; nil if the next item is no array.
  public mutating func array() -> Int? {
    let head = head
    guard head.major == Head.Major.array else { return nil }
    offset &+= head.size
    return head.count
  }

  /// Skips `count` items, contents included.
  public mutating func skip(_ count: Int) {
    for _ in 0..<count { offset = Head.skip(base, from: offset) }
  }
}
