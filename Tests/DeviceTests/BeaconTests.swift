// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueCrypto
import SegueModel
import Testing

@testable import SegueAgentCore

extension BeaconCodec.News {
  /// Nil for a beacon of another time.
  var port: UInt16? { if case .listens(let port, _) = self { port } else { nil } }
  var isFormer: Bool? { if case .listens(_, let isFormer) = self { isFormer } else { nil } }
}

/// Beacons, and what strangers can do with them (docs/device-links.md).
@Suite struct BeaconTests {
  let date = 1_800_000_000.0
  private func codec(_ epochs: UInt64...) throws -> BeaconCodec { try BeaconCodec(epochs.map { keys($0) }) }

  @Test func `a device recognises a beacon of its account, and learns the port alone`() throws {
    for port: UInt16 in [1, 4_711, 65_535] {
      let beacon = try codec(1).make(port: port, nonce: nonce(), at: date)
      #expect(beacon.count == Beacon.size)
      #expect(try codec(1).read(beacon, at: date)?.port == port)
    }
  }

  @Test func `a beacon of another account is none`() throws {
    #expect(try codec(2).read(codec(1).make(port: 1, nonce: nonce(), at: date), at: date) == nil)
  }

  @Test func `a device that has slept is recognised under its old epoch, 16 at most`() throws {
    let reader = try BeaconCodec((1...17).reversed().map { keys($0) })
    #expect(try reader.read(codec(2).make(port: 7, nonce: nonce(), at: date), at: date)?.port == 7)
    let both = try BeaconCodec([keys(2), keys(1)])
    for epoch: UInt64 in [1, 2] {
      let news = both.read(try codec(epoch).make(port: 7, nonce: nonce(), at: date), at: date)
      #expect(news == .listens(port: 7, isFormer: epoch == 1))
    }
    #expect(try reader.read(codec(1).make(port: 7, nonce: nonce(), at: date), at: date) == nil)
  }

  @Test(arguments: [(-2, false), (-1, true), (0, true), (1, true), (2, false)])
  func `A6: a beacon counts in its slot and those beside it`(slots: Int, counts: Bool) throws {
    let beacon = try codec(1).make(port: 7, nonce: nonce(), at: date)
    let there = try codec(1).read(beacon, at: date + Double(slots) * Double(Beacon.slotTime))?.port
    #expect((there == 7) == counts)
  }

  @Test func `a beacon of another slot says what time it is there, and nothing else of it counts`() throws {
    let reader = try codec(2, 1)
    for slots in [-3_000, -2, 2, 4, 35_000, 2_000_000_000] {
      let there = date + Double(slots) * Double(Beacon.slotTime)
      let beacon = try codec(2).make(port: 7, nonce: nonce(), at: there)
      let slot = Double(Beacon.slot(at: there) * Beacon.slotTime)
      // As often as it is heard: it changes nothing.
      for _ in 0..<2 { #expect(reader.read(beacon, at: date) == .otherTime(slot)) }
      #expect(reader.memory == 0)
      #expect(try reader.read(codec(1).make(port: 7, nonce: nonce(), at: there), at: date) == nil, "a former epoch")
      #expect(try reader.read(codec(3).make(port: 7, nonce: nonce(), at: there), at: date) == nil, "a stranger")
    }
  }

  @Test func `one code for each key is tried, whatever the slot`() throws {
    // The slot is in the beacon: the same beacon is genuine to readers of all slots, and of another time to most.
    let beacon = try codec(1).make(port: 7, nonce: nonce(), at: date)
    for slots in -2...2 {
      let news = try codec(1).read(beacon, at: date + Double(slots) * Double(Beacon.slotTime))
      #expect(news != nil && (news?.port == 7) == (abs(slots) < 2))
    }
  }

  @Test func `A6, A7: a beacon counts once, wherever it is heard again`() throws {
    let (sender, reader) = (try codec(1), try codec(1))
    let beacon = sender.make(port: 7, nonce: nonce(), at: date)
    #expect(reader.read(beacon, at: date)?.port == 7)
    for later in [0.0, 1, 600, 1_500] { #expect(reader.read(beacon, at: date + later)?.port == nil) }
    #expect(reader.read(sender.make(port: 7, nonce: nonce(), at: date), at: date)?.port == 7)
  }

  @Test func `A7: a beacon that was heard before the account has changed counts no more after`() throws {
    let reader = try codec(1)
    let beacon = try codec(1).make(port: 7, nonce: nonce(), at: date)
    #expect(reader.read(beacon, at: date)?.port == 7)
    #expect(try BeaconCodec([keys(2), keys(1)], after: reader).read(beacon, at: date) == nil)
    #expect(try BeaconCodec([keys(2), keys(1)]).read(beacon, at: date)?.port == 7)
  }

  @Test func `A12: a device ignores its own beacon`() throws {
    let (sender, other) = (try codec(1), try codec(1))
    let beacon = sender.make(port: 7, nonce: nonce(), at: date)
    #expect(sender.read(beacon, at: date) == nil && other.read(beacon, at: date)?.port == 7)
  }

  @Test func `A3: every bit of a beacon counts`() throws {
    let beacon = try codec(1).make(port: 7, nonce: nonce(), at: date)
    for bit in 0..<Beacon.size * 8 {
      var changed = beacon
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(try codec(1).read(changed, at: date) == nil, "bit \(bit)")
    }
    for count in [0, 34, 37, 39, 1_500] {
      let other = Array((beacon + [UInt8](repeating: 0, count: 2_000)).prefix(count))
      #expect(try codec(1).read(other, at: date) == nil)
    }
    #expect(try codec(1).read(beacon, at: date)?.port == 7)
  }

  /// A million take a while: SEGUE_FORGERIES.
  @Test func `A3, A4: of forged beacons none is accepted, nothing changes, and the next genuine one is`() throws {
    let reader = try codec(1)
    let genuine = try codec(1)
    #expect(reader.read(genuine.make(port: 7, nonce: nonce(), at: date), at: date)?.port == 7)
    var random = SystemRandomNumberGenerator()
    var forged = [UInt8](repeating: 0, count: Beacon.size)
    var accepted = 0
    for _ in 0..<forgeries {
      forged.withUnsafeMutableBytes { bytes in
        for at in stride(from: 0, to: 32, by: 8) {
          bytes.storeBytes(of: random.next(), toByteOffset: at, as: UInt64.self)
        }
        bytes.storeBytes(of: random.next(), toByteOffset: 30, as: UInt64.self)
      }
      if reader.read(forged, at: date) != nil { accepted += 1 }
    }
    #expect(accepted == 0 && reader.memory == 1)
    #expect(reader.read(genuine.make(port: 9, nonce: nonce(), at: date), at: date)?.port == 9)
  }

  @Test func `A8: junk costs little: of a flood 128 a second are compared with former epochs`() throws {
    let reader = try BeaconCodec((1...16).reversed().map { keys($0) })
    let beacon = { (epoch: UInt64) in try codec(epoch).make(port: 7, nonce: nonce(), at: date) }
    for _ in 1..<BeaconCodec.formerReads { _ = reader.read([UInt8](repeating: 0, count: Beacon.size), at: date) }
    #expect(reader.read(try beacon(1), at: date)?.isFormer == true)
    #expect(reader.read(try beacon(1), at: date) == nil)
    #expect(reader.read(try beacon(16), at: date)?.isFormer == false)
    #expect(reader.read(try beacon(1), at: date + 1)?.isFormer == true)
  }

  @Test func `A1, A2: no byte of 24 hours of 20 devices is stable, or rises`() throws {
    for _ in 0..<20 {
      let sender = try codec(1)
      let beacons = (0..<96).map { sender.make(port: 4_711, nonce: nonce(), at: date + Double($0) * 900) }
      for place in 0..<Beacon.size {
        let bytes = beacons.map { $0[place] }
        #expect(Set(bytes).count > 20, "byte \(place)")
        let rises = zip(bytes, bytes.dropFirst()).count { $0 <= $1 }
        #expect(rises > 20 && rises < 76, "byte \(place)")
      }
    }
  }

  @Test func `what is remembered of beacons is bounded, and forgotten with its slots`() throws {
    let (sender, reader) = (try codec(1), try codec(1))
    var first: [UInt8] = []
    for number in 0..<BeaconCodec.remembered + 100 {
      let beacon = sender.make(port: 7, nonce: nonce(), at: date)
      if number == 0 { first = beacon }
      _ = reader.read(beacon, at: date)
    }
    #expect(reader.memory <= BeaconCodec.remembered)
    let later = date + 4 * Double(Beacon.slotTime)
    #expect(reader.read(first, at: later)?.port == nil)
    #expect(reader.read(sender.make(port: 7, nonce: nonce(), at: later), at: later)?.port == 7)
    #expect(reader.memory == 1)
  }

  @Test func `clocks without sense are no trap`() throws {
    for wrong in [Double.nan, .infinity, -.infinity, 1e300, -1e300, 0] {
      #expect(try codec(1).read(codec(1).make(port: 7, nonce: nonce(), at: wrong), at: wrong)?.port == 7)
    }
  }
}

/// When a beacon is sent.
@Suite struct BeaconScheduleTests {
  @Test func `a beacon is sent at once, and then every 10 to 30 seconds`() {
    var schedule = BeaconSchedule()
    #expect(schedule.nextDeadline == nil)
    schedule.set(isWanted: true, 1_000)
    var at = schedule.nextDeadline ?? -1
    #expect(at == 1_000)
    var pauses = Set<Int64>()
    for random in [UInt32(0), 20_000, .max, 12_345] {
      let before = schedule.takeDue(at - 1, random: random)
      let sent = schedule.takeDue(at, random: random)
      #expect(!before && sent)
      let next = schedule.nextDeadline ?? -1
      #expect(BeaconSchedule.pause.contains(next - at))
      pauses.insert(next - at)
      at = next
    }
    #expect(pauses.count == 4)
  }

  @Test func `none is sent while every known device is linked`() {
    var schedule = BeaconSchedule()
    schedule.set(isWanted: true, 0)
    schedule.set(isWanted: false, 1)
    schedule.changed(2)
    let sent = schedule.takeDue(1 << 40, random: 0)
    #expect(!sent && schedule.nextDeadline == nil)
    schedule.set(isWanted: true, 5_000)
    #expect(schedule.nextDeadline == 5_000)
  }

  @Test func `a change sends one at once, but not more than one a second`() {
    var schedule = BeaconSchedule()
    schedule.set(isWanted: true, 0)
    let first = schedule.takeDue(0, random: 0)
    schedule.changed(200)
    #expect(first && schedule.nextDeadline == BeaconSchedule.leastPause)
    let second = schedule.takeDue(1_000, random: 0)
    schedule.changed(5_000)
    #expect(second && schedule.nextDeadline == 5_000)
  }
}
