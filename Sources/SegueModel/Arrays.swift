// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions that the standard library copies into each caller, as calls (docs/decisions/two-build-modes.md).

extension Array {
  /// Removes all elements that meet a condition; the others keep their order.
  @inline(never)
  public mutating func removeAll(where isRemoved: (Element) -> Bool) {
    var kept = 0
    for index in indices where !isRemoved(self[index]) {
      if kept < index { swapAt(kept, index) }
      kept += 1
    }
    removeLast(count - kept)
  }
}

extension Array {
  /// Removes elements until there are at most `limit`: each time the first one of the largest group; of groups of one
  /// size, of that whose first one comes first.
  @inline(never)
  public mutating func shorten(to limit: Int, sharedBy isSameGroup: (Element, Element) -> Bool) {
    while count > Swift.max(0, limit) { remove(at: firstOfLargestGroup(isSameGroup)) }
  }

  /// The index of the first element of the largest group; of groups of one size, of that whose first one comes first.
  @inline(never)
  public func firstOfLargestGroup(_ isSameGroup: (Element, Element) -> Bool) -> Int {
    var (place, largest, index) = (0, 0, 0)
    // Too few elements are left for a larger group then: usually after the first one.
    while largest < count - index {
      var size = 0
      for other in index..<count where isSameGroup(self[index], self[other]) { size += 1 }
      if size > largest { (place, largest) = (index, size) }
      index += 1
    }
    return place
  }
}

extension Array where Element: Swift.AnyObject {
  /// Removes an object; the others keep their order.
  @inline(never)
  public mutating func remove(_ object: Element) {
    for index in indices.reversed() where self[index] === object { remove(at: index) }
  }
}
