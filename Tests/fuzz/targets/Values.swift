// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueModel

/// Any bytes as a value: the fast way and the slow way of decoding agree, what was decoded stays as it is, and all that
/// is in it can be read, and written again.
func fuzzValues(_ bytes: UnsafeRawBufferPointer) {
  let isCanonical = CanonicalScan.accepts(bytes)
  guard let value = try? Value(cbor: bytes) else {
    return require(!isCanonical, "a deterministic encoding is refused")
  }
  require(!isCanonical || bytes.elementsEqual(value.encoding), "a deterministic encoding is changed")
  value.encoding.withUnsafeBytes { encoding in
    require(CanonicalScan.accepts(encoding), "what was normalised is not deterministic")
    let again = try? Normaliser.encoding(of: encoding)
    require(again == value.encoding, "normalising is not stable")
  }
  require(!value.diagnostic.isEmpty, "there is nothing to show")
  require(walked(value) == value, "a reader reads something else")
  require(rebuilt(value) == value, "getters read something else")
  checkReaders(value)
}

/// The value, written as a reader reads it.
private func walked(_ value: Value) -> Value? {
  var reader = ValueReader(value)
  var writer = ValueWriter()
  do throws(SegueError) {
    while let item = reader.next() {
      switch item.kind {
      case nil: try writer.end()
      case .null: try writer.putNull()
      case .bool: try writer.put(item.bool)
      case .integer: if item.isNegative { try writer.put(item.int64) } else { try writer.put(item.uint64) }
      case .double: try writer.put(item.double)
      case .date: try writer.putDate(item.double)
      case .string: try writer.put(reader.string ?? "?")
      case .url: try writer.put(AbsoluteURL(reader.string ?? "") ?? AbsoluteURL("no:")!)
      case .data: try writer.put(data: reader.data ?? [])
      case .uuid: try writer.put(reader.uuid ?? Identifier(high: 0, low: 0))
      case .array?, .dictionary?, .set?: try writer.begin(item.kind ?? .array)
      }
    }
    return try writer.finish()
  } catch {
    return nil
  }
}

/// The value, made of what its getters give.
private func rebuilt(_ value: Value) -> Value? {
  switch value.kind {
  case .null: return .null
  case .bool: return value.bool.map { .bool($0) }
  case .integer: return value.uint64.map { .unsigned($0) } ?? value.int64.map { .integer($0) }
  case .double: return value.double.map { .double($0) }
  case .date: return value.date.flatMap { try? .date($0) }
  case .string: return value.string.map { .string($0) }
  case .url: return value.url.flatMap { try? .url($0) }
  case .data: return value.data.map { .data($0) }
  case .uuid: return value.uuid.map { .uuid($0) }
  case .array: return value.elements.flatMap { try? .array($0.compactMap(rebuilt)) }
  case .set: return value.elements.flatMap { try? .set($0.compactMap(rebuilt)) }
  case .dictionary: return dictionary(value)
  }
}

private func dictionary(_ value: Value) -> Value? {
  let entries = value.entries ?? []
  require(entries.count == value.count, "entries are missing")
  for entry in entries {
    require(value[entry.key] == entry.value, "an entry is not found by its key")
    guard let name = entry.key.string else { continue }
    require(value[name] == entry.value, "an entry is not found by its name")
    var key = name
    let read = key.withUTF8 { utf8 -> Value? in
      guard var reader = value.reader(atEntry: UnsafeRawBufferPointer(utf8)) else { return nil }
      _ = reader.next()
      return reader.take()
    }
    require(read == entry.value, "the reader of an entry reads another")
  }
  let absent = Value.data([0xfa, 0xce])
  require(value[absent] == entries.first { $0.key == absent }?.value, "found what is not there")
  require((try? value.merging(value)) == value, "merging with itself changes it")
  return try? .dictionary(
    entries.reversed().map { (key: rebuilt($0.key) ?? .null, value: rebuilt($0.value) ?? .null) })
}

/// Copies of a reader go their own way, and what is taken is what stands there.
private func checkReaders(_ value: Value) {
  var reader = ValueReader(value)
  var steps = 0
  var deepest = 0
  while let item = reader.next() {
    deepest = max(deepest, item.depth + (item.kind?.isContainer ?? false ? 1 : 0))
    steps += 1
    // Each part of a deep value is as long as what is around it: a few of them do.
    guard steps <= 32 else { continue }
    var other = reader.copy()
    guard let part = other.take() else { continue }
    require((try? Value(cbor: part.encoding)) == part, "a part is no value")
    require(part.kind == item.kind, "a part is of another kind")
    _ = other.next()
  }
  require(reader.next() == nil, "something follows the end")
  require(deepest == value.depth && deepest <= Limits.nesting, "the depth is another")
}
