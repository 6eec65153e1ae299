// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem
import Testing

@testable import SegueAgentCore

/// The order in which paths to a device are dialled, and the moves of its link from one to another (R14.1).
@Suite struct PathRaceTests {
  private let low = Identifier(high: 1, low: 1)
  private let high = Identifier(high: 2, low: 2)

  private func cost(_ address: String) -> PathCost {
    address.hasPrefix("near") ? .neighbour : address.hasPrefix("tunnel") ? .tunnel : .routed
  }

  private func dialler() -> Dialler<String> {
    var dialler = Dialler<String>()
    dialler.setCosts(cost)
    return dialler
  }

  private func due(_ dialler: inout Dialler<String>, _ uptime: Int64) -> String? { dialler.takeDue(uptime)?.address }

  @Test func `R14.1 paths start 250 ms apart, the cheapest first`() {
    var dialler = dialler()
    dialler.setTold(high, ["tunnel", "far", "near"], 0)
    for (number, address) in ["near", "far", "tunnel"].enumerated() {
      let at = Int64(number) * Dialler<String>.stagger
      #expect(dialler.nextDeadline == at)
      #expect(due(&dialler, at - 1) == nil && due(&dialler, at) == address && due(&dialler, at) == nil)
    }
  }

  @Test func `R14.1 a path that fails at once lets the next one start at once`() {
    var dialler = dialler()
    dialler.setTold(high, ["near", "far"], 0)
    #expect(due(&dialler, 0) == "near" && due(&dialler, 0) == nil)
    dialler.ended("near", .unreached, epochs: 1, 3, random: 0)
    #expect(due(&dialler, 3) == "far")
  }

  @Test func `R14.4 a command begins after all addresses, and not while its device is linked`() {
    var dialler = Dialler<String>()
    dialler.setCosts { $0 == "command" ? .command : $0 == "relay" ? .relay : self.cost($0) }
    dialler.setArranged(high, ["command", "relay"], 0)
    dialler.setTold(high, ["tunnel", "near"], 0)
    let order = ["near", "tunnel", "relay", "command"]
    for (number, path) in order.enumerated() {
      #expect(due(&dialler, Int64(number) * Dialler<String>.stagger) == path)
    }
    #expect(dialler.paths(to: high).map { $0.address } == order)
    for path in order { dialler.ended(path, path == "near" ? .linked(high) : .failed, epochs: 1, 800, random: 0) }
    for uptime in stride(from: Int64(1_000), to: 1_000_000, by: 500) { #expect(due(&dialler, uptime) == nil) }
    dialler.unlinked(high, 1_000_000, random: 0)
    #expect(Set((0..<4).compactMap { due(&dialler, 1_001_000 + $0 * Dialler<String>.stagger) }) == Set(order))
  }

  @Test func `R14.4 a command that fails is started less and less often, also when networks come and go`() {
    var dialler = Dialler<String>()
    dialler.setArranged(high, ["command"], 0)
    var starts: [Int64] = []
    for uptime in stride(from: Int64(0), to: 3_600_000, by: 250) {
      if uptime >= 1_800_000 { dialler.networkChanged(uptime) }
      guard due(&dialler, uptime) != nil else { continue }
      starts.append(uptime)
      dialler.ended("command", .foreign, epochs: 1, uptime, random: 0)
    }
    let gaps = zip(starts.dropFirst(), starts).map { $0 - $1 }
    #expect(gaps.allSatisfy { $0 >= Dialler<String>.leastPause })
    #expect(starts.count { $0 < 600_000 } < 9 && starts.count { $0 < 1_800_000 } < 20, "\(starts)")
  }

  @Test func `R14.4 four commands are under way at a time, and each has its time while addresses wait`() {
    var dialler = Dialler<String>()
    for number in 0..<6 { dialler.setArranged(Identifier(high: 3, low: UInt64(number)), ["command \(number)"], 0) }
    #expect((0..<6).compactMap { _ in due(&dialler, 0) }.count == Dialler<String>.arrangedAttemptLimit)
    dialler.setStatic((0..<30).map { "near \($0)" }, 1)
    var (ended, left): (Set<String>, Int64?) = ([], nil)
    for uptime in stride(from: Int64(1), to: 12_000, by: 50) {
      while due(&dialler, uptime) != nil {}
      for address in dialler.outstayed(uptime) {
        if address.hasPrefix("command"), left == nil { left = uptime }
        ended.insert(address)
        dialler.ended(address, .unreached, epochs: 1, uptime, random: 0)
      }
    }
    #expect(ended.count { $0.hasPrefix("near") } == 30 && left ?? .max >= Dialler<String>.arrangedPatience)
  }

  @Test func `R14.4 a command that is taken back is dialled no more`() {
    var dialler = Dialler<String>()
    dialler.setArranged(high, ["command"], 0)
    dialler.setArranged(low, ["other"], 0)
    #expect(due(&dialler, 0) == "command")
    dialler.retryArranged(1)
    #expect(due(&dialler, 1) == "other" && due(&dialler, 1) == nil, "the first one is under way")
    dialler.ended("other", .failed, epochs: 1, 2, random: 0)
    #expect(due(&dialler, 3) == nil)
    dialler.retryArranged(3)
    #expect(due(&dialler, 3) == "other")
    dialler.ended("other", .failed, epochs: 1, 3, random: 0)
    dialler.setArranged(high, [], 4)
    dialler.ended("command", .failed, epochs: 1, 5, random: 0)
    dialler.forget(low)
    #expect(dialler.addressCount == 0 && dialler.nextDeadline == nil)
  }

  @Test func `R14.2 of ten addresses of a name nine are dead, and the tenth is dialled within three seconds`() {
    var dialler = dialler()
    dialler.resolved(high, (0..<10).map { "far\($0)" }, 0)
    var dialled: [String: Int64] = [:]
    for uptime in stride(from: Int64(0), through: 3_000, by: 10) {
      while let address = due(&dialler, uptime) { dialled[address] = uptime }
    }
    #expect(dialled.count == 10 && dialled["far9"] == 9 * Dialler<String>.stagger)
  }

  @Test func `R14.2 addresses of a name are dialled once a look-up, those of before only if they have led there`() {
    var dialler = dialler()
    dialler.resolved(high, ["a", "b"], 0)
    #expect(due(&dialler, 0) == "a")
    dialler.ended("a", .unreached, epochs: 1, 10, random: 0)
    #expect(due(&dialler, 10) == "b")
    dialler.ended("b", .linked(high), epochs: 1, 20, random: 0)
    dialler.unlinked(high, 30_000, random: 0)
    #expect(due(&dialler, 90_000) == "b" && due(&dialler, 90_000) == nil)
    dialler.ended("b", .unreached, epochs: 1, 90_010, random: 0)
    dialler.resolved(high, ["c"], 90_020)
    #expect(due(&dialler, 90_020) == "c" && dialler.addressCount == 2)
  }

  @Test func `R14.1 an address that a device tells is dialled while it is not linked, at most eight of one device`() {
    var dialler = dialler()
    dialler.setTold(high, (0..<20).map { "far\($0)" }, 0)
    #expect(dialler.addressCount == Limits.toldAddresses)
    dialler.setTold(high, ["far1", "new"], 10)
    #expect(dialler.addressCount == 2)
    dialler.linked(high)
    dialler.uses("far1", for: high, 20)
    #expect(due(&dialler, 100_000) == nil && dialler.nextDeadline == nil)
    dialler.forget(high)
    #expect(dialler.addressCount == 0)
  }

  @Test func `R14.1 the address that has worked last is dialled before others of its cost`() {
    var dialler = dialler()
    dialler.setTold(high, ["far1", "far2"], best: "far2", 0)
    #expect(due(&dialler, 0) == "far2")
  }

  // MARK: Moves

  /// Two ends of a link by a tunnel, which the lower device has dialled.
  private func table(own: Identifier, peer: Identifier) -> LinkTable<String> {
    var table = LinkTable<String>(own: own)
    table.setCosts(cost)
    table.setTold(peer, ["tunnel"], best: nil, 0)
    #expect(table.takeDue(0)?.address == "tunnel")
    table.dialled("tunnel", as: 1, 0)
    table.linked(1, with: peer, epochs: 1, 10, random: 0)
    return table
  }

  @Test func `R14.1 a better path is taken as soon as it is there, and a worse one never while the link lives`() {
    var table = table(own: low, peer: high)
    table.setTold(high, ["tunnel", "far", "near"], best: nil, 60_000)
    #expect(table.takeDue(60_000)?.address == "near")
    table.dialled("near", as: 2, 60_000)
    #expect(!table.isSuperfluous(2, to: high, 60_020))
    #expect(table.choice(for: 2, of: high, 60_020) == .taken(replacing: 1))
    table.linked(2, with: high, epochs: 1, 60_020, random: 0)
    // Make before break: the former connection stays until the hubs have moved.
    #expect(table.isReplaced(1) && table.number(of: high) == 2)
    table.remove(1, epochs: 1, 60_100, random: 0)
    #expect(table.devices == [high])
    for uptime in stride(from: Int64(60_100), to: 400_000, by: 100) { #expect(table.takeDue(uptime) == nil) }
    // One that was under way comes too late.
    table.networkChanged(400_000)
    #expect(table.takeDue(400_000)?.address == "near" && table.takeDue(400_250)?.address == "far")
    table.dialled("far", as: 3, 400_250)
    table.heard(2)
    #expect(table.isSuperfluous(3, to: high, 400_300))
  }

  @Test func `R14.1 a link moves once in five seconds at most`() {
    var table = table(own: low, peer: high)
    table.setTold(high, ["tunnel", "near"], best: nil, 100)
    #expect(table.takeDue(5_009) == nil && table.nextDeadline == 5_010)
    #expect(table.takeDue(5_010)?.address == "near")
    table.dialled("near", as: 2, 5_010)
    // It is too young yet by the clock of the link.
    #expect(table.isSuperfluous(2, to: high, 5_009) && !table.isSuperfluous(2, to: high, 5_010))
  }

  @Test func `R14.1 a better path that fails is tried three times, and again once something has changed`() {
    var table = table(own: low, peer: high)
    table.setTold(high, ["near"], best: nil, 100)
    func attempts(from: Int64) -> Int {
      var count = 0
      for uptime in stride(from: from, to: from + 300_000, by: 100) {
        guard let address = table.takeDue(uptime)?.address else { continue }
        #expect(address == "near")
        table.undialled(address, uptime, random: 0)
        count += 1
      }
      return count
    }
    #expect(attempts(from: 10_000) == Dialler<String>.improvementLimit && attempts(from: 400_000) == 0)
    table.setTold(high, ["near", "near2"], best: nil, 800_000)
    #expect(table.takeDue(800_000) != nil)
  }

  @Test func `R14.1 two ends that disagree about the better path do not move for ever`() {
    // This end prefers "near", and the other one has dialled "tunnel" again each time.
    var table = table(own: low, peer: high)
    table.setTold(high, ["tunnel", "near"], best: nil, 100)
    var (moves, number): (Int, UInt64) = (0, 2)
    for uptime in stride(from: Int64(10_000), to: 600_000, by: 100) {
      guard let address = table.takeDue(uptime)?.address else { continue }
      table.dialled(address, as: number, uptime)
      table.linked(number, with: high, epochs: 1, uptime, random: 0)
      moves += 1
      let source = HalfOpenTable.Source(address: low, prefix: low)
      _ = table.accepted(number + 1, from: source, uptime)
      table.linked(number + 1, with: high, at: "tunnel", epochs: 1, uptime + 50, random: 0)
      table.remove(number - 1, epochs: 1, uptime + 60, random: 0)
      table.remove(number, epochs: 1, uptime + 60, random: 0)
      number += 2
    }
    #expect(moves <= Dialler<String>.improvementLimit)
  }

  @Test func `R14.1 when a link ends all its paths are dialled again, and the failures are known`() {
    var table = table(own: low, peer: high)
    table.setTold(high, ["near", "tunnel"], best: nil, 100)
    table.remove(1, epochs: 1, 200, random: 0)
    #expect(table.takeDue(1_200)?.address == "near")
    table.undialled("near", 1_200, random: 0, failure: SegueError(.system, "no route"))
    let paths = table.paths(to: high)
    #expect(paths.map { $0.address } == ["near", "tunnel"] && paths.map { $0.cost } == [.neighbour, .tunnel])
    #expect(paths[0].failure?.message == "no route" && paths[1].failure == nil)
  }

  // MARK: Avoided paths

  @Test func `R14.1 a kind of path that is avoided is not dialled, and is again once it is used`() {
    var dialler = dialler()
    dialler.setAvoided(high, [.tunnel, .routed], 0)
    dialler.setTold(high, ["tunnel", "far", "near"], 0)
    dialler.setTold(low, ["tunnel2"], 0)
    #expect(due(&dialler, 0) == "near" && due(&dialler, 0) == "tunnel2" && due(&dialler, 10_000) == nil)
    #expect(dialler.paths(to: high).filter { $0.isAvoided }.map { $0.address } == ["far", "tunnel"])
    #expect(dialler.isAvoided("tunnel", to: high) && !dialler.isAvoided("tunnel", to: low))
    dialler.ended("near", .failed, epochs: 1, 100, random: 0)
    dialler.ended("tunnel2", .failed, epochs: 1, 100, random: 0)
    dialler.setAvoided(high, [.routed, .neighbour], 1_000)
    #expect(due(&dialler, 1_000) == "tunnel")
    dialler.setAvoided(high, [], 1_000)
    #expect(dialler.paths(to: high).allSatisfy { !$0.isAvoided })
    #expect((1...4).compactMap { due(&dialler, 5_000 + $0 * 250) }.contains("near"))
  }

  @Test func `R14.1 a path that is allowed again is dialled at once, however long it would have paused`() {
    var dialler = dialler()
    dialler.setTold(high, ["far"], 0)
    var uptime: Int64 = 0
    for _ in 0..<8 {
      while due(&dialler, uptime) == nil, uptime < 3_600_000 { uptime += 100 }
      dialler.ended("far", .failed, epochs: 1, uptime, random: 0)
    }
    dialler.setAvoided(high, [.routed], uptime + 20_000)
    #expect(due(&dialler, uptime + 20_000) == nil, "the control: it pauses")
    dialler.setAvoided(high, [], uptime + 20_000)
    #expect(due(&dialler, uptime + 20_000) == "far")
  }

  @Test func `R14.1 an address whose device is found to be one to which it is avoided is left alone until then`() {
    var dialler = dialler()
    dialler.setAvoided(high, [.routed], 0)
    dialler.announced("far", from: [1], 0)
    #expect(due(&dialler, 0) == "far")
    dialler.ended("far", .avoided(high), epochs: 1, 100, random: 0)
    for uptime in stride(from: Int64(100), to: 600_000, by: 1_000) {
      dialler.announced("far", from: [1], uptime)
      #expect(due(&dialler, uptime) == nil)
    }
    dialler.setAvoided(high, [], 600_000)
    #expect(due(&dialler, 600_000) == "far")
  }

  // MARK: Costs

  private func interface(_ address: String, _ index: UInt32, isTunnel: Bool = false) throws -> NetworkInterface {
    NetworkInterface(
      index: index, canMulticast: !isTunnel, isPointToPoint: isTunnel,
      address: try NetworkAddress.read(host: address, port: 1).with(port: 0))
  }

  @Test(arguments: [
    ("192.168.1.7", PathCost.neighbour), ("192.168.2.7", .routed), ("10.8.0.9", .tunnel), ("100.101.2.3", .tunnel),
    ("fd7a:115c:a1e0::9", .tunnel), ("2001:db8:1::9", .neighbour), ("2001:db8:2::9", .routed), ("100.128.0.1", .routed),
  ]) func `R14.1 both ends find the same cost: by networks, tunnels and tailnets`(text: String, cost: PathCost) throws {
    let interfaces = try [
      interface("192.168.1.5", 1), interface("2001:db8:1::5", 1), interface("10.8.0.5", 2, isTunnel: true),
      interface("100.101.2.4", 3, isTunnel: true),
    ]
    #expect(PathCost.of(try NetworkAddress.read(host: text, port: 4_711), interfaces) == cost)
  }

  @Test func `R14.1 a link-local address is a neighbour's, of a tunnel too if its interface is one`() throws {
    let address = try NetworkAddress.read("[fe80::7]:1")
    let interfaces = [
      NetworkInterface(index: 1, canMulticast: true, address: address),
      NetworkInterface(index: 2, canMulticast: true, isPointToPoint: true, address: address),
    ]
    #expect(PathCost.of(address.with(interface: 1), interfaces) == .neighbour)
    #expect(PathCost.of(address.with(interface: 2), interfaces) == .tunnel)
  }
}
