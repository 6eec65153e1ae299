// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A connection on which another device joins.
struct InviterAttempt {
  let number: UInt64
  var machine: JoinServer
  /// Whether the invite admits its device without asking. Nil until the first message, which voids the invite.
  var isAutomatic: Bool?
}

/// The connections that join: those of devices that join this account, and the one on which this device joins one.
struct JoinAttempts {
  /// The connection on which this device joins; nil: it joins no account.
  private(set) var guest: (number: UInt64, machine: JoinClient)?
  /// The connections on which other devices join, oldest first.
  var inviters: [InviterAttempt] = []
  private var lastNumber: UInt64 = 0

  /// Returns a number for a connection, which was not used before.
  mutating func takeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// The place of the connection of another device; nil if there is none of that number.
  func index(of number: UInt64) -> Int? { inviters.firstIndex { $0.number == number } }

  /// The machine of the connection of this device; nil if it has another number, or there is none.
  func guest(_ number: UInt64) -> JoinClient? { guest?.number == number ? guest?.machine : nil }

  /// Sets the machine of the connection on which this device joins.
  mutating func setGuest(_ number: UInt64, _ machine: JoinClient) { guest = (number, machine) }

  /// Forgets a connection that has ended.
  mutating func remove(_ number: UInt64) {
    if guest?.number == number { guest = nil }
    inviters.removeAll { $0.number == number }
  }

  /// The uptime at which the first of them has taken too long; nil: there is none.
  var deadline: Int64? {
    let deadlines = inviters.map { $0.machine.deadline }
    return (deadlines + (guest.map { [$0.machine.deadline] } ?? [])).min()
  }
}
