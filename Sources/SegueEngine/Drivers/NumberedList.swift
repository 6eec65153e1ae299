/// Elements ordered by their ascending numbers.
struct NumberedList<Element> {
  private(set) var elements: [Element] = []
  /// The numbers in the same order, for look-ups.
  private var numbers: [UInt64] = []

  var count: Int { elements.count }

  subscript(number: UInt64) -> Element? { place(of: number).map { elements[$0] } }

  /// Adds an element whose number is above those of all others.
  mutating func append(_ element: Element, as number: UInt64) {
    elements.append(element)
    numbers.append(number)
  }

  @discardableResult mutating func remove(_ number: UInt64) -> Element? {
    guard let place = place(of: number) else { return nil }
    numbers.remove(at: place)
    return elements.remove(at: place)
  }

  mutating func removeAll() {
    elements = []
    numbers = []
  }

  private func place(of number: UInt64) -> Int? {
    var low = 0
    var high = numbers.count
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low < numbers.count && numbers[low] == number ? low : nil
  }
}
