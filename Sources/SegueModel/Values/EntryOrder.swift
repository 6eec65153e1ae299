/// How the elements of a set, or the entries of a dictionary by their keys, stand: the sorting of `ValueWriter`.
enum EntryOrder {
  case ascending
  /// The bytes of a key or element that another one equals.
  case twice(Range<Int>)
  /// The same items in order.
  case other(sorted: [UInt8])

  private struct Entry {
    let start: Int
    /// Behind the element or key.
    let keyEnd: Int
    /// Behind the element or value.
    let end: Int
  }

  /// - Parameters:
  ///   - marks: offsets of the items, one behind the other.
  ///   - width: items that belong together: 2 for key and value, 1 for an element.
  ///   - end: offset behind the last item.
  init(bytes: UnsafeRawBufferPointer, marks: UnsafeBufferPointer<UInt32>, width: Int, end: Int) {
    self = .ascending
    guard let base = bytes.baseAddress else { return }
    let count = marks.count / width
    func entry(_ index: Int) -> Entry {
      let first = index * width
      let next = first + width < marks.count ? Int(marks[first + width]) : end
      return Entry(start: Int(marks[first]), keyEnd: width == 2 ? Int(marks[first + 1]) : next, end: next)
    }
    func compare(_ left: Entry, _ right: Entry) -> Int {
      ByteOrder.compare(
        base + left.start, left.keyEnd &- left.start, base + right.start, right.keyEnd &- right.start)
    }
    var isAscending = true
    for index in 1..<max(count, 1) where compare(entry(index - 1), entry(index)) >= 0 {
      isAscending = false
      break
    }
    if isAscending { return }
    self = withUnsafeTemporaryAllocation(of: Entry.self, capacity: count) { room in
      var entries = room
      for index in 0..<count { entries.initializeElement(at: index, to: entry(index)) }
      entries.sort { compare($0, $1) < 0 }
      for index in 1..<max(count, 1) where compare(entries[index - 1], entries[index]) == 0 {
        return .twice(entries[index].start..<entries[index].keyEnd)
      }
      let size = end - Int(marks[0])
      let sorted = [UInt8](unsafeUninitializedCapacity: size) { buffer, used in
        var target = UnsafeMutableRawBufferPointer(buffer)
        for entry in entries {
          target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[entry.start..<entry.end]))
          target = UnsafeMutableRawBufferPointer(rebasing: target[(entry.end - entry.start)...])
        }
        used = size
      }
      return .other(sorted: sorted)
    }
  }
}
