// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The settings as they count now: those on the disk, and the records of other devices that were learned since, which
/// the disk gets later.
struct CurrentSettings {
  /// Milliseconds from the first news to the write that has it, and between two writes.
  private static let learningTime: Int64 = 2_000
  private static let learningPause: Int64 = 60_000

  private(set) var all = DeviceSettings()
  /// Why what the user has set could not be read.
  private(set) var problem: SegueError?
  /// The records that are not stored yet. Invariant: `all` has them.
  private(set) var learned: [DeviceRecord] = []
  /// The uptime at which `takeLearned` has something to do.
  private(set) var deadline: Int64?
  /// The uptime at which records were stored last.
  private var storedAt = -learningPause
  /// Rations the addresses that each device tells.
  private var tellings = SourceRateLimiter(each: 4, all: Limits.devices * 4)

  /// Takes the settings that were read at the start.
  mutating func load(_ stored: StoredSettings) { (all, problem) = (stored.settings, stored.problem) }

  /// Takes the settings that are stored, with what was learned since.
  mutating func adopt(_ stored: DeviceSettings) {
    all = stored
    for each in learned { all.records.learn(each) }
  }

  /// Takes the settings that the user has changed, which are readable then.
  mutating func change(_ stored: DeviceSettings) {
    adopt(stored)
    problem = nil
  }

  // MARK: Records of other devices

  /// A device has told where it can be reached. Addresses that lead to no other machine do not count.
  /// - Returns: whether that is news.
  mutating func heard(_ port: UInt16, _ addresses: [NetworkAddress], of peer: Identifier, at uptime: Int64) -> Bool {
    guard tellings.take(peer.bytes, at: uptime) else { return false }
    var news = all.records[peer] ?? DeviceRecord(peer)
    let usable = addresses.filter { $0.isOfMachine && !$0.isLoopback }
    guard news.port != port || news.told != usable else { return false }
    (news.port, news.told) = (port, usable)
    learn(news, at: uptime)
    return true
  }

  /// A device was reached at an address: the next link begins there.
  /// - Returns: whether that is news.
  mutating func reached(_ peer: Identifier, at address: NetworkAddress, _ uptime: Int64) -> Bool {
    var news = all.records[peer] ?? DeviceRecord(peer)
    guard !Text.isSame(news.best, address.text) else { return false }
    news.best = address.text
    learn(news, at: uptime)
    return true
  }

  private mutating func learn(_ news: DeviceRecord, at uptime: Int64) {
    all.records.learn(news)
    learned.removeAll { $0.device == news.device }
    learned.append(news)
    deadline = deadline ?? max(uptime + Self.learningTime, storedAt + Self.learningPause)
  }

  /// Removes the records that are to be stored now, if it is time for that; nil: it is not.
  /// - Parameter isLast: whether the agent ends, so that it is time for all.
  mutating func takeLearned(at uptime: Int64, isLast: Bool) -> [DeviceRecord]? {
    guard let at = deadline, isLast || at <= uptime else { return nil }
    (deadline, storedAt) = (nil, uptime)
    defer { learned = [] }
    return learned
  }

  /// Forgets the mailbox if it is none of these devices.
  /// - Returns: whether it was forgotten.
  mutating func forgetMailbox(exceptAmong devices: [Identifier]) -> Bool { all.forgetMailbox(exceptAmong: devices) }

  /// Forgets the records of other devices than these.
  /// - Returns: whether there were some.
  mutating func keepRecords(of devices: [Identifier]) -> Bool {
    learned.removeAll { !devices.contains($0.device) }
    guard all.records.all.contains(where: { !devices.contains($0.device) }) else { return false }
    all.records.keep(devices)
    return true
  }
}
