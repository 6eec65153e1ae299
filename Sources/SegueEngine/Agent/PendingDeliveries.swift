// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Entries whose delivery has begun before a process of their app is open: the first one gets it.
struct PendingDeliveries {
  struct Entry {
    let bundle: String
    let item: InboxItem
    /// The uptime at which the delivery ends without a process.
    let until: Int64
  }

  /// Entries, and milliseconds for each app to open.
  static let limit = 64
  static let openingTime: Int64 = 20_000

  private var all: [Entry] = []

  /// The uptime at which `takeOverdue` has an entry; nil for none.
  var nextDeadline: Int64? { all.map { $0.until }.min() }

  /// - Returns: false if there is no room.
  mutating func add(_ item: InboxItem, for bundle: String, _ now: Instant) -> Bool {
    guard all.count < Self.limit else { return false }
    all.append(Entry(bundle: bundle, item: item, until: now.uptime + Self.openingTime))
    return true
  }

  /// Returns the entry that awaits a process of an app, and removes it; nil for none.
  /// - Parameter tried: entries that it does not get.
  mutating func take(for bundle: String, except tried: [Identifier]) -> InboxItem? {
    guard let index = all.firstIndex(where: { Text.isSame($0.bundle, bundle) }),
      !tried.contains(all[index].item.continuation)
    else { return nil }
    return all.remove(at: index).item
  }

  /// Returns the entry of a continuation, and removes it; nil if it awaits no app.
  mutating func take(_ continuation: Identifier) -> Entry? {
    all.firstIndex { $0.item.continuation == continuation }.map { all.remove(at: $0) }
  }

  /// Returns an entry for which no process has opened in time, and removes it; nil for none.
  mutating func takeOverdue(_ now: Instant) -> Entry? {
    all.firstIndex { $0.until <= now.uptime }.map { all.remove(at: $0) }
  }

  /// Returns any entry, and removes it; nil for none.
  mutating func takeAny() -> Entry? { all.isEmpty ? nil : all.removeLast() }
}
