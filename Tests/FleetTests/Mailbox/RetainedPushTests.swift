// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueAgentCore
@testable import SegueEngine
@testable import SegueFleet
@testable import SegueStore

/// A mailbox keeps pushes for a device that is off (R3.15, R14.5), with the agents that ship.
@Suite struct RetainedPushTests {
  /// The office sleeps; the laptop pushes a letter to it, which home keeps.
  private func house(
    _ change: (inout Activity) throws -> Void = { _ in }
  ) throws -> (house: MailboxHouse, answer: Value, activity: Identifier) {
    let house = try MailboxHouse()
    try house.office.ask("set-devices", [("push", .string("at-once"))])
    try house.office.sleeps()
    house.pass(70_000)
    let activity = try house.laptop.offers(1, change)
    house.pass(2_000)
    let answer = try house.laptop.pushes(activity, to: house.office)
    house.pass(5_000)
    return (house, answer, activity)
  }

  @Test func `R3_15 a push to a device that is off waits at the mailbox, and comes once`() throws {
    let (house, answer, _) = try house()
    #expect(answer["retained_at"]?.uuid == house.home.id && answer["app_name"]?.string == "home")
    let id = try #require(answer["continuation_id"]?.uuid)
    let receipt = try #require(house.laptop.notes.receipts.first { $0.continuation == id })
    #expect(receipt.outcome == .unknown && receipt.reason == "retained at home" && receipt.receiver.isMailbox)
    let home = try house.laptop.ask("account")["devices"]?.elements?.first { $0["name"]?.string == "home" }
    #expect(home?["retains_pushes"]?.int64 == 1)
    var kept = try #require(house.home.pushes.first)
    #expect(kept["push"]?.uuid == id && kept["target_name"]?.string == "office" && kept["ended"] == nil)
    // Home's apps know nothing of it, and its origin may end it and sleep.
    #expect(house.home.sees == ["T1 of laptop"])
    house.laptop.notes.invalidate(0)
    house.pass(1_000)
    try house.laptop.sleeps()
    house.pass(70_000)
    #expect(house.home.sees == [] && house.home.pushes.count == 1)
    house.wakes(house.office, except: house.laptop)
    #expect(house.office.notes.titles == ["T1"])
    #expect(house.office.sees == [], "only its agent sees the offer")
    kept = try #require(house.home.pushes.first)
    #expect(kept["outcome"]?.int64 == 1 && kept["continued_on"]?.string == "office")
    house.pass(1_800_000)
    #expect(house.office.notes.titles == ["T1"])
    house.fleet.heal()
    house.pass(120_000)
    #expect(house.laptop.notes.receipts.count { $0.continuation == id } == 1, "the outcome stays at home")
    #expect(try house.laptop.device("home")?["retains_pushes"] == nil)
    house.checkAll()
  }

  @Test(arguments: [false, true]) func `R3_15 what is kept outlives the agents of mailbox and target`(
    isKilled: Bool
  ) throws {
    let (house, _, _) = try house()
    try house.laptop.sleeps()
    try house.home.device.endFleetAgent(isKilled: isKilled)
    house.pass(5_000)
    try house.home.device.startFleetAgent { MailboxAgent(on: $0) }
    house.pass(70_000)
    #expect(house.home.pushes.count == 1)
    house.wakes(house.office, except: house.laptop)
    #expect(house.office.notes.titles == ["T1"])
    for member in [house.home!, house.office!] {
      try member.device.endFleetAgent(isKilled: isKilled)
      house.pass(5_000)
      try member.device.startFleetAgent { MailboxAgent(on: $0) }
      house.pass(90_000)
    }
    #expect(house.office.notes.titles == ["T1"])
    #expect(house.home.pushes.first?["outcome"]?.int64 == 1)
    house.checkAll()
  }

  @Test func `R3_15 a push whose outcome is lost is not delivered again`() throws {
    let (house, _, _) = try house()
    try house.laptop.sleeps()
    house.office.notes.answers.continues = false
    house.wakes(house.office, except: house.laptop, for: 75_000)
    // The office has it, and home has not heard how it ended.
    try house.office.sleeps()
    house.pass(70_000)
    house.office.notes.answers.continues = true
    house.office.notes.answer()
    house.wakes(house.office, except: house.laptop)
    house.pass(600_000)
    #expect(house.office.notes.titles == ["T1"])
    let kept = try #require(house.home.pushes.first)
    #expect(kept["reason"]?.string == "office: has had it, or a later one", "home has asked again")
    house.checkAll()
  }

  @Test(arguments: [10, 30, 60, 100, 200] as [Int64]) func `R3_15 a push that a cut interrupts comes all the same`(
    delay: Int64
  ) throws {
    let (house, _, _) = try house()
    try house.laptop.sleeps()
    house.fleet.heal()
    try house.laptop.sleeps()
    for _ in 0..<24_000 where house.home.agent.keptOffers.isEmpty { house.pass(5) }
    house.pass(delay)
    try house.office.sleeps()
    house.pass(120_000)
    house.wakes(house.office, except: house.laptop)
    house.pass(60_000)
    #expect(house.office.notes.titles == ["T1"])
    house.checkAll()
  }

  @Test func `R3_15 what the origin delivers itself does not come from the mailbox, too`() throws {
    let (house, _, activity) = try house()
    // Home does not hear that.
    try house.fleet.partition(house.home.device, from: nil)
    house.pass(70_000)
    house.connects(house.laptop, house.office)
    try house.laptop.pushes(activity, to: house.office)
    house.pass(20_000)
    #expect(house.office.notes.titles == ["T1"])
    #expect(house.home.pushes.first?["ended"] == nil, "the control: home has it")
    try house.laptop.sleeps()
    house.wakes(house.office, except: house.laptop)
    house.pass(600_000)
    #expect(house.office.notes.titles == ["T1"])
    #expect(house.home.pushes.first?["outcome"]?.int64 == 4, "\(house.home.pushes)")
    house.checkAll()
  }

  @Test func `R3_15 a mailbox that is there drops what the origin delivers itself`() throws {
    let (house, _, activity) = try house()
    house.fleet.heal()
    // Before home has told the office.
    house.pass(120_000)
    #expect(house.office.notes.titles == ["T1"])
    try house.laptop.pushes(activity, to: house.office)
    house.pass(20_000)
    #expect(house.office.notes.titles == ["T1", "T1"], "the user has pushed twice")
    house.checkAll()
  }

  @Test func `R3_15 of two pushes of an activity the later one is kept`() throws {
    let (house, _, activity) = try house()
    try house.laptop.notes.change(0) { (activity) throws(SegueError) in try ScriptedApp.write(2, to: &activity) }
    try house.laptop.pushes(activity, to: house.office)
    house.pass(10_000)
    #expect(house.home.pushes.count == 1)
    try house.laptop.sleeps()
    house.wakes(house.office, except: house.laptop)
    #expect(house.office.notes.titles == ["T2"])
  }

  @Test func `R3_15 where nobody is asked it waits, and what the user declines is over`() throws {
    let (house, _, _) = try house()
    try house.laptop.sleeps()
    house.fleet.heal()
    try house.laptop.sleeps()
    try house.office.policy("ask")
    house.pass(300_000)
    #expect(house.office.notes.titles == [] && house.home.pushes.first?["ended"] == nil)
    let asked = try #require(try house.office.isAsked())
    #expect(asked["device_name"]?.string == "laptop, retained at home")
    try house.office.ask("answer-push", [("push", asked["push"]!), ("accepts", .bool(false))])
    house.pass(30_000)
    let kept = try #require(house.home.pushes.first)
    #expect(kept["outcome"]?.int64 == 2 && kept["reason"]?.string == "office: its user has declined")
    #expect(house.office.notes.titles == [])
    // A mailbox that does not accept that is not heard.
    let origin = try #require(house.home.agent.inbox?.retainedOffers.first?.retained)
    let mark = PushMark(device: origin.device, activity: origin.activity, number: origin.revision)
    var taken: Bool?
    house.office.agent.inbox?.hasTaken(mark) { taken = try? $0.get() }
    house.pass(1_000)
    #expect(taken == true)
    house.checkAll()
  }

  @Test func `R14_5 a push is offered to the device that it is for, and to no other`() throws {
    let (house, _, _) = try house()
    let cabin = try house.add("cabin")
    house.pass(1_500)
    try house.join(cabin)
    house.fleet.heal()
    try house.laptop.sleeps()
    try house.office.policy("ask")
    house.pass(60_000)
    #expect(try house.office.isAsked() != nil)
    func pushes(of member: MailboxHouse.Member) throws -> Int {
      let hub = try #require(member.device.hub)
      return hub.engine.parts.remoteHubs.all.flatMap { $0.retained }.count { $0.remote?.retained?.push != nil }
    }
    #expect(try pushes(of: house.office) == 1)
    #expect(try pushes(of: cabin) == 0)
    #expect(cabin.sees == ["T1 of laptop, retained at home"])
    house.checkAll()
  }

  @Test func `R3_15 the user accepts what was kept`() throws {
    let (house, _, _) = try house { try $0.attach(CollectedBytes.attachment("photo", size: 3_000)) }
    #expect(house.home.agent.inbox?.retainedOffers.first { $0.retained?.push != nil }?.attachmentBytes == 3_000)
    try house.laptop.sleeps()
    house.fleet.heal()
    try house.laptop.sleeps()
    try house.office.policy("ask")
    house.pass(60_000)
    let asked = try #require(try house.office.isAsked())
    // The offer is seen, which is retained, and not the push.
    let seen = ["T1 of laptop, retained at home"]
    #expect(house.office.sees == seen && house.home.sees == seen)
    try house.office.ask("answer-push", [("push", asked["push"]!), ("accepts", .bool(true))])
    house.pass(10_000)
    #expect(house.office.notes.titles == ["T1"])
    #expect(house.home.pushes.first?["outcome"]?.int64 == 1)
    house.checkAll()
  }

  @Test func `R14_5 nothing private is kept as a push, and nothing without a mailbox`() throws {
    let house = try MailboxHouse()
    try house.office.sleeps()
    house.pass(70_000)
    let secret = try house.laptop.offers(1) { $0.setPrivate(true) }
    house.pass(2_000)
    #expect(throws: SegueError.self) { try house.laptop.pushes(secret, to: house.office) }
    #expect(house.home.pushes.isEmpty)
    let open = try house.laptop.offers(2)
    try house.laptop.retains(on: nil)
    house.pass(2_000)
    let error = #expect(throws: SegueError.self) { try house.laptop.pushes(open, to: house.office) }
    #expect(error?.message == "office: is not linked now")
    try house.laptop.retains(on: house.home)
    try house.fleet.partition(house.home.device, from: nil)
    house.pass(70_000)
    let other = #expect(throws: SegueError.self) { try house.laptop.pushes(open, to: house.office) }
    #expect(other?.status == .connectionUnavailable)
  }

  @Test func `R14_5 a mailbox that is none any longer drops pushes, also if it hears that later`() throws {
    let (house, _, _) = try house()
    try house.laptop.retains(on: nil)
    house.pass(5_000)
    #expect(house.home.pushes.isEmpty)
    let (other, _, _) = try self.house()
    try other.fleet.partition(other.home.device, from: nil)
    other.pass(70_000)
    try other.laptop.retains(on: nil)
    other.connects(other.home, other.laptop)
    #expect(other.home.pushes.isEmpty)
  }

  @Test func `R14_5 pushes of a device that was removed are dropped, and those for one`() throws {
    let (house, _, _) = try house()
    try house.laptop.sleeps()
    house.pass(70_000)
    try house.home.ask("revoke-device", [("device", .uuid(house.laptop.id))])
    house.pass(2_000)
    #expect(house.home.pushes.isEmpty)
    let (other, _, _) = try self.house()
    try other.home.ask("revoke-device", [("device", .uuid(other.office.id))])
    other.pass(2_000)
    #expect(other.home.pushes.isEmpty)
  }

  @Test func `R14_5 a mailbox keeps so many pushes of a device, and forgets those that have ended first`() throws {
    let (house, _, _) = try house()
    var refusal: SegueError?
    for number in 2...Limits.retainedPushes + 1 {
      let activity = try house.laptop.offers(number)
      house.pass(1_000)
      do {
        try house.laptop.pushes(activity, to: house.office)
      } catch let error as SegueError { refusal = error }
    }
    #expect(house.home.pushes.count == Limits.retainedPushes)
    #expect(refusal?.message == "home: keeps no more: it has \(Limits.retainedPushes) pushes of this device")
    house.wakes(house.office)
    house.pass(120_000)
    #expect(house.home.pushes.allSatisfy { $0["ended"] != nil }, "\(house.home.pushes)")
    try house.office.sleeps()
    house.pass(70_000)
    let activity = try house.laptop.offers(99)
    house.pass(1_000)
    try house.laptop.pushes(activity, to: house.office)
    #expect(house.home.pushes.count == Limits.retainedPushes && house.home.pushes.last?["ended"] == nil)
    house.checkAll()
  }

  @Test func `R14_5 a push that finds no target for a week is dropped`() throws {
    let (house, _, _) = try house()
    try house.laptop.sleeps()
    house.pass(Int64(Limits.retainedLife * 1_000) - 200_000)
    #expect(house.home.pushes.count == 1)
    house.pass(200_000)
    #expect(house.home.pushes.isEmpty)
  }

  @Test func `R14_5 no member forges a push of another, or turns one to another device, mailbox or app`() throws {
    let (house, _, _) = try house()
    let genuine = try #require(house.home.agent.inbox?.retainedOffers.first { $0.retained?.push != nil }?.retained)
    let push = try #require(genuine.push)
    let retention = house.office.devices.retention
    let (home, office) = (house.home.id, house.office.id)
    func changed(
      revision: UInt64? = nil, activity: Identifier? = nil, _ push: RetainedPush?
    ) -> RetainedOrigin {
      RetainedOrigin(
        device: genuine.device, activity: activity ?? genuine.activity, revision: revision ?? genuine.revision,
        push: push, proof: genuine.proof)
    }
    #expect(retention.isGenuine(genuine, by: home) && retention.isGenuine(changed(push), by: home), "the control")
    #expect(!retention.isGenuine(genuine, by: office))
    #expect(!retention.isGenuine(changed(revision: genuine.revision + 1, push), by: home))
    #expect(!retention.isGenuine(changed(activity: push.id, push), by: home))
    #expect(!retention.isGenuine(changed(nil), by: home), "it is no offer")
    for other in [
      RetainedPush(id: push.target, target: push.target, app: nil), RetainedPush(id: push.id, target: home, app: nil),
      RetainedPush(id: push.id, target: push.target, app: ""),
      RetainedPush(id: push.id, target: push.target, app: "com.example.other"),
    ] {
      #expect(!retention.isGenuine(changed(other), by: home))
    }
    // Home takes only what was signed for it.
    let kept = house.home.devices.retention
    #expect(throws: Never.self) { try kept.check(genuine) }
    #expect(throws: SegueError.self) { try kept.check(changed(revision: 1 << 62, push)) }
    #expect(throws: SegueError.self) { try kept.check(changed(nil)) }
  }

  @Test func `R14_5 a mailbox that pushes again what was taken is not heard`() throws {
    let (house, _, _) = try house()
    try house.laptop.sleeps()
    house.wakes(house.office, except: house.laptop)
    #expect(house.office.notes.titles == ["T1"])
    // The disk of home forgets how it ended, as that of a hostile one does at will.
    let origin = try #require(house.home.agent.inbox?.retainedOffers.first { $0.retained?.push != nil }?.retained)
    try house.home.device.endFleetAgent(isKilled: true)
    try house.home.device.disk.perform { inbox throws(SegueError) in
      _ = try inbox.database.run(
        "UPDATE retained SET continuation = NULL WHERE activity = ?1", [Cell(origin.identifier)])
    }
    try house.home.device.startFleetAgent { MailboxAgent(on: $0) }
    house.pass(120_000)
    #expect(house.office.notes.titles == ["T1"])
    #expect(house.home.pushes.first?["outcome"]?.int64 == 4)
    house.checkAll()
  }

  @Test func `R14_5 messages about pushes arrive as they were sent, and others are refused`() throws {
    let (one, two, three) = (Identifier(high: 1, low: 2), Identifier(high: 3, low: 4), Identifier(high: 5, low: 6))
    for app in [nil, "com.example.notes"] {
      let request = KeepPushRequest(
        number: 3, activity: one, order: 9, push: RetainedPush(id: two, target: three, app: app),
        proof: [UInt8](repeating: 7, count: 96))
      guard case .keepPush(let read)? = try DeviceMessage.known(DeviceMessage.keepPush(request).encoding()) else {
        throw SegueError(.malformed, "keep push")
      }
      #expect(read.number == 3 && read.activity == one && read.order == 9 && read.push == request.push)
      #expect(read.proof == request.proof)
    }
    let state = KeptPushState(id: one, activity: two, target: three)
    guard case .keptPushes([state])? = try DeviceMessage.known(DeviceMessage.keptPushes([state]).encoding()),
      case .dropPushes([one])? = try DeviceMessage.known(DeviceMessage.dropPushes([one]).encoding()),
      case .deliverPush(7, two, 9)? = try DeviceMessage.known(
        DeviceMessage.deliverPush(number: 7, two, milliseconds: 9).encoding()),
      case .push(let request)? = try DeviceMessage.known(
        DeviceMessage.push(PushRequest(number: 7, activity: two, app: nil, milliseconds: 9, order: 8)).encoding())
    else { throw SegueError(.malformed, "other messages") }
    #expect(request.order == 8)
    let proof = Value.data([UInt8](repeating: 7, count: 96))
    let elements: [Value] = [
      .unsigned(20), .unsigned(1), .uuid(one), .unsigned(9), .uuid(two), .uuid(three), .null, proof,
    ]
    #expect(throws: Never.self) { try DeviceMessage.known(try Value.array(elements).encoding) }
    for (place, wrong) in [
      (1, Value.integer(-1)), (2, .null), (3, .unsigned(1 << 63)), (4, .null), (5, .null), (6, .integer(1)),
      (7, .data([UInt8](repeating: 7, count: 95))),
    ] {
      var broken = elements
      broken[place] = wrong
      #expect(throws: SegueError.self) { try DeviceMessage.known(try Value.array(broken).encoding) }
    }
    #expect(throws: SegueError.self) {
      try DeviceMessage.known(try Value.array([.unsigned(23), .unsigned(1), .uuid(one), .integer(0)]).encoding)
    }
  }
}
