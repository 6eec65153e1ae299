// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 2 of segue.h: readers.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

/// The object of a segue_reader. Only one call at a time uses it (`callAlone`).
final class HeldReader: HandleObject {
  // Only the call with exclusive use gets here, so overlapping accesses need no check.
  @exclusivity(unchecked) var reader: ValueReader
  init(_ value: Value) { reader = ValueReader(value) }
}

extension HandleKind where Object == HeldReader {
  static var reader: Self { Self(.reader) }
}

@_cdecl("segue_reader_create") @implementation
public func segue_reader_create(
  _ value: OpaquePointer?, _ reader: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.callAtOnce(value, .value) { (held) throws(SegueError) in
    let out = try Arguments.required(reader, "reader")
    try handles.give(HeldReader(held.value), .reader, to: out)
  }
}

@_cdecl("segue_reader_next") @implementation
public func segue_reader_next(
  _ reader: OpaquePointer?, _ item: UnsafeMutablePointer<segue_item>?, _ buffer: UnsafeMutablePointer<UInt8>?,
  _ capacity: Int
) -> segue_status {
  // A closure would be a function of its own.
  @inline(__always)
  func next(_ held: HeldReader) throws(SegueError) {
    guard let out = item else { throw SegueError(.invalidArgument, "item: is NULL") }
    guard let item = held.reader.nextAtOnce() else { throw SegueError(.notFound, "all is read") }
    out.pointee = segue_item()
    out.pointee.kind = item.kind?.rawValue ?? SEGUE_KIND_END
    out.pointee.depth = UInt32(truncatingIfNeeded: item.depth)
    out.pointee.count = item.count
    out.pointee.negative = item.isNegative
    // All numbers of the union begin at its start; a bool is the lowest byte.
    out.pointee.as.uint64 = item.kind == .bool ? UInt64(item.bits).littleEndian : item.bits
    switch item.kind {
    case .uuid: held.reader.copyContent(to: &out.pointee.as)
    case .string, .data, .url:
      // A capacity over PTRDIFF_MAX is negative here; no content is that long.
      if let buffer, capacity < 0 || capacity >= item.count { held.reader.copyContent(to: buffer) }
    default: break
    }
  }
  return handles.callAlone(reader, .reader, next)
}

@_cdecl("segue_reader_copy") @implementation
public func segue_reader_copy(
  _ reader: OpaquePointer?, _ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int
) -> segue_status {
  handles.callAlone(reader, .reader) { (held) throws(SegueError) in
    guard let count = held.reader.contentCount else {
      throw SegueError(.invalidState, "the reader stands at no string, data or URL")
    }
    // A capacity over PTRDIFF_MAX is negative here; no content is that long.
    guard capacity < 0 || capacity >= count else {
      throw SegueError(.invalidArgument, "capacity: \(capacity), but there are \(count) bytes")
    }
    guard count > 0 else { return }
    let out = try Arguments.required(buffer, "buffer")
    held.reader.copyContent(to: out)
  }
}

@_cdecl("segue_reader_take") @implementation
public func segue_reader_take(
  _ reader: OpaquePointer?, _ value: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.callAlone(reader, .reader) { (held) throws(SegueError) in
    let out = try Arguments.required(value, "value")
    try Arguments.checkMemory(for: held.reader.itemSizeAtMost, copies: 1)
    var ahead = held.reader.copy()
    guard let value = ahead.take() else { throw SegueError(.invalidState, "the reader stands at no item") }
    try handles.give(value, to: out)
    held.reader = ahead
  }
}
