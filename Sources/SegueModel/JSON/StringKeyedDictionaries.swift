// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The dictionaries of a value that have only strings as keys. The keys are known only at the end of a dictionary, but
/// one with other keys is written in another way from the beginning. One pass finds out for all of them.
struct StringKeyedDictionaries {
  /// A bit for each dictionary, in the order of their beginnings: set if a key is not a string.
  private var others: [UInt8]

  init(_ value: Value) {
    others = [UInt8](repeating: 0, count: value.encoding.count / 8 + 1)
    var count = 0
    // For each open dictionary twice its number, and one more while a value of it comes next; -1 for other containers.
    var open: [Int] = []
    var reader = ValueReader(value)
    while let item = reader.next() {
      guard let kind = item.kind else {
        open.removeLast()
        continue
      }
      if let last = open.last, last >= 0 {
        if last & 1 == 0, kind != .string { others[last / 16] |= 1 << UInt8(last / 2 & 7) }
        open[open.count - 1] = last ^ 1
      }
      if kind == .dictionary {
        open.append(2 * count)
        count += 1
      } else if kind.isContainer {
        open.append(-1)
      }
    }
  }

  func contains(_ dictionary: Int) -> Bool { others[dictionary / 8] >> UInt8(dictionary & 7) & 1 == 0 }
}
