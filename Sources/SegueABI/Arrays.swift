// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 2 of segue.h: the elements of arrays and sets.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

@_cdecl("segue_array_get_value") @implementation
public func segue_array_get_value(
  _ array: OpaquePointer?, _ index: Int, _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(array, .value) { (held) throws(SegueError) in
    let kind = held.value.kind
    guard kind == .array || kind == .set else { throw SegueError(.wrongKind, "array: is \(kind.name)") }
    // An index over PTRDIFF_MAX is negative here; no array has as many.
    guard var reader = held.value.reader(atElement: index), let item = reader.next() else {
      throw SegueError(.notFound, "no element with this index: there are \(held.value.count ?? 0)")
    }
    _ = try LookupOutput.value(result).copyOut(item, &reader)
  }
}
