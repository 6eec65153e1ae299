// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A secret that all devices of an account share until one is revoked: by it they find and recognise each other.
struct Epoch: Sendable {
  /// Rises with each revocation.
  let number: UInt64
  /// 32 bytes.
  let secret: [UInt8]

  var keys: EpochKeys {
    EpochKeys(
      epoch: number, knock: KeyDerivation.key(from: secret, label: "segue 1 knock"),
      beacon: KeyDerivation.key(from: secret, label: "segue 1 beacon"))
  }
}

/// The last epochs of an account, in the order of their numbers.
struct Epochs: Sendable {
  /// Never empty; at most `Limits.epochs`.
  private(set) var all: [Epoch]

  /// Nil for no epochs, too many, or wrong order.
  init?(_ all: [Epoch]) {
    guard !all.isEmpty, all.count <= Limits.epochs else { return nil }
    for index in all.indices.dropFirst() where all[index - 1].number >= all[index].number { return nil }
    self.all = all
  }

  var current: Epoch { all[all.count - 1] }

  /// Whether an epoch is one of these.
  func has(_ epoch: Epoch) -> Bool { all.contains { $0.number == epoch.number && $0.secret == epoch.secret } }

  /// Adds the next one, and forgets the oldest beyond `Limits.epochs`.
  /// - Parameter former: a number of another line of rosters that ends now; 0 for none.
  mutating func begin(_ secret: [UInt8], after former: UInt64 = 0, at date: Int64) throws(SegueError) {
    let number = max(try max(current.number, former).next(), UInt64(max(0, date)))
    all.append(Epoch(number: number, secret: secret))
    all.removeFirst(max(0, all.count - Limits.epochs))
  }

  /// Adds those of a line of rosters that the same device has signed.
  mutating func merge(_ others: Epochs) {
    for epoch in others.all where !all.contains(where: { $0.number == epoch.number }) { all.append(epoch) }
    all.sort { $0.number < $1.number }
    all.removeFirst(max(0, all.count - Limits.epochs))
  }

  /// Those whose knocks and beacons are answered, newest first: the current one, and each former one for
  /// `Limits.epochLife` after this device has first stored the next one, so that a device that slept meanwhile finds
  /// the others.
  func answered(at date: Int64, _ dates: EpochDates) -> [Epoch] {
    var answered: [Epoch] = [current]
    for index in all.indices.dropLast().reversed() {
      guard let stored = dates[all[index + 1].number], date - stored <= Limits.epochLife else { continue }
      answered.append(all[index])
    }
    return answered
  }
}

/// When this device first stored each epoch, by its own clock: what another clock says of an epoch does not count.
struct EpochDates: Sendable {
  /// In the order of the numbers of their epochs. Invariant: the dates do not go down.
  private(set) var all: [(number: UInt64, date: Int64)] = []

  init() {}

  /// Throws MALFORMED.
  init(_ values: [Value]) throws(SegueError) {
    for value in values {
      var fields = try Fields(value, "date of an epoch")
      all.append((try fields.unsigned("number", atMost: Limits.rosterNumber), try fields.date("date")))
    }
  }

  func write(_ writer: inout ValueWriter) throws(SegueError) {
    try writer.putArray { writer throws(SegueError) in
      for (number, date) in all {
        try writer.putArray { writer throws(SegueError) in
          try writer.put(number)
          try writer.put(date: date)
        }
      }
    }
  }

  subscript(_ number: UInt64) -> Int64? { all.first { $0.number == number }?.date }

  /// Keeps the dates of these epochs. One that is new was first stored now; by a clock that was set back, not before
  /// the one before it.
  mutating func keep(_ epochs: Epochs, at date: Int64) {
    var last: Int64 = 0
    all = epochs.all.map { epoch in
      last = max(self[epoch.number] ?? date, last)
      return (epoch.number, last)
    }
  }

  /// Whether one of them is later than it can be.
  func isAhead(of date: Int64) -> Bool { all.contains { $0.date > date + Limits.clockTolerance } }

  /// The clock was ahead when some of them were stored.
  mutating func setRight(_ date: Int64) { for index in all.indices { all[index].date = min(all[index].date, date) } }
}

extension UInt64 {
  /// Throws LIMIT_EXCEEDED where numbers of rosters end.
  func next() throws(SegueError) -> UInt64 {
    guard self < Limits.rosterNumber else {
      throw SegueError(.limitExceeded, "account: its numbers are used up; create a new account")
    }
    return self + 1
  }
}
