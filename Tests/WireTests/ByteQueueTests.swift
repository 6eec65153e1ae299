// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

@testable import SegueWire

@Suite struct ByteQueueTests {
  private var queue = ByteQueue()

  /// The expected content of the queue.
  private var bytes: [UInt8] = []
  private var next: UInt8 = 0

  private mutating func make(_ count: Int) -> [UInt8] {
    next &+= 7
    return [UInt8](repeating: next, count: count - 1) + [next &+ 1]
  }

  private func all(of queue: ByteQueue) -> [UInt8] {
    var all: [UInt8] = []
    while all.count < queue.count { queue.withBytes(from: all.count) { all += $0 } }
    return all
  }

  @Test mutating func `what goes in comes out in its order, wherever the ring begins`() {
    var random = SystemRandomNumberGenerator()
    for turn in 1...2_000 {
      let size = [1, 8, 100, 1_000, 10_000][Int.random(in: 0..<5, using: &random)]
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        let more = make(size)
        more.withUnsafeBytes { queue.append($0) }
        bytes += more
      case 1:
        let more = make(size)
        let filled = queue.append(atMost: size) { room in
          let count = min(room.count, Int.random(in: 0...size, using: &random))
          room.copyBytes(from: more[..<count])
          return count
        }
        bytes += more[..<filled]
      case 2:
        var other = ByteQueue()
        let more = make(size)
        more.withUnsafeBytes { other.append($0) }
        other.removeFirst(size / 3)
        more.withUnsafeBytes { other.append($0) }
        queue.append(other, count: size)
        bytes += (more[(size / 3)...] + more).prefix(size)
      case 3 where bytes.count >= 8:
        let place = Int.random(in: 0...bytes.count - 8, using: &random)
        queue.replace(at: place, with: 0x0102_0304_0506_0708)
        bytes.replaceSubrange(place..<place + 8, with: 1...8)
        #expect(queue[place] == 1 && queue[place + 7] == 8)
      default:
        let count = Int.random(in: 0...min(bytes.count, 2 * size), using: &random)
        queue.removeFirst(count)
        bytes.removeFirst(count)
      }
      #expect(queue.count == bytes.count && queue.isEmpty == bytes.isEmpty)
      guard turn % 50 == 0 else { continue }
      guard all(of: queue) == bytes else { return #expect(Bool(false), "another byte") }
    }
  }

  @Test mutating func `whole frames lie side by side, however many have passed`() {
    for number in 0..<100 {
      let room = Frame.appendData(channel: 1, atMost: Frame.dataLimit, to: &queue) { $0.count }
      #expect(room == Frame.dataLimit, "frame \(number)")
      if number >= 3 { queue.removeFirst(Frame.size) }
    }
  }
}
