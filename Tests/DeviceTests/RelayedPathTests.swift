// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// Paths through relays in the race of paths (R14.1, R14.3).
@Suite struct RelayedPathTests {
  private let device = Identifier(high: 2, low: 2)
  private let off = SegueError(.notAllowed, "home does not pass bytes on")

  private func cost(_ address: String) -> PathCost { address.hasPrefix("relay") ? .relay : .routed }

  private func dialler(_ paths: [(address: String, obstacle: SegueError?)]) -> Dialler<String> {
    var dialler = Dialler<String>()
    dialler.setCosts(cost)
    dialler.setRelayed(device, paths, 0)
    return dialler
  }

  @Test func `R14.3 a relay that says that it is none is not dialled, and dialled once it is one`() {
    var dialler = dialler([("relay", off)])
    #expect(dialler.takeDue(0) == nil && dialler.nextDeadline == nil)
    #expect(dialler.paths(to: device).first?.failure?.message == off.message)
    dialler.setRelayed(device, [("relay", nil)], 1_000)
    #expect(dialler.takeDue(1_000)?.address == "relay")
    dialler.ended("relay", .failed, epochs: 1, 1_100, random: 0)
    // It may change its mind as often as it likes: that causes no more attempts (A8).
    for time in stride(from: Int64(1_100), to: 1_000 + Dialler<String>.leastPause, by: 100) {
      dialler.setRelayed(device, [("relay", off)], time)
      dialler.setRelayed(device, [("relay", nil)], time)
      #expect(dialler.takeDue(time) == nil)
    }
    #expect(dialler.takeDue(1_000 + Dialler<String>.leastPause)?.address == "relay")
  }

  @Test func `A8 a relay that leaves the list of paths and comes back causes no more attempts`() {
    var dialler = dialler([("relay", nil)])
    #expect(dialler.takeDue(0)?.address == "relay")
    for time in stride(from: Int64(100), to: Dialler<String>.leastPause, by: 100) {
      dialler.setRelayed(device, [], time)
      if time == 1_000 { dialler.ended("relay", .failed, epochs: 1, time, random: 0) }
      #expect(dialler.takeDue(time) == nil)
      dialler.setRelayed(device, [("relay", nil)], time)
      #expect(dialler.takeDue(time) == nil)
    }
    #expect(dialler.takeDue(Dialler<String>.leastPause)?.address == "relay")
    dialler.ended("relay", .failed, epochs: 1, 6_000, random: 0)
    dialler.setRelayed(device, [], 6_000 + Dialler<String>.leastPause)
    #expect(dialler.paths(to: device).isEmpty && dialler.nextDeadline == nil)
  }

  @Test func `R14.3 an address comes before a relay, and four relays are all`() {
    let relays = (1...6).map { (address: "relay \($0)", obstacle: nil as SegueError?) }
    var dialler = dialler(relays)
    dialler.setTold(device, ["address"], 0)
    var order: [String] = []
    for time in stride(from: Int64(0), to: 5_000, by: 10) {
      while let (address, _) = dialler.takeDue(time) { order.append(address) }
    }
    #expect(order == ["address", "relay 1", "relay 2", "relay 3", "relay 4"])
    // A device that is linked already is not dialled through a relay.
    dialler.ended("address", .linked(device), epochs: 1, 5_000, random: 0)
    dialler.uses("address", for: device, 5_000)
    for relay in relays.prefix(4) { dialler.ended(relay.address, .failed, epochs: 1, 5_000, random: 0) }
    #expect(dialler.takeDue(4_000_000) == nil)
  }

  @Test func `R14.3 of two links that are made at once the one that goes through no relay stays at both ends`() {
    let source = HalfOpenTable.Source(address: device, prefix: device)
    for (own, peer) in [(Identifier(high: 1, low: 1), device), (device, Identifier(high: 1, low: 1))] {
      for isRelayFirst in [true, false] {
        for isFirstDialled in [true, false] {
          let (first, second) = isRelayFirst ? ("relay", "address") : ("address", "relay")
          var table = LinkTable<String>(own: own)
          table.setCosts(cost)
          if isFirstDialled { table.dialled(first, as: 1, 0) } else { _ = table.accepted(1, from: source, 0) }
          #expect(table.choice(for: 1, of: peer, at: first, 10) == .taken(replacing: nil))
          table.linked(1, with: peer, at: first, epochs: 1, 10, random: 0)
          if isFirstDialled { _ = table.accepted(2, from: source, 20) } else { table.dialled(second, as: 2, 20) }
          let choice = table.choice(for: 2, of: peer, at: second, 30)
          #expect(choice == (isRelayFirst ? .taken(replacing: 1) : .refused))
          // One that comes later takes its place: the other device would not have dialled without need.
          #expect(table.choice(for: 2, of: peer, at: second, 10 + LinkChoice.sameTime) == .taken(replacing: 1))
        }
      }
    }
  }
}
