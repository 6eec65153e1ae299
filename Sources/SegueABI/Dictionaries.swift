// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 2 of segue.h: the entries of dictionaries.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

/// The error for a key without an entry. Checks only now that the key is UTF-8: a key that is found always is.
@inline(never)
private func notFound(_ key: UnsafeRawBufferPointer) -> SegueError {
  guard let text = String(validating: key, as: UTF8.self) else {
    return SegueError(.invalidArgument, "key: is not UTF-8")
  }
  return SegueError(.notFound, "no entry with the key \(text)")
}

extension HeldValue {
  fileprivate var isNoDictionary: SegueError { SegueError(.wrongKind, "dictionary: is \(value.kind.name)") }
}

/// Looks up the entry whose key is a string, for a function of the kind segue_dictionary_get_….
@inline(never)
private func get(
  _ dictionary: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ length: Int, _ found: LookupOutput
) -> segue_status {
  handles.callAtOnce(dictionary, .value) { (held) throws(SegueError) in
    let utf8 = try Arguments.utf8(key, length, "key", atMost: Limits.value)
    guard held.value.kind == .dictionary else { throw held.isNoDictionary }
    guard var reader = held.value.reader(atEntry: utf8), let item = reader.next() else {
      throw notFound(utf8)
    }
    guard try found.copyOut(item, &reader) else { throw found.mismatch(utf8, item.kind) }
  }
}

@_cdecl("segue_dictionary_get_bool") @implementation
public func segue_dictionary_get_bool(
  _ dictionary: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_length: Int, _ result: UnsafeMutablePointer<Bool>?
) -> segue_status {
  get(dictionary, key, key_length, .bool(result))
}

@_cdecl("segue_dictionary_get_int64") @implementation
public func segue_dictionary_get_int64(
  _ dictionary: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_length: Int, _ result: UnsafeMutablePointer<Int64>?
) -> segue_status {
  get(dictionary, key, key_length, .int64(result))
}

@_cdecl("segue_dictionary_get_double") @implementation
public func segue_dictionary_get_double(
  _ dictionary: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_length: Int, _ result: UnsafeMutablePointer<Double>?
) -> segue_status {
  get(dictionary, key, key_length, .double(result))
}

@_cdecl("segue_dictionary_get_date") @implementation
public func segue_dictionary_get_date(
  _ dictionary: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_length: Int, _ result: UnsafeMutablePointer<Double>?
) -> segue_status {
  get(dictionary, key, key_length, .date(result))
}

@_cdecl("segue_dictionary_get_string") @implementation
public func segue_dictionary_get_string(
  _ dictionary: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_length: Int,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ length: UnsafeMutablePointer<Int>?
) -> segue_status {
  get(dictionary, key, key_length, .string(result, length))
}

@_cdecl("segue_dictionary_get_data") @implementation
public func segue_dictionary_get_data(
  _ dictionary: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_length: Int,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, _ length: UnsafeMutablePointer<Int>?
) -> segue_status {
  get(dictionary, key, key_length, .data(result, length))
}

@_cdecl("segue_dictionary_get_value") @implementation
public func segue_dictionary_get_value(
  _ dictionary: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ key_length: Int,
  _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  get(dictionary, key, key_length, .value(result))
}

@_cdecl("segue_dictionary_find") @implementation
public func segue_dictionary_find(
  _ dictionary: OpaquePointer?, _ key: OpaquePointer?, _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(dictionary, .value) { (held) throws(SegueError) in
    try handles.use(key, .value) { (key) throws(SegueError) in
      guard held.value.kind == .dictionary else { throw held.isNoDictionary }
      try Arguments.checkMemory(for: held.value.size(ofEntry: key.value), copies: 1)
      guard let value = held.value[key.value] else {
        throw SegueError(.notFound, "no entry with the key \(key.value.briefDiagnostic)")
      }
      try handles.give(value, to: result)
    }
  }
}
