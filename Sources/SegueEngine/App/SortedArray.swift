/// Elements in ascending order, found by halving.
struct SortedArray<Element: Comparable> {
  private(set) var elements: [Element] = []

  /// Behind those that are equal to it.
  mutating func insert(_ element: Element) {
    elements.insert(element, at: firstIndex { element < $0 })
  }

  /// Nothing happens if it is not there.
  mutating func remove(_ element: Element) {
    let index = firstIndex { !($0 < element) }
    guard index < elements.count, !(element < elements[index]) else { return }
    elements.remove(at: index)
  }

  /// The first element for which a condition holds that holds for all behind it, too.
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
