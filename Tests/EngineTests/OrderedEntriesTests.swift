// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

@testable import SegueEngine

@Suite struct OrderedEntriesTests {
  @Test func `what is removed in any order leaves the rest in theirs`() {
    var random = SystemRandomNumberGenerator()
    var entries = OrderedEntries<Int>()
    var model: [(number: UInt64, element: Int)] = []
    for element in 0..<3_000 {
      if model.isEmpty || Int.random(in: 0..<5, using: &random) < 3 {
        model.append((entries.append(element), element))
      } else {
        let gone = model.remove(at: Int.random(in: 0..<model.count, using: &random))
        entries.remove(gone.number)
        // A second time has no effect.
        entries.remove(gone.number)
      }
      #expect(entries.count == model.count && entries.isEmpty == model.isEmpty)
      if element % 100 == 0 { #expect(entries.all == model.map { $0.element }) }
    }
    entries.remove(0)
    entries.remove(.max)
    #expect(entries.all == model.map { $0.element })
    entries.removeAll()
    #expect(entries.isEmpty && entries.all.isEmpty)
  }
}
