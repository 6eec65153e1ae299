// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 2 of segue.h: copies out what was found inside a value by key, index or path.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

/// The output parameters of a look-up: the kind of item that it copies out, and where to.
enum LookupOutput {
  case bool(UnsafeMutablePointer<Bool>?)
  case int64(UnsafeMutablePointer<Int64>?)
  /// Also accepts an integer, if a double represents it exactly.
  case double(UnsafeMutablePointer<Double>?)
  case date(UnsafeMutablePointer<Double>?)
  /// A string or URL.
  case string(TextOut, LengthOut)
  case data(UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, LengthOut)
  case value(UnsafeMutablePointer<OpaquePointer?>?)

  /// Describes the mismatch with an item that was not copied out.
  /// - Parameter name: its key or path.
  @inline(never)
  func mismatch(_ name: UnsafeRawBufferPointer, _ kind: Kind?) -> SegueError {
    let wanted: StaticString =
      switch self {
      case .bool: "a bool"
      case .int64: "an integer"
      case .double: "a double"
      case .date: "a date"
      case .string: "a string"
      case .data: "data"
      case .value: "a value"
      }
    let name = name.isEmpty ? "value" : Text.decoded(name)
    switch self {
    case .int64 where kind == .integer, .double where kind == .integer:
      return SegueError(.wrongKind, "\(name): the integer does not fit into 64 bits as \(wanted)")
    default: return SegueError(.wrongKind, "\(name): is \(kind?.name ?? "no value"), not \(wanted)")
    }
  }

  /// Copies out the item that was found. False if it is of another kind, or does not fit.
  @inline(never)
  func copyOut(_ item: ValueReader.Item, _ reader: inout ValueReader) throws(SegueError) -> Bool {
    switch self {
    case .bool(let result):
      guard item.kind == .bool else { return false }
      result?.pointee = item.bool
    case .int64(let result):
      guard item.kind == .integer, item.isNegative || item.uint64 <= UInt64(Int64.max) else { return false }
      result?.pointee = item.int64
    case .double(let result):
      let number: Double? =
        switch item.kind {
        case .double: item.double
        case .integer: item.isNegative ? Double(exactly: item.int64) : Double(exactly: item.uint64)
        default: nil
        }
      guard let number else { return false }
      result?.pointee = number
    case .date(let result):
      guard item.kind == .date else { return false }
      result?.pointee = item.double
    case .string(let result, let length):
      // A copy, and the caller's.
      try Arguments.checkMemory(for: item.count, copies: 2)
      guard let string = reader.string else { return false }
      try Results.give(string, to: result, length: length)
    case .data(let result, let length):
      try Arguments.checkMemory(for: item.count, copies: 2)
      guard let data = reader.data ?? reader.uuid?.bytes else { return false }
      try Results.give(data, to: result, length: length)
    case .value(let result):
      try Arguments.checkMemory(for: reader.itemSizeAtMost, copies: 1)
      guard let value = reader.take() else { return false }
      try handles.give(value, to: result)
    }
    return true
  }
}
