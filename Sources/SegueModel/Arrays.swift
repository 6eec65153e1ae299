// What the standard library copies into each caller, as calls (docs/decisions/two-build-modes.md).

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

extension Array where Element: Swift.AnyObject {
  /// Removes an object; the others keep their order.
  @inline(never)
  public mutating func remove(_ object: Element) {
    for index in indices.reversed() where self[index] === object { remove(at: index) }
  }
}
