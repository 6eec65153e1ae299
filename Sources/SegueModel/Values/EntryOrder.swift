// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The order of the elements of a set, or of the entries of a dictionary by their keys.
enum EntryOrder {
  struct Entry {
    let start: Int
    /// Offset after the element or key.
    let keyEnd: Int
    /// Offset after the element or value.
    let end: Int
  }

  /// Up to this many items are sorted by insertion, which is faster for few.
  private static let insertionLimit = 16

  /// Sorts items in bytewise order (RFC 8949 §4.2.1). Returns the bytes of a duplicate key or element, if there is one,
  /// where they come later; the items are then unchanged.
  ///
  /// - Parameters:
  ///   - base: where the offsets count from.
  ///   - marks: offsets of the items, in order.
  ///   - width: items that belong together: 2 for key and value, 1 for an element.
  ///   - end: offset behind the last item.
  static func sort(
    _ base: UnsafeMutableRawPointer, marks: UnsafeBufferPointer<UInt32>, width: Int, end: Int
  ) -> Range<Int>? {
    let count = marks.count / width
    guard count > 1 else { return nil }
    func entry(_ index: Int) -> Entry {
      let first = index * width
      let next = first + width < marks.count ? Int(marks[first + width]) : end
      return Entry(start: Int(marks[first]), keyEnd: width == 2 ? Int(marks[first + 1]) : next, end: next)
    }
    func compare(_ left: Entry, _ right: Entry) -> Int { Self.compare(UnsafeRawPointer(base), left, right) }
    var last = entry(0)
    var ascending = 1
    while ascending < count {
      let next = entry(ascending)
      if compare(last, next) >= 0 { break }
      last = next
      ascending += 1
    }
    if ascending == count { return nil }
    return withUnsafeTemporaryAllocation(of: Entry.self, capacity: count) { room in
      let entries = room
      for index in 0..<count { entries.initializeElement(at: index, to: entry(index)) }
      if count <= insertionLimit {
        // Invariant: the items before `ascending` are in order, and no two of them are equal.
        for index in ascending..<count {
          let moved = entries[index]
          var place = index
          while place > 0 {
            let order = compare(entries[place &- 1], moved)
            if order == 0 { return moved.start..<moved.keyEnd }
            if order < 0 { break }
            entries[place] = entries[place &- 1]
            place &-= 1
          }
          entries[place] = moved
        }
      } else {
        sort(UnsafeRawPointer(base), entries)
        for index in 1..<count where compare(entries[index - 1], entries[index]) == 0 {
          let later = entries[index].start > entries[index - 1].start ? entries[index] : entries[index - 1]
          return later.start..<later.keyEnd
        }
      }
      rearrange(base, entries, first: Int(marks[0]), end: end)
      return nil
    }
  }

  /// Compares two elements or keys. Offsets count from `base`.
  @inline(__always)
  static func compare(_ base: UnsafeRawPointer, _ left: Entry, _ right: Entry) -> Int {
    ByteOrder.compare(base + left.start, left.keyEnd &- left.start, base + right.start, right.keyEnd &- right.start)
  }

  /// Sorts entries by their keys; equal ones keep the order of their offsets. A heapsort: whatever the order was, it
  /// takes n log n comparisons; the standard library's sort would be another 5 KB of code.
  @inline(never)
  static func sort(_ base: UnsafeRawPointer, _ entries: UnsafeMutableBufferPointer<Entry>) {
    func isBefore(_ left: Entry, _ right: Entry) -> Bool {
      let order = compare(base, left, right)
      return order == 0 ? left.start < right.start : order < 0
    }
    var (start, end) = (entries.count / 2, entries.count)
    while end > 1 {
      if start > 0 {
        start &-= 1
      } else {
        end &-= 1
        entries.swapAt(0, end)
      }
      // Invariant: below each entry from `start` on, but for the one at `root`, none comes after it.
      var root = start
      while true {
        var child = 2 &* root &+ 1
        guard child < end else { break }
        if child &+ 1 < end, isBefore(entries[child], entries[child &+ 1]) { child &+= 1 }
        guard isBefore(entries[root], entries[child]) else { break }
        entries.swapAt(root, child)
        root = child
      }
    }
  }

  private static func rearrange(
    _ base: UnsafeMutableRawPointer, _ entries: UnsafeMutableBufferPointer<Entry>, first: Int, end: Int
  ) {
    withUnsafeTemporaryAllocation(byteCount: end - first, alignment: 1) { copy in
      guard let source = copy.baseAddress else { return }
      source.copyMemory(from: base + first, byteCount: end - first)
      var target = base + first
      for entry in entries {
        target.copyMemory(from: source + (entry.start - first), byteCount: entry.end - entry.start)
        target += entry.end - entry.start
      }
    }
  }
}
