// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import Testing

@testable import SegueAgentCore

/// The look-ups of names, and their pauses (R14.2).
@Suite struct NameScheduleTests {
  private let device = Identifier(high: 1, low: 1)

  private func entry(_ name: String, _ device: Identifier? = nil) throws -> NameSchedule.Entry {
    NameSchedule.Entry(name: try #require(DeviceHostName(name)), port: 1, device: device ?? self.device)
  }

  private func found(_ count: Int) throws -> NameLookup {
    .addresses(try (1...count).map { try NetworkAddress.read("192.0.2.\($0):1") })
  }

  private func due(_ schedule: inout NameSchedule, _ uptime: Int64, linked: [Identifier] = []) -> String? {
    schedule.takeDue(linked: linked, uptime)?.name.text
  }

  @Test func `R14.2 a name is looked up anew for each dial, after pauses that double`() throws {
    var schedule = NameSchedule()
    let name = try entry("a")
    schedule.set([name], 0)
    var (at, pause): (Int64, Int64) = (0, NameSchedule.firstPause)
    for attempt in 0..<10 {
      #expect(schedule.nextDeadline(linked: []) == at)
      #expect(due(&schedule, at - 1) == nil && due(&schedule, at) == "a" && due(&schedule, at + 100_000) == nil)
      #expect(schedule.nextDeadline(linked: []) == nil)
      schedule.ended(name, try found(2), at, random: UInt32(attempt) &* 99_991)
      // Its addresses are dialled meanwhile.
      let dialling = 2 * Dialler<NetworkAddress>.stagger + NameSchedule.dialTime
      let next = try #require(schedule.nextDeadline(linked: [])) - at - dialling
      #expect(next >= pause / 2 && next <= pause)
      at += dialling + next
      pause = min(2 * pause, NameSchedule.longestPause)
    }
  }

  @Test func `R14.2 four names are looked up at a time`() throws {
    var schedule = NameSchedule()
    let names = try (0..<9).map { try entry("a\($0)") }
    schedule.set(names, 0)
    for number in 0..<NameLookup.limit { #expect(due(&schedule, 0) == "a\(number)") }
    #expect(due(&schedule, 0) == nil && schedule.nextDeadline(linked: []) == nil)
    schedule.ended(names[1], .failed("no"), 10, random: 0)
    #expect(due(&schedule, 10) == "a4" && due(&schedule, 10) == nil)
  }

  @Test func `R14.2 no name of a linked device is looked up, and all are when its link ends`() throws {
    var schedule = NameSchedule()
    schedule.set([try entry("a")], 0)
    #expect(due(&schedule, 0, linked: [device]) == nil && schedule.nextDeadline(linked: [device]) == nil)
    schedule.unlinked(device, 50)
    #expect(due(&schedule, 50) == "a")
  }

  @Test func `R14.2 another network has all names looked up again, also those under way`() throws {
    var schedule = NameSchedule()
    let names = [try entry("a"), try entry("b")]
    schedule.set(names, 0)
    #expect(due(&schedule, 0) == "a" && due(&schedule, 0) == "b")
    schedule.ended(names[1], .failed("b: not found"), 10, random: 0)
    #expect(schedule.failure(of: names[1]) == "b: not found" && due(&schedule, 11) == nil)
    schedule.networkChanged(12)
    #expect(due(&schedule, 12) == "b" && due(&schedule, 12) == nil)
    schedule.ended(names[0], try found(1), 13, random: 0)
    #expect(due(&schedule, 13) == "a")
    schedule.ended(names[1], try found(1), 14, random: 0)
    #expect(schedule.failure(of: names[1]) == nil)
  }

  @Test func `R14.2 a name that the user takes away is not looked up`() throws {
    var schedule = NameSchedule()
    let names = [try entry("a"), try entry("b")]
    schedule.set(names, 0)
    #expect(due(&schedule, 0) == "a")
    schedule.set([names[1], names[1]], 5)
    schedule.ended(names[0], try found(1), 6, random: 0)
    #expect(schedule.entries == [names[1]] && due(&schedule, 6) == "b" && due(&schedule, 1_000_000) == nil)
  }
}
