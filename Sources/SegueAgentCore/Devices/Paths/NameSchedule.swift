// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// Decides which names of devices are looked up, and when (R14.2): anew for each dial, at most four at a time, with
/// pauses that double while a device is not linked, and not at all while it is. No I/O, no clock, no randomness.
struct NameSchedule {
  /// The name of a device, as the user has given it.
  struct Entry: Equatable {
    let name: DeviceHostName
    let port: UInt16
    let device: Identifier

    static func == (left: Entry, right: Entry) -> Bool {
      left.device == right.device && left.port == right.port && Text.isSame(left.name.text, right.name.text)
    }
  }

  /// Milliseconds to the second look-up, and the most between two.
  static let firstPause: Int64 = 1_000
  static let longestPause: Int64 = 60_000
  /// Milliseconds for which the addresses of a name are dialled, after the last of them has begun.
  static let dialTime = HalfOpenTable.time

  private enum State {
    /// The uptime of the next look-up.
    case waiting(until: Int64)
    /// A look-up is under way. The network has changed meanwhile: another one follows at once.
    case looking(again: Bool)
  }

  private struct Record {
    let entry: Entry
    var state: State
    var pause = NameSchedule.firstPause
    /// The reason for which the last look-up has failed.
    var failure: String?
  }

  private var records: [Record] = []

  /// Sets the names. Those that were there before go on.
  mutating func set(_ entries: [Entry], _ uptime: Int64) {
    let former = records
    records = []
    for entry in entries where !records.contains(where: { $0.entry == entry }) {
      let known = former.first { $0.entry == entry }
      records.append(known ?? Record(entry: entry, state: .waiting(until: uptime)))
    }
  }

  /// The names that there are.
  var entries: [Entry] { records.map { $0.entry } }

  /// The reason for which the last look-up of a name has failed; nil: it has not, or there was none.
  func failure(of entry: Entry) -> String? { records.first { $0.entry == entry }?.failure }

  private var lookUps: Int { records.count { if case .looking = $0.state { true } else { false } } }

  /// The uptime at which `takeDue` has a name; nil for none.
  /// - Parameter linked: the devices that are linked.
  func nextDeadline(linked: [Identifier]) -> Int64? {
    guard lookUps < NameLookup.limit else { return nil }
    return records.compactMap { record in
      guard case .waiting(let until) = record.state, !linked.contains(record.entry.device) else { return nil }
      return until
    }.min()
  }

  /// Returns the next name to look up; nil if none is due. `ended` follows.
  mutating func takeDue(linked: [Identifier], _ uptime: Int64) -> Entry? {
    guard lookUps < NameLookup.limit else { return nil }
    var next: (index: Int, until: Int64)?
    for (index, record) in records.enumerated() {
      guard case .waiting(let until) = record.state, until <= uptime, !linked.contains(record.entry.device),
        next.map({ until < $0.until }) ?? true
      else { continue }
      next = (index, until)
    }
    guard let next else { return nil }
    records[next.index].state = .looking(again: false)
    return records[next.index].entry
  }

  /// A look-up has ended. The next one comes after its addresses were dialled, and a pause.
  /// - Parameter random: drawn for this call.
  mutating func ended(_ entry: Entry, _ lookup: NameLookup, _ uptime: Int64, random: UInt32) {
    guard let index = records.firstIndex(where: { $0.entry == entry }), case .looking(let again) = records[index].state
    else { return }
    var dialled: Int64 = 0
    switch lookup {
    case .addresses(let addresses):
      records[index].failure = nil
      dialled = Int64(addresses.count) * Dialler<NetworkAddress>.stagger + Self.dialTime
    case .failed(let reason): records[index].failure = reason
    }
    let pause = records[index].pause
    records[index].pause = min(2 * pause, Self.longestPause)
    let jitter = pause / 2 + Int64(random) % (pause / 2 + 1)
    records[index].state = .waiting(until: again ? uptime : uptime + dialled + jitter)
  }

  /// This device has another network or address, or has woken up.
  mutating func networkChanged(_ uptime: Int64) { for index in records.indices { beginAnew(index, uptime) } }

  /// The link with a device has ended.
  mutating func unlinked(_ device: Identifier, _ uptime: Int64) {
    for index in records.indices where records[index].entry.device == device { beginAnew(index, uptime) }
  }

  private mutating func beginAnew(_ index: Int, _ uptime: Int64) {
    records[index].pause = Self.firstPause
    if case .looking = records[index].state {
      records[index].state = .looking(again: true)
    } else {
      records[index].state = .waiting(until: uptime)
    }
  }
}
