// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire
import Testing

/// R3.15: an app has its own activity continued by another app of the device.
@Suite struct PushTests {
  private let world = World()
  private let agent: TestAgent
  private let editor: TestApp

  init() {
    agent = world.startAgent()
    editor = world.open("editor")
  }

  @Test func `R3.15: it is answered when the app is chosen, and the receipt says the end`() throws {
    let number = world.ask(agent, for: try world.offer("one", by: editor), isPush: true)
    #expect(agent.begun.map { $0.number } == [number] && agent.launches == ["com.example.viewer"])
    #expect(agent.answers.isEmpty && editor.receipts.isEmpty)
    let viewer = world.open("viewer")
    viewer.acceptDeliveries(true)
    world.settle()
    #expect(viewer.continued.map { $0.activity.title } == ["one"])
    #expect(editor.receipts.map { $0.outcome } == [.restored])
    #expect(editor.receipts.map { $0.continuation } == agent.begun.map { $0.continuation })
  }

  @Test func `R3.15: what an app has made current just now may still be on its way to the agent`() throws {
    let id = world.identifier()
    world.ask(agent, for: id, isPush: true)
    #expect(agent.choices.isEmpty && agent.answers.isEmpty)
    world.wait(900)
    editor.add(try Activity(type: "com.example.note"), as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    #expect(agent.begun.count == 1 && agent.launches == ["com.example.viewer"])
  }

  @Test func `R3.15: what is not offered within a second is not found`() {
    world.ask(agent, for: world.identifier(), isPush: true)
    world.wait(1_000)
    #expect(agent.answers.count == 1 && agent.begun.isEmpty)
    guard case .failure(let error)? = agent.answers.first else { return }
    #expect(error.status == .notFound)
  }

  // MARK: Other devices

  @Test func `R3.15: a device is looked up by its certificate, for an offer that may still be on its way`() throws {
    let device = Identifier(high: 0xd0, low: 1)
    let (linked, app) = (try world.linkHub(device: device), try world.linkHub())
    let (theirs, others, own) = (world.identifier(), world.identifier(), try world.offer("own", by: editor))
    // Another device says that it offers the same.
    let liar = try world.linkHub(device: other)
    try liar.peer.say(.offered(theirs, "lie", by: world.identifier(), of: liar.id))
    let known = Identifier(of: theirs, onDevice: device)
    for (number, activity) in [known, others, own, world.identifier()].enumerated() {
      agent.engine.look(for: activity, wanted: "com.example.viewer", UInt64(number), world.now)
    }
    world.settle()
    #expect(agent.found.count == 1, "its own is there")
    try linked.peer.say(.offered(theirs, "letter", by: world.identifier(), of: linked.id))
    try app.peer.say(.offered(others, "letter", by: world.identifier(), of: app.id))
    world.settle()
    world.wait(1_000)
    let choices = agent.found.map { try? $0.get() }
    #expect(
      choices.map { $0?.device } == [nil, device, nil, nil] && choices.map { $0 == nil } == [false, false, false, true])
    #expect(choices[1]?.wanted == "com.example.viewer" && choices[1]?.offer.description.id == known)
    #expect(choices[1]?.offer.description.title == "letter")
    guard case .success(let lie) = agent.engine.choice(for: Identifier(of: theirs, onDevice: other)) else {
      return #expect(Bool(false), "the other one is there, too")
    }
    #expect(status { () throws(SegueError) in try PushAdmission.check(lie, from: device) } == .notFound)
    #expect(status { () throws(SegueError) in try PushAdmission.check(lie, from: other) } == nil)
    guard let (its, mine) = choices[1].flatMap({ its in choices[0].map { (its, $0) } }) else { return }
    try PushAdmission.check(its, from: device)
    #expect(status { () throws(SegueError) in try PushAdmission.check(its, from: other) } == .notFound)
    #expect(status { () throws(SegueError) in try PushAdmission.check(mine, from: device) } == .notFound)
    try PushAdmission.checkOwn(mine, nil)
    #expect(status { () throws(SegueError) in try PushAdmission.checkOwn(its, nil) } == .notAllowed)
    #expect(
      status { () throws(SegueError) in
        try PushAdmission.checkOwn(mine) { type, app in
          type == "com.example.note" && app == "com.example.editor"
        }
      } == .notAllowed, "R10.2")
  }

  @Test func `R10.2: what its app has marked as private is not pushed`() throws {
    let id = world.identifier()
    var activity = try Activity(type: "com.example.note")
    activity.setPrivate(true)
    editor.add(activity, as: id)
    world.tell(editor) { $0.becomeCurrent(id, $1) }
    func push() -> Status? {
      agent.engine.look(for: id, wanted: nil, 1, world.now)
      world.settle()
      return status { () throws(SegueError) in
        guard let found = agent.found.last else { return }
        try PushAdmission.checkOwn(try found.get(), nil)
      }
    }
    #expect(push() == .notAllowed)
    editor.change(id) { $0.setPrivate(false) }
    world.wait(1_000)
    #expect(push() == nil && agent.found.count == 2)
  }

  @Test func `R3.15: what is asked about an offer ends with it`() throws {
    let device = Identifier(high: 0xd0, low: 1)
    let linked = try world.linkHub(device: device)
    let theirs = world.identifier()
    try linked.peer.say(.offered(theirs, "letter", by: world.identifier(), of: linked.id))
    let own = try world.offer("own", by: editor)
    #expect(agent.gone.isEmpty)
    try linked.peer.say(.gone(theirs, OffersVersion(hub: linked.id, number: 2)))
    world.settle()
    let known = Identifier(of: theirs, onDevice: device)
    #expect(agent.gone == [known])
    world.close(editor)
    #expect(agent.gone == [known, own])
  }

  @Test func `R3.15: who looks once is not there to be asked, who waits is`() {
    var attendance = PromptAvailability()
    #expect(!attendance.isAttended(waiting: 0, at: 0) && attendance.isAttended(waiting: 1, at: 0))
    attendance.told(hasWaited: false, at: 10_000)
    #expect(!attendance.isAttended(waiting: 0, at: 10_000))
    attendance.told(hasWaited: true, at: 20_000)
    #expect(attendance.isAttended(waiting: 0, at: 24_999) && !attendance.isAttended(waiting: 0, at: 25_000))
    attendance.told(hasWaited: false, at: 24_999)
    #expect(!attendance.isAttended(waiting: 0, at: 25_000))
  }

  private let other = Identifier(high: 0xd0, low: 2)

  private func status(_ body: () throws(SegueError) -> Void) -> Status? {
    do throws(SegueError) { try body() } catch { return error.status }
    return nil
  }

  private func admit(_ policy: PushPolicy, isAttended: Bool = false, waiting: [Identifier] = []) -> Status? {
    status { () throws(SegueError) in
      try PushAdmission.admit(from: other, policy, isAttended: isAttended, waiting: waiting)
    }
  }

  @Test func `R3.15: the other device takes it at once, asks if somebody is there, or never does`() {
    #expect(admit(.atOnce) == nil && admit(.atOnce, isAttended: true) == nil)
    #expect(admit(.ask, isAttended: true) == nil && admit(.ask) == .declined)
    #expect(admit(.never) == .declined && admit(.never, isAttended: true) == .declined)
  }

  @Test func `R3.15: one device leaves room for the pushes of others`() {
    let (own, third) = (Array(repeating: other, count: 4), Identifier(high: 0xd0, low: 3))
    #expect(admit(.atOnce, waiting: Array(own.prefix(3))) == nil && admit(.atOnce, waiting: own) == .limitExceeded)
    #expect(admit(.atOnce, waiting: Array(repeating: third, count: 15)) == nil)
    #expect(admit(.atOnce, waiting: Array(repeating: third, count: 16)) == .limitExceeded)
  }

  @Test func `R3.15: a requester that goes while the offer is awaited is forgotten at once`() {
    let number = world.ask(agent, for: world.identifier(), isPush: true)
    agent.engine.abandon(number, world.now)
    func statuses() -> [Status?] {
      agent.answers.map { if case .failure(let error) = $0 { error.status } else { nil } }
    }
    #expect(statuses() == [.userCancelled] && agent.engine.leak == nil)
    world.wait(2_000)
    #expect(statuses() == [.userCancelled], "its owner keeps the question until there is an answer")
  }
}
