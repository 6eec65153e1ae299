// Section 2 of segue.h: copies out what was found inside a value by key, index or path.
import CSegue
import SegueModel
import SegueRuntime

/// Copies out the item that was found. False if it is of another kind, or does not fit.
enum Found {
  typealias Item = ValueReader.Item

  static func bool(_ item: Item, to result: UnsafeMutablePointer<Bool>?) -> Bool {
    guard item.kind == .bool else { return false }
    result?.pointee = item.bool
    return true
  }

  static func int64(_ item: Item, to result: UnsafeMutablePointer<Int64>?) -> Bool {
    guard item.kind == .integer, item.isNegative || item.uint64 <= UInt64(Int64.max) else { return false }
    result?.pointee = item.int64
    return true
  }

  /// Also accepts an integer, if a double represents it exactly.
  static func double(_ item: Item, to result: UnsafeMutablePointer<Double>?) -> Bool {
    let number: Double? =
      switch item.kind {
      case .double: item.double
      case .integer: item.isNegative ? Double(exactly: item.int64) : Double(exactly: item.uint64)
      default: nil
      }
    guard let number else { return false }
    result?.pointee = number
    return true
  }

  static func date(_ item: Item, to result: UnsafeMutablePointer<Double>?) -> Bool {
    guard item.kind == .date else { return false }
    result?.pointee = item.double
    return true
  }

  /// A string or URL.
  static func string(_ reader: inout ValueReader, to result: TextOut, _ length: LengthOut) throws(SegueError) -> Bool {
    guard let string = reader.string else { return false }
    try Results.give(string, to: result, length: length)
    return true
  }

  static func data(
    _ reader: inout ValueReader, to result: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, _ length: LengthOut
  ) throws(SegueError) -> Bool {
    guard let data = reader.data else { return false }
    try Results.give(data, to: result, length: length)
    return true
  }

  static func value(
    _ reader: inout ValueReader, to result: UnsafeMutablePointer<OpaquePointer?>?
  ) throws(SegueError) -> Bool {
    guard let value = reader.take() else { return false }
    try handles.give(value, to: result)
    return true
  }
}
