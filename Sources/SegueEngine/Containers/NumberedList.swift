// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Elements ordered by their ascending numbers.
struct NumberedList<Element> {
  private(set) var elements: [Element] = []
  /// The numbers in the same order, for look-ups.
  private var numbers: [UInt64] = []

  var count: Int { elements.count }

  subscript(number: UInt64) -> Element? { place(of: number).map { elements[$0] } }

  /// Sets the element of a number. A number above all others costs the least.
  mutating func set(_ element: Element, as number: UInt64) {
    let place = firstPlace(from: number)
    if place < numbers.count, numbers[place] == number {
      elements[place] = element
    } else {
      elements.insert(element, at: place)
      numbers.insert(number, at: place)
    }
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
    let place = firstPlace(from: number)
    return place < numbers.count && numbers[place] == number ? place : nil
  }

  /// The first place whose number is not lower.
  private func firstPlace(from number: UInt64) -> Int {
    var low = 0
    var high = numbers.count
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
