// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// The connections that become links.
@Suite struct LinkTableTests {
  private let low = Identifier(high: 1, low: 1)
  private let high = Identifier(high: 2, low: 2)
  private let source = HalfOpenTable.Source(address: Identifier(high: 7, low: 7), prefix: Identifier(high: 7, low: 0))

  /// A table with a link that this device has dialled.
  private func table(of own: Identifier, with peer: Identifier) -> LinkTable<String> {
    var table = LinkTable<String>(own: own)
    table.setStatic(["a"], 0)
    #expect(table.takeDue(0)?.address == "a")
    table.dialled("a", as: 1, 0)
    #expect(table.choice(for: 1, of: peer, 10) == .taken(replacing: nil))
    table.linked(1, with: peer, epochs: 1, 10, random: 0)
    return table
  }

  @Test func `of two connections that are made at once that of the lower device stays`() {
    for (own, peer, choice) in [
      (low, high, LinkTable<String>.Choice.refused), (high, low, .taken(replacing: 1)),
    ] {
      var table = table(of: own, with: peer)
      #expect(table.accepted(2, from: source, 20) == .added(ending: nil))
      #expect(table.choice(for: 2, of: peer, 20) == choice)
      #expect(table.choice(for: 2, of: peer, 10 + LinkChoice.sameTime) == .taken(replacing: 1))
      #expect(table.devices == [peer] && table.number(of: peer) == 1)
    }
  }

  @Test func `an attempt that ends in whatever way is made again`() {
    for end in [LinkTable<String>.End.failed, .silent, .own, .linked(high)] {
      var table = LinkTable<String>(own: low)
      table.setStatic(["a"], 0)
      _ = table.takeDue(0)
      table.dialled("a", as: 1, 0)
      #expect(table.nextDeadline == HalfOpenTable.time)
      #expect(table.remove(1, end, epochs: 1, 1_000, random: 0) == nil)
      let next = table.nextDeadline
      #expect(next.map { $0 > 1_000 && $0 <= 1_000 + Dialler<String>.recheckPause } ?? false)
    }
    var table = LinkTable<String>(own: low)
    table.setStatic(["a"], 0)
    _ = table.takeDue(0)
    table.undialled("a", 0, random: 0)
    #expect(table.nextDeadline.map { $0 > 0 } ?? false)
  }

  @Test func `a connection that is no link in time ends, and a link does not`() {
    var table = table(of: low, with: high)
    _ = table.accepted(2, from: source, 1_000)
    table.announced("b", from: [2], 1_000)
    #expect(table.takeDue(1_000)?.address == "b")
    table.dialled("b", as: 3, 1_000)
    #expect(table.overdue(1_000 + HalfOpenTable.time - 1) == [])
    #expect(table.overdue(1_000 + HalfOpenTable.time) == [2, 3])
  }

  @Test func `a device that is not listed has until its deadline, and the time of the store besides (A24)`() {
    var table = LinkTable<String>(own: low)
    for number: UInt64 in [1, 2] { _ = table.accepted(number, from: source, 0) }
    table.hold(1, until: 9_000)
    // It has shown a certificate, so that its connection is not half open any longer; the other one is.
    table.extend(2, by: 60_000)
    #expect(table.nextDeadline == HalfOpenTable.time)
    #expect(table.overdue(HalfOpenTable.time) == [2] && table.nextDeadline == 9_000)
    table.extend(1, by: 500)
    table.extend(1, by: -1)
    #expect(!table.overdue(9_499).contains(1) && table.overdue(9_500).contains(1))
    table.extend(1, by: .max)
    #expect(!table.overdue(.max - 1).contains(1))
    #expect(table.remove(1, .unlisted, epochs: 1, 10_000, random: 0) == nil && table.devices.isEmpty)
  }

  @Test func `an attempt that leads nowhere ends early where another address waits`() {
    var table = LinkTable<String>(own: low)
    for number in 0..<20 { table.announced("x\(number)", from: [UInt8(number)], 0) }
    var number: UInt64 = 0
    while let address = table.takeDue(0)?.address {
      number += 1
      table.dialled(address, as: number, 0)
    }
    #expect(number == 16 && table.nextDeadline == Dialler<String>.knockPatience)
    table.knocked(1)
    #expect(table.overdue(Dialler<String>.knockPatience - 1) == [])
    #expect(table.overdue(Dialler<String>.knockPatience) == [2, 3, 4, 5])
  }

  @Test func `when a link ends its device is dialled again; while the network changes it is linked, not surely`() {
    var table = table(of: low, with: high)
    #expect(table.surelyLinked == [high])
    table.networkChanged(20)
    #expect(table.surelyLinked == [] && table.devices == [high])
    table.heard(1)
    #expect(table.surelyLinked == [high])
    #expect(table.remove(1, epochs: 1, 30, random: 0) == high)
    #expect(table.devices == [] && table.nextDeadline.map { $0 <= 30 + Dialler<String>.firstPause } ?? false)
    #expect(table.remove(1, epochs: 1, 30, random: 0) == nil)
  }

  @Test func `a connection to a linked device shows nothing of this one`() {
    var table = table(of: low, with: high)
    table.announced("b", from: [2], 5)
    #expect(table.takeDue(20)?.address == "b")
    table.dialled("b", as: 2, 20)
    // Announced before there was a link: by that beacon nothing has changed.
    #expect(table.isSuperfluous(2, to: high, 20) && !table.isSuperfluous(2, to: Identifier(high: 3, low: 3), 20))
    table.networkChanged(30)
    #expect(!table.isSuperfluous(2, to: high, 20))
  }

  @Test func `a linked device that announces another address has moved there, and is linked anew`() {
    var table = table(of: high, with: low)
    table.announced("b", from: [2], 20)
    #expect(table.takeDue(20)?.address == "b")
    table.dialled("b", as: 2, 20)
    #expect(!table.isSuperfluous(2, to: low, 20))
    #expect(table.choice(for: 2, of: low, 30) == .taken(replacing: 1))
    // It was linked there: a further beacon tells nothing.
    table.remove(1, epochs: 1, 30, random: 0)
    table.linked(2, with: low, epochs: 1, 30, random: 0)
    table.announced("b", from: [2], 6_000)
    #expect(table.takeDue(6_000) == nil)
  }

  @Test(arguments: [false, true])
  func `of two connections that are made at once a dialled one stays if the device has moved to its address`(
    hasMoved: Bool
  ) {
    var table = LinkTable<String>(own: high)
    #expect(table.accepted(1, from: source, 0) == .added(ending: nil))
    #expect(table.choice(for: 1, of: low, 10) == .taken(replacing: nil))
    if !hasMoved { table.announced("b", from: [2], 5) }
    table.linked(1, with: low, epochs: 1, 10, random: 0)
    if hasMoved { table.announced("b", from: [2], 20) }
    #expect(table.takeDue(20)?.address == "b")
    table.dialled("b", as: 2, 20)
    #expect(table.choice(for: 2, of: low, 30) == (hasMoved ? .taken(replacing: 1) : .refused))
  }

  @Test func `a link that may be dead gives way to any other one`() {
    var table = table(of: low, with: high)
    #expect(table.accepted(2, from: source, 20) == .added(ending: nil))
    #expect(table.choice(for: 2, of: high, 20) == .refused)
    table.networkChanged(30)
    #expect(table.choice(for: 2, of: high, 30) == .taken(replacing: 1))
    table.heard(1)
    #expect(table.choice(for: 2, of: high, 40) == .refused)
  }

  @Test func `a link whose place another one takes ends after it, and comes back if that one ends`() {
    for isKept in [true, false] {
      var table = table(of: low, with: high)
      let now = 10 + LinkChoice.sameTime
      table.networkChanged(now)
      #expect(table.accepted(2, from: source, now) == .added(ending: nil))
      #expect(table.choice(for: 2, of: high, now) == .taken(replacing: 1) && !table.isNew(1, now))
      table.linked(2, with: high, epochs: 1, now, random: 0)
      #expect(table.devices == [high] && table.number(of: high) == 2 && table.isReplaced(1))
      guard isKept else {
        // The hubs have refused it.
        #expect(table.remove(2, epochs: 1, now, random: 0) == nil)
        #expect(table.devices == [high] && table.number(of: high) == 1 && !table.isReplaced(1))
        continue
      }
      #expect(table.overdue(now + LinkTable<String>.movingTime - 1) == [])
      #expect(table.nextDeadline.map { $0 <= now + LinkTable<String>.movingTime } ?? false)
      #expect(table.overdue(now + LinkTable<String>.movingTime) == [1])
      #expect(table.remove(1, epochs: 1, now, random: 0) == nil && table.devices == [high])
      #expect(table.remove(2, epochs: 1, now, random: 0) == high)
    }
  }

  @Test func `a device that moves again and again is linked anew six times a minute at most`() {
    var table = table(of: low, with: high)
    var choices: [LinkTable<String>.Choice] = []
    for number in UInt64(2)..<10 {
      let uptime = Int64(number) * 100
      table.announced("b\(number)", from: [UInt8(number)], uptime)
      while let address = table.takeDue(uptime)?.address, address != "b\(number)" {}
      table.dialled("b\(number)", as: number, uptime)
      choices.append(table.choice(for: number, of: high, uptime))
    }
    #expect(choices == Array(repeating: .taken(replacing: 1), count: 6) + [.contested, .contested])
  }

  @Test func `R2.8: a process moves as often as its networks change, and two machines take turns six times at most`() {
    let hubs = [Identifier(high: 5, low: 5), Identifier(high: 6, low: 6)]
    for count in [1, 2] {
      var table = table(of: low, with: high)
      var choices: [LinkTable<String>.Choice] = []
      for number in UInt64(2)..<20 {
        let uptime = Int64(number) * 3_000
        _ = table.accepted(number, from: source, uptime)
        // The hub at the other end of the link that there is.
        let hub = hubs[Int(number) % count]
        let choice = table.choice(for: number, of: high, hub: hub, uptime)
        choices.append(choice)
        guard case .taken(let former?) = choice else { continue }
        table.linked(number, with: high, epochs: 1, uptime, random: 0)
        table.remove(former, epochs: 1, uptime, random: 0)
      }
      #expect(choices.contains(.contested) == (count == 2))
      if count == 2 { #expect(choices.firstIndex(of: .contested) == LinkReplacements.limit) }
    }
  }

  @Test func `connections count as another machine's until it is known which hubs they lead to`() {
    let (one, hub) = (Identifier(high: 1, low: 1), Identifier(high: 5, low: 5))
    var replacements = LinkReplacements()
    // The other end says a little later which hub a link leads to.
    var results = (0..<Int64(LinkReplacements.limit)).map { replacements.take(one, hub: nil, $0) }
    for uptime in Int64(10)..<20 { results.append(replacements.take(one, hub: hub, uptime)) }
    #expect(results == Array(repeating: true, count: 6) + Array(repeating: false, count: 10))
  }

  @Test func `an attempt that was under way when the network changed has a second left, and is made again at once`() {
    var table = LinkTable<String>(own: low)
    table.setStatic(["a"], 0)
    _ = table.takeDue(0)
    table.dialled("a", as: 1, 0)
    _ = table.accepted(2, from: source, 0)
    table.networkChanged(100)
    let end = 100 + LinkTable<String>.changeTime
    #expect(table.nextDeadline == end)
    #expect(table.overdue(end - 1) == [])
    #expect(table.overdue(end) == [1])
    table.remove(1, .unreached, epochs: 1, end, random: 0)
    #expect(table.takeDue(end)?.address == "a")
    table.dialled("a", as: 3, end)
    #expect(table.overdue(HalfOpenTable.time) == [2])
    table.remove(2, epochs: 1, HalfOpenTable.time, random: 0)
    #expect(table.overdue(end + HalfOpenTable.time) == [3])
    // One that is to end sooner is given no time.
    var late = LinkTable<String>(own: low)
    late.setStatic(["a"], 0)
    _ = late.takeDue(0)
    late.dialled("a", as: 1, 0)
    late.networkChanged(HalfOpenTable.time - 10)
    #expect(late.overdue(HalfOpenTable.time) == [1])
  }

  @Test func `a link lives if something comes that was sent after the network has changed`() {
    var suspicion = LinkSuspicion()
    func reads(_ counts: Int...) -> [Bool] { counts.map { suspicion.read($0) } }
    #expect(reads(10) == [false], "nothing is suspected")
    suspicion.begin(unread: 100)
    #expect(reads(60, 40, 1, 1) == [false, false, true, false], "not by what had come before, and once")
    suspicion.begin(unread: 100)
    #expect(reads(0, 101) == [false, true], "in one read with it")
    suspicion.begin(unread: -1)
    #expect(reads(0, 1) == [false, true])
    suspicion.begin(unread: 5)
    suspicion.begin(unread: 7)
    #expect(reads(6, 1, 1) == [false, false, true], "it has changed again")
  }

  @Test func `what a failure means depends on who has dialled, and on the knock`() {
    func end(_ status: Status, _ isDialled: Bool, _ hasKnocked: Bool) -> String {
      "\(LinkTable<String>.end(of: SegueError(status, "so"), isDialled: isDialled, hasKnocked: hasKnocked))"
    }
    #expect(end(.invalidState, true, true) == "own" && end(.invalidState, false, true) == "failed")
    #expect(end(.notAllowed, true, true) == "foreign" && end(.notAllowed, false, true) == "failed")
    #expect(end(.malformed, true, true) == "failed" && end(.connectionUnavailable, true, false) == "silent")
    // A knock that was never asked for has not failed: the epoch of the next one stays.
    let unasked = LinkTable<String>.end(
      of: SegueError(.connectionUnavailable, "so"), isDialled: true, isChallenged: false, hasKnocked: false)
    #expect("\(unasked)" == "unreached")
  }
}
