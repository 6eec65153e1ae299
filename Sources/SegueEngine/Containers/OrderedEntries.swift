// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Elements in the order in which they were added, each with a number that rises. Removal takes logarithmic time, and
/// of n elements in any order n times that.
struct OrderedEntries<Element> {
  private struct Entry {
    let number: UInt64
    /// Nil: removed.
    var element: Element?
  }

  /// In ascending order of their numbers.
  private var entries: [Entry] = []
  private(set) var count = 0
  private var lastNumber: UInt64 = 0

  var isEmpty: Bool { count == 0 }

  var all: [Element] { entries.compactMap { $0.element } }

  /// - Returns: its number, for `remove`.
  mutating func append(_ element: Element) -> UInt64 {
    lastNumber += 1
    entries.append(Entry(number: lastNumber, element: element))
    count += 1
    return lastNumber
  }

  mutating func remove(_ number: UInt64) {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = low + (high - low) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    guard low < entries.count, entries[low].number == number, entries[low].element != nil else { return }
    entries[low].element = nil
    count -= 1
    // Each removal pays for its part of this.
    if entries.count > 2 * count + 16 { entries.removeAll { $0.element == nil } }
  }

  mutating func removeAll() {
    entries = []
    count = 0
  }
}
