// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueAgentCore
@testable import SegueFleet

/// A random life of a laptop, an office and two devices that may be its mailbox (R14.5), from a seed: devices go off
/// and on, agents die, the mailbox changes, activities change, are continued and pushed. Each activity has a number of
/// its own, and each state of it a higher one.
final class MailboxLife {
  private let house: MailboxHouse
  private let shed: MailboxHouse.Member
  private var random: SeededRandom
  private var number = 0
  /// The activity that the laptop offers; nil: none.
  private var current: Identifier?
  private var secrets: Set<Int> = []
  /// The number of times that the office has been asked to continue a state: by a push, or by its user.
  private var asked: [String: Int] = [:]
  /// The pushes that a mailbox keeps, by what the laptop was told.
  private var kept: [Identifier] = []
  private(set) var violations: [String] = []
  /// The number of times that something has happened, so that a test can tell that it does.
  private(set) var counts: [String: Int] = [:]

  init(seed: UInt64) throws {
    house = try MailboxHouse(seed: seed)
    shed = try house.add("shed")
    house.pass(1_500)
    try house.join(shed)
    random = SeededRandom(seed: seed)
    for member in [house.home, house.laptop, house.office, shed] { _ = member?.id }
    try house.office.policy("at-once")
    house.pass(5_000)
  }

  private var members: [MailboxHouse.Member] { [house.home, house.laptop, house.office, shed] }
  private var mailboxes: [MailboxHouse.Member] { [house.home, shed] }

  func live(_ steps: Int) throws {
    for _ in 0..<steps {
      try step()
      house.pass(random.within(100, 20_000))
      check()
    }
    // All are there in the end: what waits arrives.
    house.fleet.heal()
    for member in members where member.device.fleetAgent == nil { try start(member) }
    house.pass(20 * 60_000)
    check()
    for mailbox in mailboxes {
      for push in mailbox.pushes where push["ended"] == nil { violations.append("a push waits for ever: \(push)") }
      for push in mailbox.pushes where push["ended"] != nil { count("ended push") }
    }
    for push in kept where house.laptop.notes.receipts.count(where: { $0.continuation == push }) != 1 {
      violations.append("a push that is kept has not one receipt")
    }
    if let violation = house.fleet.violation { violations.append(violation) }
  }

  private func step() throws {
    switch random.within(0, 15) {
    case 0, 1: try offer()
    case 2: try change()
    case 3: try push()
    case 4, 5: try proceed()
    case 6: try members[Int(random.within(0, 3))].sleeps()
    case 7, 8: house.wakes(house.office, for: 100_000)
    case 9: try restart(members[Int(random.within(0, 3))])
    case 10: try chooseMailbox()
    case 11, 12: try pushToSleeper()
    case 13: house.pass(100_000)
    default: try offline()
    }
  }

  /// The office is off while the laptop pushes to it, and then on, while the laptop may be off.
  private func pushToSleeper() throws {
    house.fleet.heal()
    for member in mailboxes where member.device.fleetAgent == nil { try start(member) }
    try house.laptop.retains(on: mailboxes[Int(random.within(0, 1))])
    try house.office.sleeps()
    house.pass(80_000)
    try offer()
    house.pass(random.within(500, 3_000))
    for _ in 0..<random.within(1, 2) { try push() }
    if random.chance(0.3) { try change() }
    house.pass(random.within(0, 5_000))
    house.wakes(house.office, except: random.chance(0.7) ? house.laptop : nil, for: random.within(2_000, 120_000))
  }

  private func count(_ what: String) { counts[what, default: 0] += 1 }

  private func offer() throws {
    number += 1
    let isSecret = random.chance(0.2)
    if isSecret { secrets.insert(number) }
    current = try house.laptop.offers(number) { $0.setPrivate(isSecret) }
  }

  private func change() throws {
    let index = house.laptop.notes.activities.own.count - 1
    guard current != nil, index >= 0, !secrets.contains(number) else { return }
    number += 1
    let next = number
    try house.laptop.notes.change(index) { (activity) throws(SegueError) in
      try ScriptedApp.write(next, to: &activity)
    }
  }

  private func push() throws {
    guard let current, house.laptop.device.fleetAgent != nil else { return }
    let title = "T\(number)"
    asked[title, default: 0] += 1
    guard let answer = try? house.laptop.pushes(current, to: house.office) else { return }
    count(answer["retained_at"] == nil ? "pushed" : "kept")
    if answer["retained_at"] != nil, let id = answer["continuation_id"]?.uuid { kept.append(id) }
    if secrets.contains(number) { violations.append("a private activity is pushed") }
  }

  /// The office's user continues something.
  private func proceed() throws {
    guard let offer = house.office.notes.offers.first else { return }
    asked[offer.description.title ?? "", default: 0] += 1
    // It may have another state by then, which is older only at a mailbox.
    house.office.notes.continue(offer, house.fleet.drawIdentifier())
    count("continued")
  }

  private func restart(_ member: MailboxHouse.Member) throws {
    if member.device.fleetAgent == nil { return try start(member) }
    // The app of the laptop loses no receipt by that: its hub is another one then.
    guard member !== house.laptop else { return }
    try member.device.endFleetAgent(isKilled: random.chance(0.5))
    count("ended")
  }

  private func start(_ member: MailboxHouse.Member) throws {
    try member.device.startFleetAgent { MailboxAgent(on: $0) }
    house.pass(3_000)
  }

  private func chooseMailbox() throws {
    let chosen: MailboxHouse.Member? = [house.home, shed, nil][Int(random.within(0, 2))]
    try house.laptop.retains(on: chosen)
  }

  /// The laptop is off while the office is there.
  private func offline() throws {
    house.fleet.heal()
    try house.laptop.sleeps()
    house.pass(random.within(60_000, 120_000))
    if random.chance(0.5) { try proceed() }
  }

  // MARK: What must hold

  private func check() {
    for mailbox in mailboxes {
      for record in mailbox.device.fleetAgent?.inbox?.retainedOffers ?? [] {
        if secrets.contains(where: { "T\($0)" == record.description.title }) {
          violations.append("a private activity is retained")
        }
      }
    }
    for title in Set(house.office.notes.titles) {
      let taken = house.office.notes.titles.count { $0 == title }
      if taken > asked[title] ?? 0 { violations.append("\(title) is continued \(taken) times") }
    }
    checkRevisions()
  }

  /// The newer state is offered of two mailboxes that the office is linked with.
  private func checkRevisions() {
    guard let office = house.office.device.fleetAgent else { return }
    for offer in house.office.notes.offers where offer.deviceName.contains("retained at") {
      for mailbox in mailboxes where office.devices?.links?.devices.contains(mailbox.id) == true {
        guard let agent = mailbox.device.fleetAgent, agent.keptOffers.contains(offer.description.id) else { continue }
        let record = agent.inbox?.retainedOffers.first { $0.activity == offer.description.id }
        guard let record, record.receipt == nil else { continue }
        let (there, here) = (Self.number(record.description.title) ?? 0, Self.number(offer.description.title) ?? 0)
        if there > here {
          violations.append("T\(here) is offered, and \(mailbox.device.name) offers T\(there)")
        }
      }
    }
  }

  private static func number(_ title: String?) -> Int? { title.flatMap { Int($0.dropFirst()) } }
}

@Suite struct MailboxLifeTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>) func `R14_5 mailboxes keep their rules in a random life`(
    seed: UInt64
  ) throws {
    let life = try MailboxLife(seed: seed)
    try life.live(40)
    #expect(life.violations.isEmpty, "seed \(seed): \(life.violations)")
    #expect(life.counts["kept"] != nil && life.counts["ended push"] != nil, "the control: \(life.counts)")
  }
}
