// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The connections of a device with others, oldest first, by the numbers that it gives them.
struct LinkConnections {
  private(set) var all: [DeviceConnection] = []
  private var lastNumber: UInt64 = 0

  /// The connection of a number; nil if it has ended.
  subscript(number: UInt64) -> DeviceConnection? { all.first { $0.number == number } }

  /// A number that no other connection has had.
  mutating func takeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Takes a connection that has started.
  mutating func append(_ connection: DeviceConnection) { all.append(connection) }

  /// Lets go of a connection.
  mutating func remove(_ connection: DeviceConnection) { all.removeAll { $0 === connection } }
}
