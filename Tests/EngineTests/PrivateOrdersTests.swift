// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueModel
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// An app tells the engine of its private activities whatever the order in which it describes them (R10.2).
@Suite struct PrivateOrdersTests {
  enum Step: String, CaseIterable {
    case isPrivate = "private"
    case name
    case eligible
    case current
  }

  /// A private activity with a name, in each order, current or not.
  static let orders: [[Step]] =
    orders(of: Step.allCases) + orders(of: [.isPrivate, .name, .eligible]) + orders(of: [.isPrivate, .name])

  private static func orders(of steps: [Step]) -> [[Step]] {
    guard steps.count > 1 else { return [steps] }
    return steps.flatMap { first in orders(of: steps.filter { $0 != first }).map { [first] + $0 } }
  }

  private let world = World()
  private let agent: TestAgent
  private let app: App

  /// An earlier process of the app has saved a document for search.
  init() throws {
    agent = world.startAgent()
    let former = world.open("editor")
    let id = world.identifier()
    former.add(try Self.document(), as: id)
    world.tell(former) { $0.becomeCurrent(id, $1) }
    world.kill(former)
    #expect(agent.saved.count == 1)
    var settings = try AppSettings(bundleIdentifier: "com.example.editor")
    try settings.addType("com.example.note")
    app = App(settings, in: FleetEnvironment(on: world.device, SingleThread()), hasSystemClock: false)
  }

  /// - Parameter isPrivate: nothing else is said of it then.
  private static func document(isPrivate: Bool = false) throws -> Activity {
    var activity = try Activity(type: "com.example.note")
    try activity.setTitle("secret")
    try activity.setPersistentIdentifier("doc")
    if isPrivate { activity.setPrivate(true) } else { activity.setEligible(.search, true) }
    return activity
  }

  private func take(_ step: Step, _ activity: LiveActivity) throws {
    switch step {
    case .isPrivate: try activity.update { (state) throws(SegueError) in state.setPrivate(true) }
    case .name: try activity.update { (state) throws(SegueError) in try state.setPersistentIdentifier("doc") }
    case .eligible: try activity.update { (state) throws(SegueError) in state.setEligible(.search, true) }
    case .current: try activity.becomeCurrent()
    }
  }

  @Test(arguments: orders, [true, false])
  func `R10.2: in any order of its calls an app deletes what it has saved`(order: [Step], settles: Bool) throws {
    try app.open()
    world.settle()
    let activity = try LiveActivity(try Activity(type: "com.example.note"), app: app)
    for step in order {
      try take(step, activity)
      if settles { world.wait(1_000) }
    }
    world.wait(1_000)
    #expect(agent.saved.isEmpty, "\(order.map { $0.rawValue })")
    let count = agent.changes.count
    try activity.update { (state) throws(SegueError) in try state.setTitle("other") }
    world.wait(5_000)
    #expect(agent.changes.count == count, "asked once")
    try app.close()
  }

  @Test(arguments: orders(of: [.isPrivate, .name, .eligible]))
  func `R10.2: what an app has described before it opens counts`(order: [Step]) throws {
    let activity = try LiveActivity(try Activity(type: "com.example.note"), app: app)
    for step in order { try take(step, activity) }
    try app.open()
    world.wait(1_000)
    #expect(agent.saved.isEmpty)
    try app.close()
  }

  @Test func `R10.2: what is private from its beginning counts, too`() throws {
    try app.open()
    let activity = try LiveActivity(try Self.document(isPrivate: true), app: app)
    world.wait(1_000)
    #expect(agent.saved.isEmpty)
    withExtendedLifetime(activity) {}
    try app.close()
  }

  @Test func `R10.2: each name that a private activity gets is deleted, and nothing else`() throws {
    try app.open()
    let activity = try LiveActivity(try Activity(type: "com.example.note"), app: app)
    try activity.update { (state) throws(SegueError) in
      state.setPrivate(true)
      try state.setPersistentIdentifier("draft")
    }
    world.wait(1_000)
    #expect(agent.saved.count == 1)
    try take(.name, activity)
    world.wait(1_000)
    #expect(agent.saved.isEmpty && agent.changes.suffix(2) == ["delete draft activity", "delete doc activity"])
    try app.close()
  }
}

/// The monitor of an app that one thread uses.
final class SingleThread: AppMonitor {
  func lock() {}
  func unlock() {}
  func wait() {}
  func notifyAll() {}
}
