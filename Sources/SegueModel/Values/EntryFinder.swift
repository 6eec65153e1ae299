// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Finds entries of a dictionary by keys that are asked for in the order of their encodings, all of them in one pass.
struct EntryFinder {
  private let encoding: [UInt8]
  /// The offset of the first entry whose key is not smaller than the last one that was asked for.
  private var offset: Int
  /// The number of entries from there on.
  private var left: Int

  /// - Parameter dictionary: another value has no entries.
  init(_ dictionary: Value) {
    encoding = dictionary.encoding
    let head = encoding.withEncoding { Head(trusted: $0) }
    offset = head.size
    left = head.major == Head.Major.map ? head.count : 0
  }

  /// Whether there is an entry with this key, which is not smaller than the one before.
  mutating func has(_ key: Value) -> Bool {
    var (offset, left, isFound) = (self.offset, self.left, false)
    encoding.withEncoding { base in
      key.encoding.withEncoding { wanted in
        while left > 0 {
          let keyEnd = Head.skip(base, from: offset)
          let order = ByteOrder.compare(base + offset, keyEnd - offset, wanted, key.encoding.count)
          isFound = order == 0
          guard order < 0 else { return }
          offset = Head.skip(base, from: keyEnd)
          left -= 1
        }
      }
    }
    (self.offset, self.left) = (offset, left)
    return isFound
  }
}
