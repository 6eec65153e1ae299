// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// When a device announces itself, and under which epoch.
@Suite struct AnnouncerTests {
  private let one = Identifier(high: 1, low: 1)
  private let other = Identifier(high: 2, low: 2)
  private let date = 1_800_000_000.0

  /// The next beacon that is due; nil if none comes.
  private func next(_ announcer: Announcer, linked: [Identifier], _ uptime: inout Int64) -> [UInt8]? {
    for _ in 0..<1_000 {
      uptime += 1_000
      guard announcer.isDue(linked: linked, uptime) else { continue }
      let now = Instant(uptime: uptime, date: date)
      return announcer.takeDue(now, nonce: nonce(), random: UInt32(truncatingIfNeeded: uptime))
    }
    return nil
  }

  /// The ages of the next beacons, in epochs; 0: the newest epoch. Nil: no beacon comes.
  private func ages(_ announcer: Announcer, linked: [Identifier], count: Int) throws -> [Int?] {
    let codecs = try [3, 2, 1].map { try BeaconCodec([keys($0)]) }
    var uptime: Int64 = 0
    return (0..<count).map { _ in
      next(announcer, linked: linked, &uptime).flatMap { beacon in
        codecs.firstIndex { $0.read(beacon, at: date)?.port == 7 }
      }
    }
  }

  private func announcer(_ known: [Identifier]) throws -> Announcer {
    let announcer = try Announcer([keys(3), keys(2), keys(1)])
    announcer.port = 7
    announcer.setKnown(known)
    return announcer
  }

  @Test func `nothing is announced while all devices are linked`() throws {
    #expect(try ages(announcer([one, other]), linked: [one, other], count: 1) == [nil])
    #expect(try ages(announcer([]), linked: [], count: 1) == [nil])
  }

  @Test func `every second beacon is of a former epoch until each device was linked in this one`() throws {
    let announcer = try announcer([one, other])
    // Two managers that did not know of each other have begun an epoch each: what both know is a former one.
    #expect(try ages(announcer, linked: [one], count: 6) == [1, 0, 2, 0, 1, 0])
    #expect(try ages(announcer, linked: [other], count: 3) == [0, 0, 0])
    try announcer.renew([keys(3), keys(2), keys(1)])
    #expect(try ages(announcer, linked: [other], count: 2) == [0, 0])
    announcer.setKnown([one, other, Identifier(high: 3, low: 3)])
    #expect(try ages(announcer, linked: [], count: 2).contains(0))
    try announcer.renew([keys(4), keys(3), keys(2), keys(1)])
    #expect(try Set(ages(announcer, linked: [], count: 6)).isSuperset(of: [0, 1, 2]))
  }

  @Test func `with one epoch all beacons are of that one`() throws {
    let announcer = try Announcer([keys(3)])
    announcer.port = 7
    announcer.setKnown([one])
    #expect(try ages(announcer, linked: [], count: 3) == [0, 0, 0])
  }

  @Test func `a beacon without a port tells nothing`() throws {
    let announcer = try announcer([one])
    let reader = try Announcer([keys(3)])
    #expect(reader.read(try BeaconCodec([keys(3)]).make(port: 0, nonce: nonce(), at: date), at: date) == nil)
    var uptime: Int64 = 0
    let beacon = try #require(next(announcer, linked: [], &uptime))
    #expect(try Announcer([keys(2)]).read(beacon, at: date)?.port == 7)
  }
}
