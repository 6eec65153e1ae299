// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

extension Value {
  /// A dictionary with the entries of this one and of another; for the same key, the new one's value stays (R1.10).
  /// Throws WRONG_KIND if one of them is not a dictionary, LIMIT_EXCEEDED if the result is too large.
  public func merging(_ entries: Value) throws(SegueError) -> Value { try Value.merging([self, entries]) }

  /// The same for any number of dictionaries, in about the time that sorting all entries takes.
  public static func merging(_ dictionaries: [Value]) throws(SegueError) -> Value {
    var size = 0
    var count = 0
    for dictionary in dictionaries {
      let head = dictionary.encoding.withEncoding { Head(trusted: $0) }
      guard head.major == Head.Major.map else { throw SegueError(.wrongKind, "only dictionaries can be merged") }
      size += dictionary.encoding.count - head.size
      count += head.count
    }
    // The entries twice, and their places, which are sorted.
    try Memory.check(2 * size + 2 * MemoryLayout<EntryOrder.Entry>.stride * count)
    var entries: [EntryOrder.Entry] = []
    entries.reserveCapacity(count)
    let all = collect(dictionaries, size, &entries)
    var kept = 0
    var keptSize = 0
    all.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      entries.withUnsafeMutableBufferPointer { EntryOrder.sort(base, $0) }
      for index in entries.indices {
        let isReplaced =
          index + 1 < entries.count && EntryOrder.compare(base, entries[index], entries[index + 1]) == 0
        guard !isReplaced else { continue }
        entries[kept] = entries[index]
        keptSize += entries[index].end - entries[index].start
        kept += 1
      }
    }
    guard keptSize <= Limits.value - Head.longest else {
      throw SegueError(.limitExceeded, "a value would have more than \(Limits.value) bytes")
    }
    return Value(
      trusted: [UInt8](unsafeUninitializedCapacity: Head.size(of: UInt64(kept)) + keptSize) { buffer, count in
        guard let target = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
        count = Head.write(Head.Major.map, UInt64(kept), to: target)
        all.withUnsafeBytes { bytes in
          guard let base = bytes.baseAddress else { return }
          for entry in entries[..<kept] {
            (target + count).copyMemory(from: base + entry.start, byteCount: entry.end - entry.start)
            count += entry.end - entry.start
          }
        }
      })
  }

  /// A dictionary without the entry that has this string as its key; the same value if there is none.
  public func removing(utf8 key: UnsafeRawBufferPointer) -> Value {
    guard let range = rangeOfEntry(utf8: key) else { return self }
    let head = encoding.withEncoding { Head(trusted: $0) }
    let start = range.lowerBound - Head.size(of: UInt64(key.count)) - key.count
    var bytes = [UInt8](repeating: 0, count: Head.size(of: UInt64(head.count - 1)))
    bytes.withUnsafeMutableBytes { buffer in
      if let base = buffer.baseAddress { _ = Head.write(Head.Major.map, UInt64(head.count - 1), to: base) }
    }
    bytes.append(bytes: encoding[head.size..<start])
    bytes.append(bytes: encoding[range.upperBound...])
    return Value(trusted: bytes)
  }

  /// The entries of dictionaries one after the other, and where each of them is.
  private static func collect(
    _ dictionaries: [Value], _ size: Int, _ entries: inout [EntryOrder.Entry]
  ) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { buffer, used in
      guard let target = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
      for dictionary in dictionaries {
        dictionary.encoding.withEncoding { base in
          let head = Head(trusted: base)
          let length = dictionary.encoding.count - head.size
          (target + used).copyMemory(from: base + head.size, byteCount: length)
          var start = used
          for _ in 0..<head.count {
            let keyEnd = Head.skip(target, from: start)
            let end = Head.skip(target, from: keyEnd)
            entries.append(EntryOrder.Entry(start: start, keyEnd: keyEnd, end: end))
            start = end
          }
          used += length
        }
      }
    }
  }
}
