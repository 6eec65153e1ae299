// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueWire

/// One end of a simulated connection, as its owner sees it.
final class ConnectionEnd: ByteConnection {
  let connection: Connection
  /// 0 or 1.
  let index: Int
  private(set) var isClosed = false
  /// The fleet outlives everything in it.
  private unowned(unsafe) let fleet: Fleet

  init(_ connection: Connection, _ index: Int, in fleet: Fleet) {
    self.connection = connection
    self.index = index
    self.fleet = fleet
  }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    connection.read(at: index, atMost: limit, fleet, body)
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    let refusal = connection.owners[index]?.process.device.resources.refusal(at: fleet.clock.uptime) ?? 0
    if refusal > 0, fleet.random.chance(refusal) { return .refused }
    return .bytes(connection.write(bytes, descriptor, from: index, fleet))
  }

  func watch(reading: Bool, writing: Bool) {
    connection.watch(index, reading: reading, writing: writing, fleet)
  }

  func close() {
    isClosed = true
    connection.close(index, fleet)
  }
}
