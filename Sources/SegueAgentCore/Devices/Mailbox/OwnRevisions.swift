// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The revisions of what apps of this device offer (R14.5): each rises whenever its offer changes. No date takes part.
struct OwnRevisions {
  /// The starts of the agent that are told apart, in the upper half of a revision.
  static let lastStart: UInt64 = 1 << 30

  private struct Entry {
    let offer: Offer
    let revision: UInt64
  }

  private var entries: [Entry] = []
  private var last: UInt64

  /// - Parameter start: the number of starts of the agent so far, this one included; from 1 on.
  init(start: UInt64) { last = min(start, Self.lastStart) << 32 }

  /// The number of a push: above all revisions and numbers so far.
  mutating func takeNumber() -> UInt64 {
    last += 1
    return last
  }

  /// Takes what is offered now, the frontmost first.
  /// - Returns: the revision of each.
  mutating func take(_ offers: [Offer]) -> [(activity: Identifier, revision: UInt64)] {
    var current: [Entry] = []
    for offer in offers {
      let known = entries.first { $0.offer.description.id == offer.description.id }
      if let known, known.offer == offer, known.offer.description.sizeHint == offer.description.sizeHint {
        current.append(known)
      } else {
        last += 1
        current.append(Entry(offer: offer, revision: last))
      }
    }
    entries = current
    return current.map { ($0.offer.description.id, $0.revision) }
  }
}
