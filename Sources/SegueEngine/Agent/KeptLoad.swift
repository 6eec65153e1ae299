// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The activities that apps leave, take back and make current before the disk has said what is kept from before a
/// restart (R2.5). A disk that refuses to say it is asked again. Otherwise the activities on it would not be offered,
/// and those that were taken back or have ended would return.
struct KeptLoad {
  /// The most that apps do meanwhile; those of one process have a quarter of that, and of the bytes.
  static let limit = 1_024
  static let principalLimit = limit / Principal.share

  enum Early {
    case left(KeptRecord, principal: Identifier)
    case takenBack(Identifier, by: Identifier, principal: Identifier)
    /// The uptime at which an app has made an activity current last.
    case madeCurrent(AppIdentity, at: Int64, principal: Identifier)

    fileprivate var principal: Identifier {
      switch self {
      case .left(_, let principal), .takenBack(_, _, let principal), .madeCurrent(_, _, let principal): principal
      }
    }

    fileprivate var fileCount: Int { if case .left(let record, _) = self { record.fileCount } else { 0 } }
    fileprivate var size: Int { if case .left(let record, _) = self { record.document.count } else { 0 } }
  }

  private var early: [Early] = []
  private var pause = Backoff()
  /// Whether the disk has answered, or cannot be used at all.
  private(set) var isDone = false
  /// The uptime at which the disk is asked again.
  private(set) var asksAt: Int64?

  /// The bytes of the documents that it holds.
  var size: Int { early.reduce(0) { $0 + $1.size } }

  /// The files that it holds, of a principal, or of all.
  func fileCount(of principal: Identifier?) -> Int {
    early.reduce(0) { count, each in principal.map { $0 != each.principal } ?? false ? count : count + each.fileCount }
  }

  /// Whether apps of a principal may leave so many more bytes: one document, whatever its size.
  func hasRoom(for principal: Identifier, _ size: Int = 0) -> Bool {
    guard !isDone else { return true }
    let own = early.filter { $0.principal == principal }
    guard early.count < Self.limit, own.count < Self.principalLimit else { return false }
    let held = own.reduce(0) { $0 + $1.size }
    return held == 0 || held + size <= Limits.keptBytes / Principal.share
  }

  /// There is room.
  mutating func add(_ each: Early) { early.append(each) }

  /// An app has an activity that is current since an uptime: kept once for each app, if there is room.
  mutating func noteCurrent(of app: AppIdentity, at: Int64, principal: Identifier) {
    early.removeAll { if case .madeCurrent(let other, _, _) = $0 { other.id == app.id } else { false } }
    if hasRoom(for: principal) { add(.madeCurrent(app, at: at, principal: principal)) }
  }

  /// The disk has refused.
  /// - Returns: whether it is asked again.
  mutating func refused(_ error: SegueError, _ now: Instant) -> Bool {
    asksAt = pause.take(after: error).map { now.uptime + $0 }
    return asksAt != nil
  }

  /// - Returns: whether the disk is to be asked again now.
  mutating func isDue(_ now: Instant) -> Bool {
    guard let at = asksAt, at <= now.uptime else { return false }
    asksAt = nil
    return true
  }

  /// - Returns: what has come meanwhile.
  mutating func end() -> [Early] {
    isDone = true
    asksAt = nil
    defer { early = [] }
    return early
  }
}
