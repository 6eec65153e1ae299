// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 2 of segue.h: writers.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

/// The object of a segue_writer. Only one call at a time uses it (`callAlone`).
final class HeldWriter: HandleObject {
  // Only the call with exclusive use gets here, so overlapping accesses need no check.
  @exclusivity(unchecked) var writer = ValueWriter()
}

extension HandleKind where Object == HeldWriter {
  static var writer: Self { Self(.writer) }
}

/// Writes an item. The first error is sticky: all later calls return it, until the writer is finished.
@inline(never)
private func write(
  _ writer: OpaquePointer?, _ body: (inout ValueWriter) throws(SegueError) -> Void
) -> segue_status {
  writeAtOnce(writer, body)
}

/// Does the same, inlined into the caller: for items that values consist of by the thousand.
@inline(__always)
private func writeAtOnce(
  _ writer: OpaquePointer?, _ body: (inout ValueWriter) throws(SegueError) -> Void
) -> segue_status {
  // A closure would be a function of its own.
  @inline(__always)
  func write(_ held: HeldWriter) throws(SegueError) {
    do throws(SegueError) { try body(&held.writer) } catch { throw held.writer.fail(error) }
  }
  return handles.callAlone(writer, .writer, write)
}

@_cdecl("segue_writer_create") @implementation
public func segue_writer_create(_ writer: UnsafeMutablePointer<OpaquePointer?>?) -> segue_status {
  attemptAtOnce(evenInFork: true) { () throws(SegueError) in
    try handles.give(HeldWriter(), .writer, to: try Arguments.required(writer, "writer"))
  }
}

@_cdecl("segue_writer_put_null") @implementation
public func segue_writer_put_null(_ writer: OpaquePointer?) -> segue_status {
  write(writer) { (into) throws(SegueError) in try into.putNull() }
}

@_cdecl("segue_writer_put_bool") @implementation
public func segue_writer_put_bool(_ writer: OpaquePointer?, _ value: Bool) -> segue_status {
  writeAtOnce(writer) { (into) throws(SegueError) in try into.put(value) }
}

@_cdecl("segue_writer_put_int64") @implementation
public func segue_writer_put_int64(_ writer: OpaquePointer?, _ value: Int64) -> segue_status {
  writeAtOnce(writer) { (into) throws(SegueError) in try into.put(value) }
}

@_cdecl("segue_writer_put_uint64") @implementation
public func segue_writer_put_uint64(_ writer: OpaquePointer?, _ value: UInt64) -> segue_status {
  writeAtOnce(writer) { (into) throws(SegueError) in try into.put(value) }
}

@_cdecl("segue_writer_put_double") @implementation
public func segue_writer_put_double(_ writer: OpaquePointer?, _ value: Double) -> segue_status {
  writeAtOnce(writer) { (into) throws(SegueError) in try into.put(value) }
}

@_cdecl("segue_writer_put_string") @implementation
public func segue_writer_put_string(
  _ writer: OpaquePointer?, _ string: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  // A closure would be a function of its own.
  @inline(__always)
  func put(_ into: inout ValueWriter) throws(SegueError) {
    try into.put(utf8: try Arguments.utf8(string, length, "string", atMost: Limits.value))
  }
  return writeAtOnce(writer, put)
}

@_cdecl("segue_writer_put_data") @implementation
public func segue_writer_put_data(
  _ writer: OpaquePointer?, _ data: UnsafePointer<UInt8>?, _ length: Int
) -> segue_status {
  write(writer) { (into) throws(SegueError) in
    try into.put(data: try Arguments.bytes(data, length, "data", atMost: Limits.value))
  }
}

@_cdecl("segue_writer_put_date") @implementation
public func segue_writer_put_date(_ writer: OpaquePointer?, _ seconds: Double) -> segue_status {
  write(writer) { (into) throws(SegueError) in try into.putDate(seconds) }
}

@_cdecl("segue_writer_put_url") @implementation
public func segue_writer_put_url(
  _ writer: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  write(writer) { (into) throws(SegueError) in
    try into.put(url: try Arguments.utf8(url, length, "url", atMost: Limits.value))
  }
}

@_cdecl("segue_writer_put_uuid") @implementation
public func segue_writer_put_uuid(_ writer: OpaquePointer?, _ uuid: UnsafePointer<UInt8>?) -> segue_status {
  write(writer) { (into) throws(SegueError) in
    try into.put(try Arguments.identifier(uuid, "uuid"))
  }
}

@_cdecl("segue_writer_put_value") @implementation
public func segue_writer_put_value(_ writer: OpaquePointer?, _ value: OpaquePointer?) -> segue_status {
  write(writer) { (into) throws(SegueError) in
    try handles.use(value, .value) { (other) throws(SegueError) in try into.put(other.value) }
  }
}

@_cdecl("segue_writer_begin") @implementation
public func segue_writer_begin(_ writer: OpaquePointer?, _ kind: segue_kind) -> segue_status {
  // A closure would be a function of its own.
  @inline(__always)
  func begin(_ into: inout ValueWriter) throws(SegueError) {
    guard let kind = Kind(rawValue: kind) else { throw SegueError(.invalidArgument, "kind: no such kind: \(kind)") }
    try into.begin(kind)
  }
  return writeAtOnce(writer, begin)
}

@_cdecl("segue_writer_end") @implementation
public func segue_writer_end(_ writer: OpaquePointer?) -> segue_status {
  writeAtOnce(writer) { (into) throws(SegueError) in try into.end() }
}

@_cdecl("segue_writer_finish") @implementation
public func segue_writer_finish(
  _ writer: OpaquePointer?, _ value: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.callAlone(writer, .writer) { (held) throws(SegueError) in
    defer { held.writer.reset() }
    let out = try Arguments.required(value, "value")
    try Arguments.checkMemory(for: held.writer.count, copies: 1)
    try handles.give(try held.writer.written(), to: out)
  }
}
