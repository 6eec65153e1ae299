// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// An unordered list whose elements know their positions: insertion and removal in constant time.
struct UnorderedList<Element: AnyObject> {
  private(set) var all: [Element] = []

  var count: Int { all.count }
  var isEmpty: Bool { all.isEmpty }

  /// - Returns: its position.
  mutating func append(_ element: Element) -> Int {
    all.append(element)
    return all.count - 1
  }

  func has(_ element: Element, at place: Int) -> Bool { place < all.count && all[place] === element }

  /// - Returns: the element that moved to this position, which has to be updated, or nil.
  mutating func remove(at place: Int) -> Element? {
    let last = all.removeLast()
    guard place < all.count else { return nil }
    all[place] = last
    return last
  }

  mutating func removeAll() { all = [] }
}
