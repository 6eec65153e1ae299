// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// An app without activities.
private final class NoActivities: AppEngineOwner {
  func deliver(_ delivery: Delivery) {}
  func activity(_ id: Identifier) -> Activity? { nil }
  func setNeedsSave(_ needsSave: Bool, of id: Identifier) {}
  func lastChange(of id: Identifier) -> Int64 { 0 }
  func answersWillSave(_ id: Identifier) -> Bool { false }
  func continuation(of id: Identifier) -> Identifier? { nil }
  func kept(by continuation: Identifier) -> (activity: Identifier, origin: Identifier)? { nil }
  func takesStreams(_ id: Identifier) -> Bool { false }
  func takesRequests(_ id: Identifier) -> Bool { false }
  func streamEnd(_ id: Identifier) -> StreamStatus { .open }
}

/// The owner of a driver: notes its calls.
private final class NotingOwner: AppDriverOwner {
  var now = Instant(uptime: 0, date: 0)
  private(set) var calls: [String] = []
  private(set) var timer: Int64?

  func inputHandled() { calls.append("input") }
  func follow(_ loss: HubLoss) { calls.append("follow") }

  func setTimer(_ uptime: Int64?) {
    calls.append("timer")
    timer = uptime
  }
}

/// An app reads from its hub and writes to it, and leaves it (docs/protocol.md, "Leaving a hub").
@Suite struct AppDriverTests {
  private let source = NoActivities()
  private let directory = ScriptedDirectory()
  private let connection = ScriptedConnection()
  private let driver: AppDriver<AppEngine>
  /// The hub's side.
  private let link = FramedConnection(side: .accepting)

  init() {
    let identity = AppIdentity(
      secret: Identifier(high: 1, low: 2), bundleIdentifier: "com.example.app", name: "app", team: "", types: [],
      isChooser: false)
    driver = AppDriver(AppEngine(identity: identity, limits: Limits(), owner: source), in: directory)
  }

  private func at(_ uptime: Int64) -> Instant { Instant(uptime: uptime, date: 0) }

  private func connect() -> HubLoss? {
    driver.connected(connection, generation: 3, at(0))
    return driver.drain(at(0))
  }

  private func say(_ message: Message, at uptime: Int64) throws -> HubLoss? {
    link.send(try message.encoded())
    while link.takeOutput({ bytes in
      connection.incoming.append(Array(bytes))
      return bytes.count
    }) {}
    while !connection.incoming.isEmpty { driver.receive(at(uptime)) }
    return driver.drain(at(uptime))
  }

  @Test func `what there is no room for is written once there is`() {
    connection.room = 10
    #expect(connect() == nil && connection.written.count == 10 && connection.isWatchedForRoom)
    guard case .full = driver.obstacle else { return #expect(Bool(false), "its last words would be cut off") }
    connection.room = .max
    #expect(driver.drain(at(1)) == nil && connection.written.count > 10)
    #expect(!connection.isWatchedForRoom && driver.obstacle == nil)
  }

  @Test func `what the system refuses to send is tried again after a pause`() {
    connection.room = nil
    #expect(connect() == nil && !connection.isWatchedForRoom && driver.nextDeadline == 50)
    guard case .refused(50) = driver.obstacle else { return #expect(Bool(false), "its last words would be cut off") }
    connection.room = .max
    #expect(driver.drain(at(49)) == nil && connection.written.isEmpty)
    #expect(driver.drain(at(50)) == nil && !connection.written.isEmpty && driver.obstacle == nil)
  }

  @Test func `a turn reads, does what is due, follows the loss of a hub, and sets the timer (section 9)`() throws {
    let owner = NotingOwner()
    driver.connected(connection, generation: 3, at(0))
    driver.perform(for: owner) { _, _ in }
    #expect(owner.calls == ["timer"] && !connection.written.isEmpty)
    let deadline = try #require(owner.timer)
    #expect(deadline == driver.nextDeadline)
    owner.now = at(deadline)
    driver.pump(isReadable: false, isDue: false, owner.now, for: owner)
    #expect(owner.calls == ["timer", "input", "timer"] && driver.generation == 3, "it does what it is not told to")
    driver.pump(isReadable: false, isDue: true, owner.now, for: owner)
    #expect(owner.calls.suffix(3) == ["input", "follow", "timer"] && driver.generation == nil, "the hub is silent")
  }

  @Test func `a turn reads, and leaves a hub that has closed (section 9)`() {
    let owner = NotingOwner()
    driver.connected(connection, generation: 3, at(0))
    connection.isOver = true
    driver.pump(isReadable: false, isDue: true, at(1), for: owner)
    #expect(owner.calls == ["input", "timer"] && driver.generation == 3)
    driver.pump(isReadable: true, isDue: false, at(1), for: owner)
    #expect(owner.calls.suffix(3) == ["input", "follow", "timer"] && driver.generation == nil)
  }

  @Test func `a hub that closes is left, and what was wrong is known until the app is ready (section 9)`() throws {
    #expect(connect() == nil && driver.generation == 3)
    connection.isOver = true
    driver.receive(at(1))
    guard case .seek(minimum: 1, after: 0) = driver.drain(at(1))?.search else {
      return #expect(Bool(false), "it does not look for the next hub at once")
    }
    #expect(connection.isClosed && driver.generation == nil && driver.engine.link == nil)
    #expect(driver.problem?.status == .connectionUnavailable)
  }

  @Test func `what a hub said before it closed is heard`() throws {
    #expect(connect() == nil)
    connection.isOver = true
    let departure = try say(.goodbye(SegueError(.unsupportedVersion, "too old")), at: 1)
    guard case .retry(3, after: 30_000) = departure?.search else {
      return #expect(Bool(false), "it does not wait for another hub")
    }
    #expect(departure?.problem?.status == .unsupportedVersion && driver.problem?.status == .unsupportedVersion)
  }

  @Test func `a silent hub is replaced unless its heart beats, twenty times at most (section 9)`() {
    #expect(connect() == nil)
    var now: Int64 = 0
    var waits = 0
    directory.heartbeats[3] = 499
    while let deadline = driver.nextDeadline, waits < 100 {
      now = deadline
      driver.engine.tick(at(now))
      guard let departure = driver.drain(at(now)) else {
        waits += 1
        continue
      }
      guard case .seek(minimum: 4, _) = departure.search else { return #expect(Bool(false), "it is asked again") }
      break
    }
    #expect(waits == 20 && now == 10_500)
  }

  @Test(arguments: [500, nil] as [Int64?])
  func `a silent hub without a heartbeat is replaced (section 9)`(_ age: Int64?) {
    #expect(connect() == nil)
    directory.heartbeats[3] = age
    driver.engine.tick(at(500))
    guard case .seek(minimum: 4, _) = driver.drain(at(500))?.search else {
      return #expect(Bool(false), "it waits for a hub that is dead")
    }
    #expect(driver.problem?.status == .connectionUnavailable && connection.isClosed)
  }

  @Test func `a full backlog is asked again while the hub lives (section 9)`() {
    directory.heartbeats[3] = 0
    var times: Set<Int64> = []
    for attempt in 0..<100 {
      let search = driver.backlogFull(at: 3, at(Int64(attempt) * 50))
      if attempt == 0, case .seek(minimum: 1, after: 0) = search { continue }
      guard case .retry(3, let time) = search else { return #expect(Bool(false), "it becomes the hub") }
      #expect(25..<75 ~= time)
      times.insert(time)
    }
    #expect(times.count > 30, "a crowd comes again at the same moment")
    directory.heartbeats[3] = nil
    guard case .seek(minimum: 4, _) = driver.backlogFull(at: 3, at(5_000)) else {
      return #expect(Bool(false), "it waits for a hub that is dead")
    }
  }
}
