// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueEngine

@Suite struct RecentIdentifiersTests {
  @Test(arguments: [1, RecentIdentifiers.capacity, RecentIdentifiers.capacity + 1, 3 * RecentIdentifiers.capacity + 5])
  func `the last are remembered, and no other`(count: Int) {
    var recent = RecentIdentifiers()
    let identifiers = (0..<count).map { Identifier(high: 0, low: UInt64($0)) }
    for id in identifiers { recent.insert(id) }
    for id in identifiers.suffix(RecentIdentifiers.capacity) { #expect(recent.contains(id)) }
    for id in identifiers.dropLast(RecentIdentifiers.capacity) { #expect(!recent.contains(id)) }
  }
}
