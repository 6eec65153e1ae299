// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

@testable import SegueManifests

/// Any bytes as a property list, XML or binary: what is read is bounded, and a manifest of it says what a manifest may.
func fuzzPropertyLists(_ bytes: UnsafeRawBufferPointer) {
  guard let list = try? PropertyList.read(bytes) else { return }
  var count = 0
  require(depth(list, &count) <= Limits.manifestDepth, "too deep")
  require(count <= Limits.manifestValues, "too many values")
  guard let contents = try? PropertyListManifest.contents(list) else { return }
  checkContents(contents)
}

/// Levels of nesting; `count` becomes the number of values and keys.
private func depth(_ list: PropertyList, _ count: inout Int) -> Int {
  count += 1
  switch list {
  case .array(let elements):
    var deepest = 0
    for element in elements { deepest = max(deepest, depth(element, &count)) }
    return 1 + deepest
  case .dictionary(let entries):
    var deepest = 0
    for (index, entry) in entries.enumerated() {
      count += 1
      require(!entries[..<index].contains { Text.isSame($0.key, entry.key) }, "a key is there twice")
      deepest = max(deepest, depth(entry.value, &count))
    }
    return 1 + deepest
  default: return 1
  }
}
