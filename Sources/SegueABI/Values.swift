// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 2 of segue.h: values.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

/// The object of a segue_value.
final class HeldValue: HandleObject {
  let value: Value
  init(_ value: Value) { self.value = value }
}

extension HandleKind where Object == HeldValue {
  static var value: Self { Self(.value) }
}

extension HandleTable {
  /// Writes a handle of a value to an `out, owned` parameter, which may be NULL.
  func give(_ value: Value, to out: UnsafeMutablePointer<OpaquePointer?>?) throws(SegueError) {
    if out != nil { try give(HeldValue(value), .value, to: out) }
  }
}

@_cdecl("segue_value_decode") @implementation
public func segue_value_decode(
  _ cbor: UnsafePointer<UInt8>?, _ length: Int, _ value: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  attemptAtOnce(evenInFork: true) { () throws(SegueError) in
    let bytes = try Arguments.bytes(cbor, length, "cbor", atMost: Limits.value)
    try handles.give(try Value(cbor: bytes), to: value)
  }
}

@_cdecl("segue_value_encode") @implementation
public func segue_value_encode(
  _ value: OpaquePointer?, _ cbor: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?,
  _ length: UnsafeMutablePointer<Int>?
) -> segue_status {
  handles.callAtOnce(value, .value) { (held) throws(SegueError) in
    try Results.give(held.value.encoding, to: cbor, length: length)
  }
}

@_cdecl("segue_value_describe") @implementation
public func segue_value_describe(
  _ value: OpaquePointer?, _ text: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ length: UnsafeMutablePointer<Int>?
) -> segue_status {
  handles.call(value, .value) { (held) throws(SegueError) in
    // The text while it is written, as a string, and as the caller's.
    try Arguments.checkMemory(for: held.value.diagnosticSize, copies: 3)
    try Results.give(held.value.diagnostic, to: text, length: length)
  }
}

@_cdecl("segue_value_get_kind") @implementation
public func segue_value_get_kind(_ value: OpaquePointer?, _ kind: UnsafeMutablePointer<segue_kind>?) -> segue_status {
  handles.call(value, .value) { (held) throws(SegueError) in kind?.pointee = held.value.kind.rawValue }
}

@_cdecl("segue_value_get_count") @implementation
public func segue_value_get_count(_ value: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?) -> segue_status {
  handles.call(value, .value) { (held) throws(SegueError) in
    guard let number = held.value.count else {
      throw SegueError(.wrongKind, "value: \(held.value.kind.name) has no count")
    }
    count?.pointee = number
  }
}

@_cdecl("segue_value_is_equal") @implementation
public func segue_value_is_equal(
  _ value: OpaquePointer?, _ other: OpaquePointer?, _ equal: UnsafeMutablePointer<Bool>?
) -> segue_status {
  handles.call(value, .value) { (held) throws(SegueError) in
    try handles.use(other, .value) { (other) throws(SegueError) in equal?.pointee = held.value == other.value }
  }
}
