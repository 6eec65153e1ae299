// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The activities of a scripted app: its own, and those that it has continued and keeps (R3.12).
struct ScriptedActivities {
  /// The most activities of each kind; the oldest is dropped, as if it were invalidated.
  static let limit = 4
  /// Its own activities, oldest first.
  private(set) var own: [KnownActivity] = []
  /// The activities that it has continued and keeps, oldest first.
  private(set) var kept: [KnownActivity] = []

  /// Its own, then those that it keeps.
  var all: [KnownActivity] { own + kept }
  /// Whether another one of its own is one too many.
  var isFull: Bool { own.count == Self.limit }

  /// Nil if it was invalidated.
  subscript(id: Identifier) -> KnownActivity? { own.first { $0.id == id } ?? kept.first { $0.id == id } }

  /// Returns the kept activity of a continuation; nil if there is none.
  func kept(_ from: ContinuedFrom) -> KnownActivity? { kept.first { $0.from?.continuation == from.continuation } }

  /// Adds one of its own.
  mutating func add(_ known: KnownActivity) { own.append(known) }

  /// Adds one that it has continued.
  mutating func keep(_ known: KnownActivity) { kept.append(known) }

  /// Removes an activity.
  /// - Returns: whether it was its own.
  mutating func remove(_ id: Identifier) -> Bool {
    kept.removeAll { $0.id == id }
    guard let index = own.firstIndex(where: { $0.id == id }) else { return false }
    own.remove(at: index)
    return true
  }
}
