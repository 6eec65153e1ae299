// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A set of the most recent identifiers; older ones are dropped.
struct RecentIdentifiers {
  static let capacity = 64
  private var identifiers: [Identifier] = []
  private var next = 0

  mutating func insert(_ id: Identifier) {
    if identifiers.count < Self.capacity {
      identifiers.append(id)
    } else {
      identifiers[next] = id
      next = (next + 1) % Self.capacity
    }
  }

  func contains(_ id: Identifier) -> Bool { identifiers.contains(id) }
}
