// Section 2 of segue.h: the elements of arrays and sets.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

/// Looks up an element, for a function of the kind segue_array_get_….
@inline(never)
private func get(
  _ array: OpaquePointer?, _ index: Int, _ found: Found
) -> segue_status {
  handles.call(array, .value) { (held) throws(SegueError) in
    let kind = held.value.kind
    guard kind == .array || kind == .set else { throw SegueError(.wrongKind, "array: is \(kind.name)") }
    // An index over PTRDIFF_MAX is negative here; no array has as many.
    guard var reader = held.value.reader(atElement: index), let item = reader.next() else {
      throw SegueError(.notFound, "no element with this index: there are \(held.value.count ?? 0)")
    }
    guard try found.copyOut(item, &reader) else {
      throw SegueError(.wrongKind, "element \(index): is \(item.kind?.name ?? ""), or does not fit")
    }
  }
}

@_cdecl("segue_array_get_bool") @implementation
public func segue_array_get_bool(
  _ array: OpaquePointer?, _ index: Int, _ result: UnsafeMutablePointer<Bool>?
) -> segue_status {
  get(array, index, .bool(result))
}

@_cdecl("segue_array_get_int64") @implementation
public func segue_array_get_int64(
  _ array: OpaquePointer?, _ index: Int, _ result: UnsafeMutablePointer<Int64>?
) -> segue_status {
  get(array, index, .int64(result))
}

@_cdecl("segue_array_get_double") @implementation
public func segue_array_get_double(
  _ array: OpaquePointer?, _ index: Int, _ result: UnsafeMutablePointer<Double>?
) -> segue_status {
  get(array, index, .double(result))
}

@_cdecl("segue_array_get_date") @implementation
public func segue_array_get_date(
  _ array: OpaquePointer?, _ index: Int, _ result: UnsafeMutablePointer<Double>?
) -> segue_status {
  get(array, index, .date(result))
}

@_cdecl("segue_array_get_string") @implementation
public func segue_array_get_string(
  _ array: OpaquePointer?, _ index: Int,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ length: UnsafeMutablePointer<Int>?
) -> segue_status {
  get(array, index, .string(result, length))
}

@_cdecl("segue_array_get_data") @implementation
public func segue_array_get_data(
  _ array: OpaquePointer?, _ index: Int,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, _ length: UnsafeMutablePointer<Int>?
) -> segue_status {
  get(array, index, .data(result, length))
}

@_cdecl("segue_array_get_value") @implementation
public func segue_array_get_value(
  _ array: OpaquePointer?, _ index: Int, _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  get(array, index, .value(result))
}
