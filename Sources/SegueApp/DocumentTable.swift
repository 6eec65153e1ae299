// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The open documents of an app (R5), and those that it opens for what it continues (R3.5). Guarded by the app's lock.
struct DocumentTable {
  /// A continuation whose document is being opened.
  struct Opening {
    let id: Identifier
    /// The activity that it has brought.
    let activity: Identifier
    /// The document's.
    let url: String
  }

  /// In the order in which they were opened, which is that of the numbers of their responders.
  private(set) var all: [LiveDocument] = []
  private var openings: [Opening] = []

  var isEmpty: Bool { all.isEmpty }

  mutating func append(_ document: LiveDocument) { all.append(document) }

  /// The document of the responder with that number.
  subscript(number: UInt64) -> LiveDocument? { index(of: number).map { all[$0] } }

  /// Removes the document of the responder with that number.
  mutating func remove(_ number: UInt64) { if let index = index(of: number) { all.remove(at: index) } }

  /// - Returns: all that there were.
  mutating func removeAll() -> [LiveDocument] {
    defer { all = [] }
    return all
  }

  private func index(of number: UInt64) -> Int? {
    var (from, end) = (0, all.count)
    while from < end {
      let middle = (from + end) / 2
      guard let found = all[middle].responder.engineResponder?.number, found != number else { return middle }
      if found < number { from = middle + 1 } else { end = middle }
    }
    return nil
  }

  // MARK: Opening

  mutating func beginOpening(_ opening: Opening) { openings.append(opening) }

  /// The continuation for which a file is being opened, by its name or its real path.
  func opening(at place: ContainerPlace, or named: ContainerPlace, _ containers: Containers) -> Opening? {
    openings.first { containers.place(of: $0.url).map { $0.isSame(as: place) || $0.isSame(as: named) } ?? false }
  }

  /// The document of a continuation is open, or will not be.
  /// - Returns: the open documents that have waited for it, and the activity that came.
  mutating func endOpening(_ id: Identifier) -> (waiting: [LiveDocument], came: Identifier?) {
    let came = openings.first { $0.id == id }?.activity
    openings.removeAll { $0.id == id }
    return (all.filter { $0.awaitedOpening == id }, came)
  }
}
