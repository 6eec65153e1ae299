// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import Testing

@testable import SegueAgentCore

/// The number of forged beacons of a test.
let forgeries = ProcessInfo.processInfo.environment["SEGUE_FORGERIES"].flatMap { Int($0) } ?? 20_000

/// Whom a device dials, and when.
@Suite struct DiallerTests {
  private let one = Identifier(high: 1, low: 1)
  private let other = Identifier(high: 2, low: 2)

  private func due(_ dialler: inout Dialler<String>, _ uptime: Int64) -> String? { dialler.takeDue(uptime)?.address }

  @Test func `a static address is dialled at once, and again after pauses that double, with jitter`() {
    var dialler = Dialler<String>()
    dialler.setStatic(["a"], 0)
    var (at, former): (Int64, Int64) = (0, 500)
    for attempt in 0..<10 {
      #expect(dialler.nextDeadline == at)
      #expect(due(&dialler, at - 1) == nil)
      #expect(due(&dialler, at) == "a")
      #expect(dialler.nextDeadline == nil && due(&dialler, at + 1_000_000) == nil)
      dialler.ended("a", .failed, epochs: 1, at, random: UInt32(attempt) &* 77_777)
      let pause = (dialler.nextDeadline ?? 0) - at
      #expect(pause >= former && pause <= 2 * former)
      at += pause
      former = min(2 * former, Dialler<String>.longestPause / 2)
    }
  }

  @Test func `no address is dialled that leads to a linked device, until its link ends`() {
    var dialler = Dialler<String>()
    dialler.setStatic(["a", "b"], 0)
    #expect(due(&dialler, 0) == "a")
    #expect(due(&dialler, 0) == "b")
    dialler.ended("a", .linked(one), epochs: 1, 10, random: 0)
    dialler.ended("b", .linked(one), epochs: 1, 20, random: 0)
    #expect(dialler.isLinked(one) && dialler.nextDeadline == Dialler<String>.recheckPause + 10)
    dialler.unlinked(one, 50_000, random: 0)
    #expect(!dialler.isLinked(one) && dialler.nextDeadline == 50_500)
    #expect(due(&dialler, 50_500) == "a")
  }

  @Test func `an address that the user names again is dialled as soon after its link's end as any other`() {
    var dialler = Dialler<String>()
    dialler.setStatic(["a"], 0)
    #expect(due(&dialler, 0) == "a")
    dialler.ended("a", .linked(one), epochs: 1, 0, random: 0)
    dialler.setStatic(["a"], 100)
    #expect(dialler.nextDeadline == Dialler<String>.leastPause)
    dialler.unlinked(one, 200, random: 0)
    #expect(dialler.nextDeadline == 200 + Dialler<String>.firstPause / 2)
  }

  @Test func `a link that the other device has dialled counts, too`() {
    var dialler = Dialler<String>()
    dialler.setStatic(["a"], 0)
    _ = due(&dialler, 0)
    dialler.ended("a", .linked(one), epochs: 1, 0, random: 0)
    dialler.unlinked(one, 1_000, random: 0)
    dialler.linked(one)
    #expect(dialler.nextDeadline == Dialler<String>.recheckPause)
  }

  @Test func `an address that led to this device, or to a linked one, is looked at again later`() {
    for end in [Dialler<String>.End.own, .linked(one)] {
      var dialler = Dialler<String>()
      dialler.setStatic(["a"], 0)
      dialler.announced("b", from: [1], 0)
      #expect(due(&dialler, 0) == "a" && due(&dialler, 0) == "b")
      for address in ["a", "b"] { dialler.ended(address, end, epochs: 1, 0, random: 0) }
      // Somebody may have led the connection there.
      let later = Dialler<String>.recheckPause
      #expect(due(&dialler, later - 1) == nil && due(&dialler, later) == "a" && due(&dialler, later) == nil)
      // A new network, or the user, says that it may be another one now.
      dialler.ended("a", end, epochs: 1, later, random: 0)
      dialler.setStatic(["a"], later + 1)
      #expect(due(&dialler, later + Dialler<String>.leastPause) == "a")
      dialler.ended("a", end, epochs: 1, later + 10_000, random: 0)
      dialler.networkChanged(later + 10_001)
      #expect(due(&dialler, later + 10_001) == "a")
    }
  }

  @Test func `addresses under a former epoch take no room and no attempt from those under the current one (A8)`() {
    var dialler = Dialler<String>()
    var attempts = 0
    for number in 0..<1_000 {
      dialler.announced("x\(number)", from: [UInt8(number & 255)], isFormer: true, Int64(number))
      if due(&dialler, Int64(number)) != nil { attempts += 1 }
    }
    #expect(attempts == Dialler<String>.formerAttemptLimit)
    #expect(dialler.addressCount <= Dialler<String>.formerLimit)
    for number in 0..<12 { dialler.announced("a\(number)", from: [UInt8(number)], 2_000) }
    var dialled: [String] = []
    while let address = due(&dialler, 2_000) { dialled.append(address) }
    #expect(dialled == (0..<12).map { "a\($0)" })
    var one = Dialler<String>()
    one.announced("x", from: [1], isFormer: true, 0)
    one.announced("a", from: [2], 0)
    #expect(due(&one, 0) == "a" && due(&one, 0) == "x")
    // A device that has slept is dialled, too, once nothing else is due.
    dialler.ended("x0", .failed, epochs: 1, 2_000, random: 0)
    #expect(due(&dialler, 2_000)?.hasPrefix("x") == true)
  }

  @Test func `one machine announces eight addresses at most, in each kind`() {
    var dialler = Dialler<String>()
    for number in 0..<100 {
      dialler.announced("a\(number)", from: [1], Int64(number))
      dialler.announced("x\(number)", from: [1], isFormer: true, Int64(number))
    }
    #expect(dialler.addressCount == 2 * Dialler<String>.sourceLimit)
    dialler.announced("b", from: [2], 1_000)
    #expect(dialler.addressCount == 2 * Dialler<String>.sourceLimit + 1)
  }

  /// One member of the account announces a new address 16 times a second, and none of them answers.
  @Test(arguments: [false, true]) func `beacons of one member do not keep others apart`(answersKnocks: Bool) {
    var dialler = Dialler<String>()
    var (next, heardAt, dialledAt): (Int, Int64?, Int64?) = (0, nil, nil)
    for uptime in stride(from: Int64(0), to: 40_000, by: 20) {
      if uptime % 60 == 0 {
        next += 1
        dialler.announced("x\(next)", from: [UInt8(next & 255), UInt8(next >> 8)], uptime)
      }
      if uptime == 20_000 {
        dialler.announced("genuine", from: [7], uptime)
        heardAt = uptime
      }
      for address in dialler.outstayed(uptime) {
        dialler.ended(address, answersKnocks ? .failed : .silent, epochs: 1, uptime, random: 0)
      }
      while let address = due(&dialler, uptime) {
        if address == "genuine" { dialledAt = uptime } else if answersKnocks { dialler.knocked(address) }
      }
      if dialledAt != nil { break }
    }
    #expect(heardAt.flatMap { heard in dialledAt.map { $0 - heard <= (answersKnocks ? 5_000 : 2_500) } } == true)
  }

  @Test func `of one machine, and of one device, four addresses are dialled at a time`() {
    var dialler = Dialler<String>()
    for number in 0..<8 { dialler.announced("a\(number)", from: [1], 0) }
    dialler.announced("b", from: [2], 0)
    var dialled: [String] = []
    while let address = due(&dialler, 0) { dialled.append(address) }
    #expect(dialled == ["a0", "a1", "a2", "a3", "b"])
    // A device that has many machines, or says so.
    var other = Dialler<String>()
    for number in 0..<8 { other.announced("c\(number)", from: [UInt8(number)], 0) }
    while let address = due(&other, 0) { other.ended(address, .linked(one), epochs: 1, 0, random: 0) }
    other.unlinked(one, 10_000, random: 0)
    dialled = []
    // One device's begin one after the other (R14.1).
    for uptime in stride(from: Int64(20_000), to: 24_000, by: Int(Dialler<String>.stagger)) {
      while let address = due(&other, uptime) { dialled.append(address) }
    }
    #expect(dialled.count == Dialler<String>.sourceAttemptLimit)
  }

  @Test func `what has never got past the knock goes first when room is made`() {
    var dialler = Dialler<String>()
    for number in 0..<Dialler<String>.announcedLimit {
      dialler.announced("a\(number)", from: [UInt8(number)], Int64(number))
    }
    // None was dialled yet: each has its turn before a later one.
    dialler.announced("late", from: [200], 100)
    #expect(dialler.addressCount == Dialler<String>.announcedLimit)
    var dialled: [String] = []
    while let address = due(&dialler, 200) { dialled.append(address) }
    #expect(dialled.count == 16)
    dialler.knocked("a0")
    dialler.ended("a0", .failed, epochs: 1, 300, random: 0)
    dialler.ended("a1", .linked(one), epochs: 1, 300, random: 0)
    dialler.ended("a2", .silent, epochs: 1, 300, random: 0)
    for (name, gone) in [("n1", "a2"), ("n2", "a0")] {
      dialler.announced(name, from: [210, UInt8(name.utf8.last ?? 0)], 400)
      #expect(!dialler.knows(gone) && dialler.knows(name))
    }
    dialler.announced("n3", from: [220], 400)
    #expect(dialler.knows("a1") && !dialler.knows("n3"))
  }

  @Test func `an address that does not answer keeps the epoch of its knock until it has asked for one`() {
    var dialler = Dialler<String>()
    dialler.setStatic(["a"], 0)
    var ages: [Int] = []
    for end in [Dialler<String>.End.unreached, .unreached, .silent, .unreached] {
      let at = dialler.nextDeadline ?? 0
      ages.append(dialler.takeDue(at)?.age ?? -1)
      dialler.ended("a", end, epochs: 3, at, random: 0)
    }
    #expect(ages == [0, 0, 0, 1])
  }

  @Test func `an address to which there is no way is dialled after the pause, or when it is announced`() {
    var dialler = Dialler<String>()
    dialler.announced("a", from: [1], 0)
    #expect(due(&dialler, 0) == "a")
    dialler.undialled("a", 0, random: 0)
    #expect(dialler.nextDeadline == Dialler<String>.firstPause / 2)
    dialler.announced("a", from: [1], 10)
    #expect(due(&dialler, 10) == "a")
  }

  @Test func `a network that changes during an attempt has the address dialled again`() {
    var dialler = Dialler<String>()
    dialler.setStatic(["a"], 0)
    #expect(due(&dialler, 0) == "a")
    dialler.networkChanged(100)
    dialler.ended("a", .failed, epochs: 1, 5_000, random: 0)
    #expect(due(&dialler, 5_000) == "a")
  }

  @Test func `a device that was removed is left alone while it announces itself under a former epoch`() {
    var dialler = Dialler<String>()
    dialler.announced("a", from: [1], isFormer: true, 0)
    #expect(due(&dialler, 0) == "a")
    dialler.ended("a", .foreign, epochs: 1, 0, random: 0)
    for uptime in stride(from: Int64(10_000), to: Dialler<String>.recheckPause, by: 10_000) {
      dialler.announced("a", from: [1], isFormer: true, uptime)
      #expect(due(&dialler, uptime) == nil)
    }
    dialler.announced("a", from: [1], isFormer: true, Dialler<String>.recheckPause)
    #expect(due(&dialler, Dialler<String>.recheckPause) == "a")
    dialler.ended("a", .foreign, epochs: 1, Dialler<String>.recheckPause, random: 0)
    // It was invited again, and knows the current epoch.
    let later = Dialler<String>.recheckPause + Dialler<String>.leastPause
    dialler.announced("a", from: [1], later)
    #expect(due(&dialler, later) == "a")
    // An address that the user has named is tried on: the clock may have been wrong.
    dialler.setStatic(["b"], later)
    #expect(due(&dialler, later) == "b")
    dialler.ended("b", .foreign, epochs: 1, later, random: 0)
    #expect(dialler.nextDeadline == later + Dialler<String>.firstPause / 2)
  }

  @Test func `a device that is not listed is left alone whatever it announces, until the list of devices changes`() {
    var dialler = Dialler<String>()
    dialler.announced("a", from: [1], 0)
    #expect(due(&dialler, 0) == "a")
    dialler.ended("a", .unlisted, epochs: 1, 0, random: 0)
    for uptime in stride(from: Int64(10_000), to: Dialler<String>.recheckPause, by: 10_000) {
      dialler.announced("a", from: [1], uptime)
      #expect(due(&dialler, uptime) == nil && dialler.nextDeadline == nil)
    }
    // After five minutes it is tried again.
    let later = Dialler<String>.recheckPause
    dialler.announced("a", from: [1], later)
    #expect(due(&dialler, later) == "a")
    dialler.ended("a", .unlisted, epochs: 1, later, random: 0)
    dialler.announced("a", from: [1], later + 10_000)
    #expect(due(&dialler, later + 10_000) == nil)
    dialler.devicesChanged(later + 20_000)
    #expect(due(&dialler, later + 20_000) == "a")
    dialler.ended("a", .unlisted, epochs: 1, later + 20_000, random: 0)
    // Also where the network has changed.
    dialler.networkChanged(later + 30_000)
    #expect(due(&dialler, later + 30_000) == "a")
    // Once the list has changed it counts as any other one: it is dialled when it is heard, if there was no way to it.
    dialler.ended("a", .unlisted, epochs: 1, later + 30_000, random: 0)
    dialler.devicesChanged(later + 36_000)
    #expect(due(&dialler, later + 36_000) == "a")
    dialler.undialled("a", later + 36_000, random: 0)
    dialler.announced("a", from: [1], later + 36_010)
    #expect(due(&dialler, later + 36_010) == "a")
    // An address that was refused under a former epoch is not dialled because of another device.
    dialler.ended("a", .foreign, epochs: 1, later + 36_010, random: 0)
    dialler.devicesChanged(later + 46_000)
    #expect(due(&dialler, later + 46_000) == nil)
  }

  @Test func `a linked device has moved if it announces an address that did not lead to it, after the link`() {
    let device = Identifier(high: 1, low: 1)
    var dialler = Dialler<String>()
    dialler.announced("a", from: [1], 0)
    dialler.announced("b", from: [1], 0)
    #expect(due(&dialler, 0) == "a")
    dialler.ended("a", .linked(device), epochs: 1, 10, random: 0)
    #expect(!dialler.hasMoved(device, to: "b", since: 10), "announced before the link")
    dialler.announced("a", from: [1], 20)
    #expect(!dialler.hasMoved(device, to: "a", since: 10), "it has led there")
    dialler.announced("b", from: [1], 20)
    #expect(dialler.hasMoved(device, to: "b", since: 10) && !dialler.hasMoved(device, to: "c", since: 10))
  }

  @Test func `who does not answer a knock is asked under an older epoch, in turn`() {
    var dialler = Dialler<String>()
    dialler.setStatic(["a"], 0)
    var ages: [Int] = []
    for _ in 0..<4 {
      let at = dialler.nextDeadline ?? 0
      ages.append(dialler.takeDue(at)?.age ?? -1)
      dialler.ended("a", .silent, epochs: 3, at, random: 0)
    }
    #expect(ages == [0, 1, 2, 0])
  }

  @Test func `A8: beacons without end cause one attempt in 5 seconds at an address, and bounded memory`() {
    var dialler = Dialler<String>()
    var attempts: [Int64] = []
    for at in stride(from: Int64(0), through: 60_000, by: 10) {
      dialler.announced("a", from: [1], at)
      guard due(&dialler, at) == "a" else { continue }
      attempts.append(at)
      dialler.ended("a", .failed, epochs: 1, at, random: 0)
    }
    #expect(attempts == stride(from: 0, through: 60_000, by: 5_000).map { $0 })
    for number in 0..<10_000 {
      dialler.announced("\(number)", from: [UInt8(number & 255), UInt8(number >> 8)], 60_000)
    }
    #expect(dialler.addressCount <= Dialler<String>.announcedLimit)
  }

  @Test func `an address that is not announced again is given up`() {
    var dialler = Dialler<String>()
    dialler.announced("a", from: [1], 0)
    _ = due(&dialler, 0)
    dialler.ended("a", .failed, epochs: 1, 0, random: 0)
    #expect(due(&dialler, Dialler<String>.announcedTime) == nil && dialler.addressCount == 0)
  }

  @Test func `waking up, or another network, dials all at once, also what seems linked`() {
    var dialler = Dialler<String>()
    dialler.setStatic(["a", "b"], 0)
    _ = due(&dialler, 0)
    dialler.ended("a", .linked(one), epochs: 1, 0, random: 0)
    _ = due(&dialler, 0)
    for _ in 0..<8 {
      dialler.ended("b", .failed, epochs: 1, 0, random: 0)
      _ = due(&dialler, dialler.nextDeadline ?? 0)
    }
    dialler.ended("b", .failed, epochs: 1, 100_000, random: 0)
    dialler.networkChanged(100_001)
    #expect(!dialler.isLinked(one) && due(&dialler, 100_001) == "a" && due(&dialler, 100_001) == "b")
  }

  @Test func `an address that was announced is kept while it leads to a link, and dialled when the network changes`() {
    var dialler = Dialler<String>()
    dialler.announced("a", from: [1], 0)
    _ = due(&dialler, 0)
    dialler.ended("a", .linked(one), epochs: 1, 0, random: 0)
    #expect(due(&dialler, 3_600_000) == nil && dialler.addressCount == 1)
    dialler.networkChanged(3_600_001)
    #expect(due(&dialler, 3_600_001) == "a")
    dialler.ended("a", .failed, epochs: 1, 3_600_001, random: 0)
    dialler.unlinked(one, 3_700_000, random: 0)
    #expect(due(&dialler, 3_705_000) == "a")
  }

  @Test func `a link on which something is heard after a change is none that is suspected`() {
    var dialler = Dialler<String>()
    dialler.setStatic(["a"], 0)
    _ = due(&dialler, 0)
    dialler.ended("a", .linked(one), epochs: 1, 0, random: 0)
    dialler.networkChanged(10)
    dialler.heard(one)
    dialler.heard(other)
    #expect(dialler.isLinked(one) && !dialler.isLinked(other) && due(&dialler, 10) == nil)
  }

  @Test func `at most 16 attempts are under way`() {
    var dialler = Dialler<String>()
    dialler.setStatic((0..<40).map { "\($0)" }, 0)
    var count = 0
    while due(&dialler, 0) != nil { count += 1 }
    #expect(count == 16 && dialler.nextDeadline == Dialler<String>.knockPatience)
    dialler.ended("3", .failed, epochs: 1, 0, random: 0)
    #expect(due(&dialler, 0) == "16")
  }

  @Test func `two machines that are one device take a link from each other six times, and no more while they try`() {
    var replacements = LinkReplacements()
    for at in stride(from: Int64(0), to: 6_000, by: 1_000) {
      let may = replacements.take(one, at)
      #expect(may)
    }
    var at: Int64 = 6_000
    for _ in 0..<20 {
      let (may, other) = (replacements.take(one, at), replacements.take(Identifier(high: 9, low: UInt64(at)), at))
      #expect(!may && other)
      at += LinkReplacements.time - 1_000
    }
    let again = replacements.take(one, at - LinkReplacements.time + 1_000 + LinkReplacements.rest)
    #expect(again)
  }

  @Test func `a device that comes back now and then takes its link each time`() {
    var replacements = LinkReplacements()
    for at in stride(from: Int64(0), to: 3_600_000, by: 10_000) {
      let may = replacements.take(one, at)
      #expect(may)
    }
  }

  @Test func `two devices that dial each other keep the same one of two connections`() {
    for (low, high) in [(one, other)] {
      // Whichever comes up first at either end.
      let kept = { (own: Identifier, peer: Identifier, isDialledFirst: Bool) -> Bool in
        let replaces = LinkChoice.replaces(
          own: own, peer: peer, isDialled: !isDialledFirst, wasDialled: isDialledFirst, age: 100)
        return replaces ? !isDialledFirst : isDialledFirst
      }
      for first in [true, false] { #expect(kept(low, high, first) && !kept(high, low, first)) }
    }
  }

  @Test func `a connection that is made later replaces one that must be dead`() {
    for (isDialled, wasDialled) in [(true, false), (false, true), (true, true), (false, false)] {
      let replaces = LinkChoice.replaces(
        own: one, peer: other, isDialled: isDialled, wasDialled: wasDialled, age: LinkChoice.sameTime)
      #expect(replaces)
    }
  }
}
