// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueAgentCore
@testable import SegueFleet

/// A device keeps the offers of another one while that is away (R14.5), with the agents that ship.
@Suite struct MailboxTests {
  @Test func `R14_5 the office continues what a laptop has left at home, once`() throws {
    let house = try MailboxHouse()
    try house.laptop.offers(1)
    house.pass(10_000)
    #expect(house.home.retained == ["T1"])
    #expect(house.office.sees == ["T1 of laptop"] && house.home.sees == ["T1 of laptop"])
    let receipt = try #require(house.laptop.notes.receipts.last)
    #expect(receipt.outcome == .unknown && receipt.reason == "retained at home" && receipt.receiver.isMailbox)
    let id = house.office.notes.offers[0].description.id
    try house.laptop.sleeps()
    house.pass(70_000)
    #expect(house.office.sees == ["T1 of laptop, retained at home"])
    #expect(house.home.sees == ["T1 of laptop, retained at home"])
    #expect(house.office.notes.offers[0].description.id == id, "the same activity")
    try house.office.continues()
    house.pass(5_000)
    #expect(house.office.notes.titles == ["T1"] && house.office.sees == [] && house.home.sees == [])
    let retained = try #require(try house.home.ask("retained")["retained"]?.elements)
    #expect(retained.count == 1 && retained[0]["continued_on"]?.string == "office")
    #expect(house.laptop.notes.others.isEmpty, "the outcome stays at home")
    house.fleet.heal()
    house.pass(120_000)
    #expect(house.office.sees == ["T1 of laptop"])
    try house.laptop.sleeps()
    house.pass(70_000)
    #expect(house.office.sees == [], "it was continued, and has not changed")
    house.checkAll()
  }

  @Test func `R14_5 nothing is retained that is private, or that its device has not asked for`() throws {
    let house = try MailboxHouse()
    try house.leaveLetter { $0.setPrivate(true) }
    #expect(house.home.retained == [] && house.office.sees == [])
    let other = try MailboxHouse(isRetaining: false)
    try other.leaveLetter()
    #expect(other.home.retained == [] && other.office.sees == [])
    let kept = try MailboxHouse()
    try kept.laptop.ask("set-devices", [("private_types", .array([.string(MailboxHouse.type)]))])
    try kept.leaveLetter()
    #expect(kept.home.retained == [] && kept.office.sees == [])
  }

  @Test func `R14_5 what the origin withdraws is retained no longer, and neither is anything once that is off`() throws
  {
    let house = try MailboxHouse()
    try house.laptop.offers(1)
    house.pass(10_000)
    house.laptop.notes.resignCurrent(0)
    house.pass(5_000)
    #expect(house.home.retained == [])
    try house.laptop.offers(2)
    house.pass(10_000)
    #expect(house.home.retained == ["T2"])
    try house.laptop.retains(on: nil)
    house.pass(5_000)
    #expect(house.home.retained == [])
    try house.laptop.sleeps()
    house.pass(70_000)
    #expect(house.office.sees == [])
    house.checkAll()
  }

  @Test func `R14_5 a mailbox that was away when that ended hears it later`() throws {
    let house = try MailboxHouse()
    try house.laptop.offers(1)
    house.pass(10_000)
    try house.fleet.partition(house.home.device, from: nil)
    house.pass(70_000)
    try house.laptop.retains(on: nil)
    house.fleet.heal()
    house.pass(120_000)
    #expect(house.home.retained == [])
  }

  @Test(arguments: [false, true]) func `R14_5 a mailbox that restarts has all, and what was continued stays so`(
    isKilled: Bool
  ) throws {
    let house = try MailboxHouse()
    try house.leaveLetter()
    try house.home.device.endFleetAgent(isKilled: isKilled)
    house.pass(5_000)
    try house.home.device.startFleetAgent { MailboxAgent(on: $0) }
    house.pass(90_000)
    #expect(house.home.retained == ["T1"] && house.office.sees == ["T1 of laptop, retained at home"])
    try house.office.continues()
    house.pass(5_000)
    try house.home.device.endFleetAgent(isKilled: isKilled)
    house.pass(5_000)
    try house.home.device.startFleetAgent { MailboxAgent(on: $0) }
    house.pass(90_000)
    #expect(house.office.notes.titles == ["T1"] && house.office.sees == [])
    #expect(try house.home.ask("retained")["retained"]?.elements?.first?["continued_on"]?.string == "office")
    house.checkAll()
  }

  @Test func `R14_5 a clock that is off by a year loses nothing, and chooses nothing`() throws {
    let house = try MailboxHouse()
    house.laptop.device.clockOffset = 20 * 3_600
    try house.laptop.offers(1) { try $0.setExpirationDate(house.laptop.device.now.date + 3_600) }
    house.pass(10_000)
    house.laptop.device.clockOffset = -20 * 3_600
    try house.laptop.notes.change(0) { (activity) throws(SegueError) in
      try ScriptedApp.write(2, to: &activity)
      try activity.setExpirationDate(nil)
    }
    house.pass(10_000)
    #expect(house.home.retained == ["T2"], "the newer one, by the clock of nobody")
    try house.laptop.sleeps()
    house.pass(70_000)
    for years in [1.0, -1, 0] {
      try house.home.device.endFleetAgent(isKilled: true)
      house.home.device.clockOffset = years * 365 * 86_400
      try house.home.device.startFleetAgent { MailboxAgent(on: $0) }
      house.pass(90_000)
      #expect(house.home.retained == ["T2"], "\(years)")
    }
    house.pass(400_000)
    #expect(house.office.sees == ["T2 of laptop, retained at home"])
  }

  @Test func `R14_5 what expires does so by the clock of each device`() throws {
    let house = try MailboxHouse()
    house.laptop.device.clockOffset = -20 * 3_600
    try house.leaveLetter { try $0.setExpirationDate(house.laptop.device.now.date + 600) }
    #expect(house.office.sees == ["T1 of laptop, retained at home"])
    house.pass(600_000)
    #expect(house.office.sees == [])
  }

  @Test func `R14_5 what is continued while its origin comes back has one outcome`() throws {
    let house = try MailboxHouse()
    try house.leaveLetter()
    house.office.notes.answers.continues = false
    try house.office.continues()
    house.pass(1_000)
    house.fleet.heal()
    house.pass(8_000)
    house.office.notes.answers.continues = true
    house.office.notes.answer()
    house.pass(60_000)
    #expect(house.office.notes.titles == ["T1"])
    #expect(try house.home.ask("retained")["retained"]?.elements?.first?["continued_on"]?.string == "office")
    #expect(house.office.sees == ["T1 of laptop"], "the origin offers it itself")
    house.checkAll()
  }

  @Test func `R14_5 two devices that want the same get it once`() throws {
    let house = try MailboxHouse()
    let phone = try house.add("phone")
    house.pass(1_500)
    try house.join(phone)
    try house.leaveLetter()
    house.office.notes.answers.continues = false
    try house.office.continues()
    house.pass(1_000)
    try phone.continues()
    house.pass(2_000)
    house.office.notes.answers.continues = true
    house.office.notes.answer()
    house.pass(30_000)
    #expect(house.office.notes.titles == ["T1"] && phone.notes.titles == [])
    #expect(phone.sees == [])
  }

  @Test func `R14_5 the origin's own offer counts where it is linked, whatever its mailbox offers`() throws {
    let house = try MailboxHouse()
    try house.laptop.offers(1)
    house.pass(10_000)
    try house.fleet.partition(house.laptop.device, from: house.home.device)
    house.pass(70_000)
    #expect(house.home.sees == ["T1 of laptop, retained at home"], "the control: home offers it")
    #expect(house.office.sees == ["T1 of laptop"])
  }

  @Test func `R14_5 what the origin has ended is hidden where it is linked, though its mailbox has not heard that`()
    throws
  {
    let house = try MailboxHouse()
    try house.laptop.offers(1)
    house.pass(10_000)
    try house.fleet.partition(house.laptop.device, from: house.home.device)
    house.pass(70_000)
    house.laptop.notes.resignCurrent(0)
    house.pass(5_000)
    #expect(house.home.sees == ["T1 of laptop, retained at home"], "the control: home offers it")
    #expect(house.office.sees == [])
    try house.laptop.sleeps()
    house.pass(70_000)
    #expect(house.office.sees == ["T1 of laptop, retained at home"], "home is the only one to ask")
    house.checkAll()
  }

  @Test func `R14_5 of two mailboxes the newer revision counts`() throws {
    let house = try MailboxHouse()
    let shed = try house.add("shed")
    house.pass(1_500)
    try house.join(shed)
    house.pass(5_000)
    try house.laptop.offers(1)
    house.pass(10_000)
    // The old mailbox does not hear that it is none any more.
    try house.fleet.partition(house.home.device, from: nil)
    house.pass(70_000)
    try house.laptop.retains(on: shed)
    try house.laptop.notes.change(0) { (activity) throws(SegueError) in
      try ScriptedApp.write(2, to: &activity)
    }
    house.pass(10_000)
    #expect(shed.retained == ["T2"])
    try house.laptop.sleeps()
    house.pass(70_000)
    #expect(house.office.sees == ["T2 of laptop, retained at shed"])
    house.fleet.heal()
    try house.laptop.sleeps()
    house.pass(120_000)
    #expect(house.home.retained == ["T1"])
    #expect(house.home.devices.links?.devices.contains(house.office.id) == true, "the control: the office hears both")
    #expect(house.office.sees == ["T2 of laptop, retained at shed"], "one offer, the newer one")
  }

  @Test func `R14_5 a device that was removed has nothing retained, and a mailbox that was removed is none`() throws {
    let house = try MailboxHouse()
    try house.leaveLetter()
    try house.home.ask("revoke-device", [("device", .uuid(house.laptop.id))])
    house.pass(2_000)
    #expect(house.home.retained == [] && house.office.sees == [])
    // The manager goes: another one revokes it.
    let other = try MailboxHouse()
    try other.office.retains(on: other.laptop)
    try other.office.offers(1)
    other.pass(10_000)
    #expect(other.laptop.retained == ["T1"])
    try other.home.ask("revoke-device", [("device", .uuid(other.laptop.id))])
    other.pass(5_000)
    #expect(try other.office.ask("account")["settings"]?["retain_on"]?.string == "off")
  }

  @Test func `R14_5 a member cannot pass off its own offer as another device's`() throws {
    let house = try MailboxHouse()
    try house.leaveLetter()
    let laptop = house.laptop.id
    let genuine = try #require(house.home.agent.inbox?.retainedOffers.first?.retained)
    func origin(_ revision: UInt64, _ proof: [UInt8]) -> RetainedOrigin {
      RetainedOrigin(device: laptop, activity: genuine.activity, revision: revision, proof: proof)
    }
    let retention = house.office.devices.retention
    let (home, office) = (house.home.id, house.office.id)
    #expect(retention.isGenuine(genuine, by: home))
    #expect(!retention.isGenuine(genuine, by: office), "it was signed for one mailbox")
    #expect(!retention.isGenuine(origin(genuine.revision + 1, genuine.proof), by: home), "no later revision")
    let security = SimulatedSecurity(house.home.device.cryptography) { 0 }
    let key = try #require(house.home.devices.snapshot.credentials?.key)
    let own = try RetentionProof.make(
      origin(99, []), for: home, in: house.home.devices.snapshot.identity!.account, key, security)
    #expect(!retention.isGenuine(origin(99, own), by: home), "signed by another device")
  }

  @Test func `R14_5 a mailbox that is full says so, and drops nothing`() throws {
    let house = try MailboxHouse()
    var apps: [ScriptedApp] = []
    for number in 0..<Limits.retainedOffers + 2 {
      let app = try ScriptedApp(
        AppIdentity(
          secret: house.fleet.drawIdentifier(), bundleIdentifier: "com.example.app\(number)", name: "App",
          team: "TEAM", types: [MailboxHouse.type], isChooser: false), on: house.laptop.device)
      apps.append(app)
      house.pass(200)
      app.becomeCurrent(
        house.fleet.drawIdentifier(), try ScriptedApp.activity(MailboxHouse.type, number, size: 10))
    }
    house.pass(60_000)
    #expect(house.home.retained.count == Limits.retainedOffers)
    let home = try house.laptop.ask("account")["devices"]?.elements?.first { $0["name"]?.string == "home" }
    #expect(home?["retains"]?.int64 == Int64(Limits.retainedOffers))
    #expect(home?["retains_problem"]?.string == "keeps no more: it has 16 offers of this device")
    house.checkAll()
  }

  @Test func `R14_5 a mailbox whose disk is full keeps what it has, and takes the rest later`() throws {
    let house = try MailboxHouse()
    try house.laptop.offers(1)
    house.pass(10_000)
    house.home.device.disk.isFull = true
    try house.laptop.notes.change(0) { (activity) throws(SegueError) in try ScriptedApp.write(2, to: &activity) }
    house.pass(10_000)
    #expect(house.home.retained == ["T1"])
    house.home.device.disk.isFull = false
    house.pass(30_000)
    #expect(house.home.retained == ["T2"])
  }

  @Test func `R14_5 a disk without room for the attachments of a new state keeps the old one whole`() throws {
    let house = try MailboxHouse()
    try house.laptop.offers(1) { try $0.attach(CollectedBytes.attachment("photo", size: 3_000)) }
    house.pass(10_000)
    house.home.device.disk.isFull = true
    try house.laptop.notes.change(0) { (activity) throws(SegueError) in
      try ScriptedApp.write(2, to: &activity)
      try activity.attach(CollectedBytes.attachment("film", size: 9_000))
    }
    house.pass(30_000)
    #expect(house.home.retained == ["T1"])
    #expect(house.home.agent.inbox?.retainedOffers.first?.attachmentBytes == 3_000)
    #expect(try house.laptop.device("home")?["retains_problem"]?.string?.contains("the disk is full") == true)
    try house.laptop.sleeps()
    house.pass(70_000)
    #expect(house.office.sees == ["T1 of laptop, retained at home"])
  }

  @Test func `R14_5 a list that the mailbox has not heard is told again`() throws {
    let house = try MailboxHouse()
    try house.laptop.offers(1)
    let retention = house.laptop.devices.retention
    // One message is lost in a queue.
    let loss = LossOfOne(at: try #require(retention.owner))
    retention.owner = loss
    house.pass(9_000)
    #expect(loss.count == 1 && house.home.retained == [])
    house.pass(20_000)
    #expect(house.home.retained == ["T1"])
    retention.owner = loss.owner
  }

  private final class LossOfOne: DeviceRetentionOwner {
    let owner: any DeviceRetentionOwner
    private(set) var count = 0

    init(at owner: any DeviceRetentionOwner) { self.owner = owner }

    func post(_ message: [UInt8], to device: Identifier) {
      guard count == 0 else { return owner.post(message, to: device) }
      count += 1
    }

    func publish() { owner.publish() }
    func deliverPushes() { owner.deliverPushes() }
  }

  @Test func `R14_5 a mailbox that cannot read what it has says so to its user and to others`() throws {
    let house = try MailboxHouse()
    try house.leaveLetter()
    try house.home.device.endFleetAgent(isKilled: true)
    house.home.device.disk.isFull = true
    try house.home.device.startFleetAgent { MailboxAgent(on: $0) }
    house.fleet.heal()
    house.pass(90_000)
    let problem = "keeps nothing: it cannot read what it has: inbox: the disk is full"
    #expect(try house.home.ask("account")["message"]?.string == "as a mailbox it \(problem)")
    #expect(try house.laptop.device("home")?["retains_problem"]?.string == problem)
    house.home.device.disk.isFull = false
    house.pass(90_000)
    #expect(try house.home.ask("account")["message"] == nil)
    #expect(house.home.retained == ["T1"])
  }

  @Test func `R14_5 attachments are retained, too`() throws {
    let house = try MailboxHouse()
    try house.leaveLetter { try $0.attach(CollectedBytes.attachment("photo", size: 3_000)) }
    let record = try #require(house.home.agent.inbox?.retainedOffers.first)
    #expect(record.attachmentBytes == 3_000)
  }

  @Test func `R14_5 an attachment for which there is no room is told, and nothing is fetched ever again for it`() throws
  {
    let house = try MailboxHouse()
    try house.laptop.offers(1) {
      try $0.attach(Attachment(name: "film", size: UInt64(Limits.storedAttachments) + 1))
      // The sum of these does not fit into 64 bits.
      for name in ["all", "more"] { try $0.attach(Attachment(name: name, size: 1 << 63)) }
      try $0.attach(CollectedBytes.attachment("photo", size: 3_000))
    }
    house.pass(10_000)
    #expect(house.home.agent.inbox?.retainedOffers.first?.attachmentBytes == 3_000)
    let home = try house.laptop.ask("account")["devices"]?.elements?.first { $0["name"]?.string == "home" }
    #expect(home?["retains_problem"]?.string == "keeps at most 67108864 bytes of attachments of an activity")
    house.pass(30 * 60_000)
    // At once, and after 1, 2, 4, 8 and 16 minutes: not each minute.
    #expect((2...6).contains(house.laptop.notes.receipts.count), "\(house.laptop.notes.receipts.count)")
  }

  @Test func `R14_5 a mailbox keeps no more bytes of one device than its share`() throws {
    let house = try MailboxHouse()
    let size = UInt64(Limits.retainedBytes) / 8 * 3
    for number in 1...3 {
      let app = try ScriptedApp(
        AppIdentity(
          secret: house.fleet.drawIdentifier(), bundleIdentifier: "com.example.app\(number)", name: "App",
          team: "TEAM", types: [MailboxHouse.type], isChooser: false), on: house.laptop.device)
      house.pass(200)
      var activity = try ScriptedApp.activity(MailboxHouse.type, number, size: 10)
      try activity.attach(CollectedBytes.attachment("film", size: size))
      app.becomeCurrent(house.fleet.drawIdentifier(), activity)
    }
    house.pass(120_000)
    let kept = house.home.agent.inbox?.retainedOffers.map(\.attachmentBytes) ?? []
    #expect(kept.sorted() == [0, size, size], "\(kept)")
    let home = try house.laptop.ask("account")["devices"]?.elements?.first { $0["name"]?.string == "home" }
    #expect(home?["retains_problem"]?.string?.hasPrefix("keeps no more: it has ") == true)
    house.checkAll()
  }

  @Test func `R14_5 a mailbox that hears nothing of a device for a week keeps nothing of it`() throws {
    let house = try MailboxHouse()
    try house.leaveLetter()
    try house.office.sleeps()
    house.pass(Int64(Limits.retainedLife * 1_000) - 200_000)
    #expect(house.home.retained == ["T1"])
    house.pass(200_000)
    #expect(house.home.retained == [])
  }

  @Test func `R14_5 a device that was removed has nothing at a mailbox that does not know it, as far as others go`()
    throws
  {
    let house = try MailboxHouse(isRetaining: false)
    let shed = try house.add("shed")
    house.pass(1_500)
    try house.join(shed)
    try house.laptop.retains(on: shed)
    try house.leaveLetter()
    #expect(house.office.sees == ["T1 of laptop, retained at shed"])
    // Only the office hears of it: the shed does not even answer any more.
    try house.fleet.partition(shed.device, from: house.home.device)
    try house.home.ask("revoke-device", [("device", .uuid(house.laptop.id))])
    house.pass(400)
    #expect(house.office.sees == [])
    house.checkAll()
  }

  @Test func `R14_5 what was continued does not count as retained`() throws {
    let house = try MailboxHouse()
    try house.leaveLetter()
    try house.office.continues()
    house.pass(5_000)
    house.fleet.heal()
    house.pass(120_000)
    let home = try house.laptop.ask("account")["devices"]?.elements?.first { $0["name"]?.string == "home" }
    #expect(home?["retains"]?.int64 ?? 0 == 0)
  }

  @Test func `R14_5 what was continued is served for ten minutes more, and offered to nobody`() throws {
    let house = try MailboxHouse()
    try house.leaveLetter { try $0.attach(CollectedBytes.attachment("photo", size: 3_000)) }
    try house.office.continues()
    house.pass(60_000)
    #expect(house.office.sees == [] && house.home.agent.keptOffers.count == 1)
    house.pass(600_000)
    #expect(house.home.agent.keptOffers == [])
    house.checkAll()
  }

  @Test func `R14_5 revisions rise with each change and each start, whatever the date`() throws {
    func offer(_ title: String) -> Offer {
      Offer(
        description: OfferDescription(
          id: Identifier(high: 0, low: 1), type: "t", title: title, payloadVersion: 0, sizeHint: 0,
          expirationDate: nil, supportsContinuationStreams: false), origin: Identifier(high: 0, low: 2), appName: "",
        bundleIdentifier: "", deviceName: "", rank: 1, activatedAt: 0)
    }
    var revisions = OwnRevisions(start: 3)
    let first = revisions.take([offer("a")])[0].revision
    #expect(revisions.take([offer("a")])[0].revision == first)
    let second = revisions.take([offer("b")])[0].revision
    #expect(second > first)
    #expect(revisions.take([]).isEmpty && revisions.take([offer("b")])[0].revision > second)
    var next = OwnRevisions(start: 4)
    #expect(next.take([offer("a")])[0].revision > second)
    var last = OwnRevisions(start: .max)
    #expect(last.take([offer("a")])[0].revision < 1 << 63)
  }

  @Test func `R14_5 messages between mailboxes arrive as they were sent, and others are refused`() throws {
    let (activity, proof) = (Identifier(high: 1, low: 2), [UInt8](repeating: 7, count: 96))
    let wanted = try DeviceMessage.retain([RetainRequest(activity: activity, revision: 9, proof: proof)]).encoding()
    guard case .retain(let requests)? = try DeviceMessage.known(wanted) else { throw SegueError(.malformed, "retain") }
    #expect(requests.map(\.activity) == [activity] && requests[0].revision == 9 && requests[0].proof == proof)
    let told = DeviceMessage.retained(
      [RetainedState(activity: activity, revision: 9)], SegueError(.limitExceeded, "full"))
    guard case .retained(let states, let error)? = try DeviceMessage.known(told.encoding()) else {
      throw SegueError(.malformed, "retained")
    }
    #expect(states == [RetainedState(activity: activity, revision: 9)] && error?.message == "full")
    let one: [Value] = [.uuid(activity), .unsigned(9), .data(proof)]
    for broken: [Value] in [
      [.uuid(activity), .unsigned(9)], [.uuid(activity), .integer(-1), .data(proof)],
      [.uuid(activity), .unsigned(9), .data(Array(proof.dropLast()))], [.integer(1), .unsigned(9), .data(proof)],
      [.uuid(activity), .unsigned(1 << 63), .data(proof)],
    ] {
      let message = try Value.array([.unsigned(18), .array([.array(one), .array(broken)])]).encoding
      #expect(throws: SegueError.self) { try DeviceMessage.known(message) }
    }
    let many = try Value.array([
      .unsigned(18), .array([Value](repeating: .array(one), count: Limits.wantedOffers + 1)),
    ]).encoding
    #expect(throws: SegueError.self) { try DeviceMessage.known(many) }
  }

  @Test func `R14_5 what its user writes without a word is retained after a minute`() throws {
    let house = try MailboxHouse()
    try house.laptop.offers(1)
    house.pass(10_000)
    try house.laptop.notes.edit(0, 7)
    house.pass(70_000)
    #expect(house.home.retained == ["T7"])
  }
}
