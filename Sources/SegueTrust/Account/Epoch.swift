import SegueModel

/// A secret that all devices of an account share until one is revoked: by it they find and recognise each other.
struct Epoch: Sendable {
  /// Rises with each revocation.
  let number: UInt64
  /// When it was made, by the manager's clock.
  let date: Int64
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

  /// Adds the next one, and forgets the oldest beyond `Limits.epochs`. It does not begin before the former one,
  /// whatever a clock says: that one is answered for `Limits.epochLife` from then on.
  mutating func begin(_ secret: [UInt8], at date: Int64) throws(SegueError) {
    let number = max(try current.number.next(), UInt64(max(0, date)))
    all.append(Epoch(number: number, date: max(date, current.date), secret: secret))
    all.removeFirst(max(0, all.count - Limits.epochs))
  }

  /// Adds those of another line of rosters.
  mutating func merge(_ others: Epochs) {
    for epoch in others.all where !all.contains(where: { $0.number == epoch.number }) { all.append(epoch) }
    all.sort { $0.number < $1.number }
    all.removeFirst(max(0, all.count - Limits.epochs))
  }

  /// Those whose knocks and beacons are answered, newest first: the current one, and each former one for
  /// `Limits.epochLife` after the next one began, so that a device that slept meanwhile finds the others.
  func answered(at date: Int64) -> [Epoch] {
    var answered: [Epoch] = [current]
    for index in all.indices.dropLast().reversed() where date - all[index + 1].date <= Limits.epochLife {
      answered.append(all[index])
    }
    return answered
  }
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
