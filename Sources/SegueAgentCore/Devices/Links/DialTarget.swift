// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// An address that a device dials, with what came of it so far.
struct DialTarget<Address: Equatable> {
  private typealias Rules = Dialler<Address>

  /// The furthest step that attempts at an address have reached.
  enum Standing: Int {
    case unknown
    /// The other side has proved the knock key.
    case knocked
    /// A device was linked by it.
    case linked
  }

  /// Beacons that do not have an address dialled, since the device that was found there is refused.
  enum Quiet {
    case none
    /// Those under a former epoch.
    case former(until: Int64)
    /// All, until the list of devices changes.
    case all(until: Int64)

    /// Whether it holds now.
    func holds(at uptime: Int64) -> Bool {
      switch self {
      case .none: false
      case .former(let until), .all(let until): until > uptime
      }
    }
  }

  /// The reason for which an address is known.
  enum Kind {
    /// The user has named it.
    case named
    /// A beacon has announced it.
    case announced
    /// A device has told it over a link.
    case told
    /// A name of a device led there when it was looked up last.
    case resolved
    /// The user has arranged it for one device: a command.
    case arranged
    /// A linked device may pass bytes on to it (R14.3).
    case relayed
  }

  let address: Address
  var kind: Kind
  /// Whether the user has named it.
  var isStatic: Bool { kind == .named }
  /// Whether it stays, wherever it has led.
  var isLasting: Bool { [.named, .arranged, .relayed].contains(kind) }
  var cost: PathCost
  /// The machine that has announced it; empty for static ones.
  var source: [UInt8] = []
  /// Whether it was announced under a former epoch.
  var isFormer = false
  /// The uptime of the last beacon; `Int64.min` before the first.
  var heardAt: Int64
  /// The uptime of the next attempt; nil: none is planned.
  var dueAt: Int64?
  /// The uptime of the last attempt.
  var triedAt: Int64?
  var pause = Rules.firstPause
  var isTrying = false
  /// Whether the other side of the attempt under way has proved the knock key.
  var hasKnocked = false
  var standing = Standing.unknown
  var quiet = Quiet.none
  /// The device that was found there last.
  var device: Identifier?
  /// Whether the user has named the address again since: it may lead elsewhere now.
  var isDoubted = false
  /// The age of the next knock's epoch: 0 for the current one, 1 for the one before it.
  var age = 0
  /// Attempts at it that may still be made as a better path of a linked device.
  var improvements = Rules.improvementLimit
  /// The reason for which the last attempt has failed.
  var failure: SegueError?
  /// The reason for which its relay does not lead there now.
  var obstacle: SegueError?

  /// The uptime at which its attempt makes room for another one.
  var patience: Int64? {
    let patience = hasKnocked ? Rules.linkPatience : Rules.knockPatience
    return triedAt.map { $0 + (kind == .arranged ? Rules.arrangedPatience : patience) }
  }

  /// Whether its attempt ends before that of another one: first the one that has come less far, then the older.
  func endsBefore(_ other: Self) -> Bool {
    let ranks = [self, other].map { $0.standing.rawValue + ($0.isLasting ? 4 : 0) }
    return ranks[0] != ranks[1] ? ranks[0] < ranks[1] : (triedAt ?? 0) < (other.triedAt ?? 0)
  }

  /// Whether it is dialled before another one, both being due. Addresses of the user and those that have led to a
  /// device come first; those that were announced under a former epoch come last.
  func hasTurn(before other: Self) -> Bool {
    if device != nil, device == other.device, cost != other.cost { return cost < other.cost }
    let ranks = [self, other].map { target in
      if target.isFormer { return 2 }
      return target.isLasting || target.kind == .resolved || target.standing == .linked ? 0 : 1
    }
    guard ranks[0] == ranks[1] else { return ranks[0] < ranks[1] }
    // One that was tried in vain lets others pass, for a while.
    let turns = [self, other].map { ($0.dueAt ?? 0) + ($0.triedAt == nil ? 0 : Rules.firstPause) }
    return turns[0] < turns[1]
  }

  /// The uptime at which another attempt may begin.
  func soonest(_ uptime: Int64) -> Int64 { max(uptime, triedAt.map { $0 + Rules.leastPause } ?? uptime) }

  /// Plans an attempt as soon as may be, not later than is planned.
  mutating func planSoon(_ uptime: Int64) { dueAt = min(dueAt ?? .max, soonest(uptime)) }

  /// An attempt begins.
  mutating func begin(_ uptime: Int64) {
    (isTrying, hasKnocked) = (true, false)
    (triedAt, dueAt) = (uptime, nil)
  }

  /// Plans a look at where a static address leads then; one that was announced will be announced again.
  mutating func planLook(_ uptime: Int64) { dueAt = isLasting ? uptime + Rules.recheckPause : nil }

  /// Plans an attempt after a pause, which gets longer.
  mutating func planAgain(_ uptime: Int64, _ random: UInt32) {
    // The next look-up of its name has it dialled again, if it is still an address of that.
    if kind == .resolved, standing != .linked { return }
    let pause = self.pause
    // Between half and all of it, so that two devices do not go on dialling at the same moments.
    let jitter = pause / 2 + Int64(random) % (pause / 2 + 1)
    let isArranged = kind == .arranged
    let longest = isArranged || kind == .told ? Rules.recheckPause : Rules.longestPause
    // A server of ssh may shut out who fails often.
    self.pause = min((isArranged ? 4 : 2) * pause, longest)
    let next = max(uptime + jitter, isStatic ? uptime : soonest(uptime))
    // Sooner, if the network has changed meanwhile.
    dueAt = min(dueAt ?? .max, next)
  }
}
