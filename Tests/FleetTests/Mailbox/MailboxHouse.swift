// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import Testing

@testable import SegueAgentCore
@testable import SegueFleet

/// Devices of one account with the agents that ship, each with an app of one team: a laptop whose offers a device at
/// home retains for the office (R14.5).
final class MailboxHouse {
  static let type = "com.example.editing"

  /// An app that counts what it continues, and remembers its receipts.
  final class Notes: ScriptedApp {
    private(set) var receipts: [Receipt] = []
    private(set) var titles: [String] = []

    override func observe(_ event: HistoryEvent) {
      if case .step(.continue(let activity, _), _) = event { titles.append(activity.title ?? "") }
      if case .receipt(let receipt, _) = event { receipts.append(receipt) }
    }

    /// The receipts of other devices than mailboxes.
    var others: [Receipt] { receipts.filter { !$0.receiver.isMailbox } }
  }

  /// A device: its agent may end and start again, and so may its app.
  final class Member {
    let device: FleetDevice
    unowned let house: MailboxHouse
    private(set) var notes: Notes
    private var numbers: UInt64 = 0

    fileprivate init(_ name: String, in house: MailboxHouse) throws {
      self.house = house
      device = try house.fleet.addDevice(name)
      try device.startFleetAgent { MailboxAgent(on: $0) }
      notes = try Self.open(on: device, house.fleet)
    }

    private static func open(on device: FleetDevice, _ fleet: Fleet) throws -> Notes {
      try Notes(
        AppIdentity(
          secret: fleet.drawIdentifier(), bundleIdentifier: "com.example.notes", name: "Notes", team: "TEAM",
          types: [MailboxHouse.type], isChooser: false), on: device)
    }

    func reopen() throws { notes = try Self.open(on: device, house.fleet) }

    var agent: FleetAgent { device.fleetAgent! }
    var devices: DeviceService { agent.devices! }
    /// Also while its agent is not there; once it is in the account.
    private(set) lazy var id = devices.snapshot.identity!.device

    /// Asks the agent of the device, as its user.
    @discardableResult
    func ask(_ name: String, _ options: [(String, Value)] = []) throws -> Value {
      guard let agent = device.fleetAgent else { throw SegueError(.connectionUnavailable, "no agent") }
      var result: Result<Value, SegueError>?
      let entries =
        [(key: Value.string("ask"), value: Value.string(name))] + options.map { (key: .string($0), value: $1) }
      _ = agent.handle(try Value.dictionary(entries), ofProcess: 7) { result = $0 }
      for _ in 0..<700 where result == nil { house.pass(100) }
      return try #require(result).get()
    }

    func retains(on other: Member?) throws {
      try ask("set-devices", [("retain_on", other.map { .uuid($0.id) } ?? .string("off"))])
    }

    /// Has another device continue an activity. Waits for the answer.
    @discardableResult
    func pushes(_ activity: Identifier, to other: Member) throws -> Value {
      try ask("push", [("activity", .uuid(activity)), ("device", .uuid(other.id))])
    }

    /// The pushes that its agent keeps, as it tells its user.
    var pushes: [Value] {
      ((try? ask("retained"))?["retained"]?.elements ?? []).filter { $0["push"] != nil }
    }

    func device(_ name: String) throws -> Value? {
      try ask("account")["devices"]?.elements?.first { $0["name"]?.string == name }
    }

    func policy(_ word: String) throws { try ask("set-devices", [("push", .string(word))]) }

    /// Its user is there to be asked for a while: what is pushed, if something is.
    func isAsked() throws -> Value? {
      for _ in 0..<30 {
        let state = try ask("pushes", [("after", .integer(1)), ("timeout", .integer(1_000))])
        if let push = state["pushes"]?.elements?.first { return push }
        house.pass(1_000)
      }
      return nil
    }

    /// Makes an activity current, whose title is "T" and that number.
    @discardableResult
    func offers(_ number: Int, _ change: (inout Activity) throws -> Void = { _ in }) throws -> Identifier {
      var activity = try ScriptedApp.activity(MailboxHouse.type, number, size: 1_000)
      try change(&activity)
      let id = house.fleet.drawIdentifier()
      notes.becomeCurrent(id, activity)
      return id
    }

    /// The titles and devices of what its app sees.
    var sees: [String] { notes.offers.map { "\($0.description.title ?? "") of \($0.deviceName)" }.sorted() }
    /// The titles of what its agent retains.
    var retained: [String] { device.fleetAgent?.inbox?.retainedOffers.map { $0.description.title ?? "" } ?? [] }

    func continues(_ offer: Offer? = nil) throws {
      let offer = try #require(offer ?? notes.offers.first)
      notes.continue(offer, house.fleet.drawIdentifier())
    }

    /// The lid is closed: it is there for nobody, and nothing of it ends.
    func sleeps() throws { try house.fleet.partition(device, from: nil) }
  }

  let fleet: Fleet
  private(set) var laptop: Member!
  private(set) var home: Member!
  private(set) var office: Member!

  /// - Parameter isRetaining: whether the laptop has its offers retained at home.
  init(seed: UInt64 = 1, isRetaining: Bool = true) throws {
    fleet = Fleet(seed: seed)
    fleet.linksAll = false
    home = try add("home")
    laptop = try add("laptop")
    office = try add("office")
    pass(1_500)
    try home.ask("create-account", [("name", .string("Home")), ("device_name", .string("home"))])
    for each in [laptop!, office!] { try join(each) }
    pass(10_000)
    if isRetaining { try laptop.retains(on: home) }
  }

  func add(_ name: String) throws -> Member { try Member(name, in: self) }

  /// A device joins the account of the one at home.
  func join(_ guest: Member) throws {
    let link = try home.ask("invite")["link"]!
    let join = try guest.ask("join", [("link", link), ("device_name", .string(guest.device.name))])
    for _ in 0..<100 where home.devices.joins.open.isEmpty { pass(100) }
    let asked = try #require(try home.ask("account")["joins"]?.elements?.first?["join"])
    try home.ask("answer-join", [("join", asked), ("admits", .bool(true))])
    try guest.ask("await-join", [("join", join["join"]!)])
  }

  func pass(_ milliseconds: Int64) { fleet.advance(milliseconds) }

  /// All are there but those; and time passes until they have met.
  func wakes(_ member: Member, except sleeper: Member? = nil, for milliseconds: Int64 = 120_000) {
    fleet.heal()
    if let sleeper { try? sleeper.sleeps() }
    pass(milliseconds)
  }

  /// These two reach each other, and the third one neither.
  func connects(_ one: Member, _ two: Member) {
    fleet.heal()
    for other in [home!, laptop!, office!] where other !== one && other !== two { try? other.sleeps() }
    pass(120_000)
  }

  /// The laptop offers a letter, which is retained, and sleeps.
  @discardableResult
  func leaveLetter(_ number: Int = 1, _ change: (inout Activity) throws -> Void = { _ in }) throws -> Identifier {
    let id = try laptop.offers(number, change)
    pass(10_000)
    try laptop.sleeps()
    pass(70_000)
    return id
  }

  func checkAll() {
    #expect(fleet.violation == nil, "\(fleet.violation ?? "")")
  }
}

/// An agent that moves attachments.
final class MailboxAgent: FleetAgent {
  override func makeMover() -> any AttachmentMover { InboxMover(self) }
}
