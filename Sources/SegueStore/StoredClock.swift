// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The clock of a database, stored in it: it goes on where the last process has left it.
struct StoredClock {
  static let table: StaticString = """
    CREATE TABLE clock (
      number INTEGER PRIMARY KEY CHECK (number = 0),
      boot TEXT NOT NULL,
      uptime INTEGER NOT NULL CHECK (uptime >= 0),
      date REAL NOT NULL,
      steady REAL NOT NULL
    ) STRICT;
    """
  static let row: StaticString = "SELECT boot, uptime, date, steady FROM clock WHERE number = 0"

  private enum State {
    /// The dates that callers give are taken as they are.
    case unused
    /// The clock, and its older state on the disk.
    case following(StoreClock, stored: StoreClock)
    /// The disk has refused to read or move dates.
    case failed
  }

  private var state = State.unused

  /// Whether a date may delete anything at present.
  var isKnown: Bool { if case .failed = state { false } else { true } }

  /// Whether the date also deletes what has an expiration date of its own.
  var isSteady: Bool {
    switch state {
    case .unused: true
    case .following(let clock, _): clock.isSteady
    case .failed: false
    }
  }

  /// Follows the clocks of the device. A change that the disk refuses is made at the next use.
  /// - Parameters:
  ///   - stores: whether the disk is to get this reading. Otherwise it gets one an hour.
  ///   - shift: moves the dates at which what waits ends by seconds, within a transaction.
  /// - Returns: the seconds by which the date was set; nil if it was not, as far as is known.
  /// Throws MALFORMED.
  mutating func follow(
    _ reading: ClockReading, stores: Bool, in database: Database, _ shift: (Double) throws(SegueError) -> Void
  ) throws(SegueError) -> Double? {
    if !stores, case .following(var clock, let stored) = state, clock.follow(reading) == nil,
      !stored.isOutdated(by: clock)
    {
      state = .following(clock, stored: stored)
      return nil
    }
    do throws(SegueError) {
      var clock = StoreClock(reading)
      var jump: StoreClock.Jump?
      try database.transaction { () throws(SegueError) in
        if let known = try current(in: database) {
          clock = known
          jump = clock.follow(reading)
          if let jump { try shift(jump.seconds) }
        }
        try database.run(
          "INSERT OR REPLACE INTO clock (number, boot, uptime, date, steady) VALUES (0, ?1, ?2, ?3, ?4)",
          [.text(reading.boot), .integer(reading.now.uptime), .real(reading.now.date), .real(clock.steady)])
      }
      state = .following(clock, stored: clock)
      return jump.flatMap { $0.isSet ? $0.seconds : nil }
    } catch {
      state = .failed
      guard error.status != .malformed else { throw error }
      return nil
    }
  }

  /// Nil if there is none yet, or it cannot be read: then it begins anew, and no date moves.
  private func current(in database: Database) throws(SegueError) -> StoreClock? {
    if case .following(let clock, _) = state { return clock }
    return try database.firstReadable("the clock", Self.row, fate: "begins anew") { row throws(SegueError) in
      let now = Instant(uptime: try row.integer(1), date: try row.real(2))
      let reading = ClockReading(now, boot: try row.text(0, atMost: 64))
      guard let clock = StoreClock(reading, steady: try row.real(3)) else { throw row.wrong(2, "reading of a clock") }
      return clock
    }
  }
}
