// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Elements in ascending order, found by binary search.
struct SortedArray<Element: Comparable> {
  private(set) var elements: [Element] = []

  /// Inserts it after equal elements.
  mutating func insert(_ element: Element) {
    elements.insert(element, at: firstIndex { element < $0 })
  }

  /// No effect if it is missing.
  mutating func remove(_ element: Element) {
    let index = firstIndex { !($0 < element) }
    guard index < elements.count, !(element < elements[index]) else { return }
    elements.remove(at: index)
  }

  /// The first element for which a condition holds that also holds for all later ones.
  private func firstIndex(where condition: (Element) -> Bool) -> Int {
    var low = 0
    var high = elements.count
    while low < high {
      let middle = (low + high) / 2
      if condition(elements[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
