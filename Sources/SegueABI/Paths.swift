// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 2 of segue.h: nested values, by path.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

/// Looks up a part, for a function of the kind segue_value_find_….
@inline(never)
private func find(
  _ value: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ length: Int, _ found: LookupOutput
) -> segue_status {
  handles.call(value, .value) { (held) throws(SegueError) in
    let path = try Arguments.utf8(path, length, "path", atMost: Limits.value)
    var reader = try held.value.reader(atPath: path)
    let item = reader.next()
    guard let item, try found.copyOut(item, &reader) else { throw found.mismatch(path, item?.kind) }
  }
}

@_cdecl("segue_value_find_bool") @implementation
public func segue_value_find_bool(
  _ value: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_length: Int, _ result: UnsafeMutablePointer<Bool>?
) -> segue_status {
  find(value, path, path_length, .bool(result))
}

@_cdecl("segue_value_find_int64") @implementation
public func segue_value_find_int64(
  _ value: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_length: Int, _ result: UnsafeMutablePointer<Int64>?
) -> segue_status {
  find(value, path, path_length, .int64(result))
}

@_cdecl("segue_value_find_double") @implementation
public func segue_value_find_double(
  _ value: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_length: Int, _ result: UnsafeMutablePointer<Double>?
) -> segue_status {
  find(value, path, path_length, .double(result))
}

@_cdecl("segue_value_find_date") @implementation
public func segue_value_find_date(
  _ value: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_length: Int, _ result: UnsafeMutablePointer<Double>?
) -> segue_status {
  find(value, path, path_length, .date(result))
}

@_cdecl("segue_value_find_string") @implementation
public func segue_value_find_string(
  _ value: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_length: Int,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ length: UnsafeMutablePointer<Int>?
) -> segue_status {
  find(value, path, path_length, .string(result, length))
}

@_cdecl("segue_value_find_data") @implementation
public func segue_value_find_data(
  _ value: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_length: Int,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, _ length: UnsafeMutablePointer<Int>?
) -> segue_status {
  find(value, path, path_length, .data(result, length))
}

@_cdecl("segue_value_find_value") @implementation
public func segue_value_find_value(
  _ value: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_length: Int,
  _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  find(value, path, path_length, .value(result))
}
