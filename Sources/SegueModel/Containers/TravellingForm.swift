// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Writes a value as it travels: each URL of a file in a container, also in keys and sets, becomes a reference, and
/// dictionaries and sets are in the order of their new bytes. Throws INVALID_ARGUMENT if two keys of a dictionary, or
/// two elements of a set, are then the same; LIMIT_EXCEEDED.
struct TravellingForm {
  private let base: UnsafeRawPointer
  private let containers: Containers

  static func write(
    _ value: Value, _ containers: Containers, to writer: inout ValueWriter
  ) throws(SegueError) {
    let failure = value.encoding.withEncoding { base -> SegueError? in
      do throws(SegueError) {
        _ = try TravellingForm(base: base, containers: containers).item(at: 0, &writer)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
  }

  /// False if the value has no URL: most have none. Looks for the two bytes of the tag.
  static func mayDiffer(from value: Value) -> Bool {
    value.encoding.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while let start = rest.firstIndex(of: 0xd8) {
        if start + 1 < bytes.count, bytes[start + 1] == UInt8(Head.Tag.url) { return true }
        rest = bytes[(start + 1)...]
      }
      return false
    }
  }

  /// Recursive, but never deeper than `ValueBounds.deepest`.
  /// - Returns: the offset after the item.
  private func item(at offset: Int, _ writer: inout ValueWriter) throws(SegueError) -> Int {
    let head = Head(trusted: base + offset)
    let content = offset + head.size
    switch head.major {
    case Head.Major.array: return try items(.array, head.count, at: content, &writer)
    case Head.Major.map: return try items(.dictionary, 2 * head.count, at: content, &writer)
    case Head.Major.tag where head.argument == Head.Tag.set:
      let array = Head(trusted: base + content)
      return try items(.set, array.count, at: content + array.size, &writer)
    default: break
    }
    let end = Head.skip(base, from: offset)
    if head.major == Head.Major.tag, head.argument == Head.Tag.url {
      let text = content + Head(trusted: base + content).size
      let url = UnsafeRawBufferPointer(start: base + text, count: end - text)
      if let reference = ContainerReference(url, containers) {
        try writer.put(reference)
        return end
      }
    }
    try writer.put(encoded: UnsafeRawBufferPointer(start: base + offset, count: end - offset))
    return end
  }

  private func items(
    _ kind: Kind, _ count: Int, at start: Int, _ writer: inout ValueWriter
  ) throws(SegueError) -> Int {
    try writer.begin(kind)
    var offset = start
    for _ in 0..<count { offset = try item(at: offset, &writer) }
    try writer.end()
    return offset
  }
}

extension ValueWriter {
  /// Puts a value as it travels (`TravellingForm`). The result is no longer a value. Throws USER_INFO_TOO_LARGE if it
  /// is larger than before, and than `limit` bytes.
  public mutating func put(
    _ value: Value, travellingFrom containers: Containers, limit: Int
  ) throws(SegueError) {
    guard TravellingForm.mayDiffer(from: value) else { return try put(value) }
    let start = withWritten { $0.count }
    try TravellingForm.write(value, containers, to: &self)
    let size = withWritten { $0.count } - start
    guard size <= max(limit, value.encoding.count) else {
      throw SegueError(.userInfoTooLarge, "\(size) bytes; \(limit) are allowed")
    }
  }
}

extension Value {
  /// Decodes a value that has travelled: references become URLs of this device, in the order of the new bytes. Throws
  /// as `init(cbor:)`, and MALFORMED if two keys or elements are then the same.
  public init(
    travelled cbor: UnsafeRawBufferPointer, _ references: ReferenceReader, bounds: ValueBounds
  ) throws(SegueError) {
    try self.init(cbor: cbor, bounds, references)
  }
}
