// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import Testing

@testable import SegueEngine
@testable import SegueFleet

/// Files in a fleet that programs open which take no part in Handoff (R13.7): routing and opening are what ships.
@Suite final class OpenerTests {
  private let fleet = Fleet(seed: 1)
  private let device: FleetDevice
  private let editing = "SegueActivityTypeEditingText"
  private var apps: [ScriptedApp] = []

  init() throws {
    device = try fleet.addDevice("desk")
    device.installed.openers = Openers([
      Opener(file: "gvim", name: "GVim", types: [editing]),
      Opener(file: "kate", name: "Kate", types: [editing]),
    ])
  }

  private func startAgent() throws -> FleetAgent {
    try device.startFleetAgent { FleetAgent(on: $0) }
    fleet.advance(1_500)
    return try #require(device.fleetAgent)
  }

  private func offer(text: String? = nil) throws -> Identifier {
    let identity = AppIdentity(
      secret: fleet.drawIdentifier(), bundleIdentifier: "io.neovim.nvim", name: "Neovim", team: "OTHER", types: [],
      isChooser: false)
    let app = try ScriptedApp(identity, on: device)
    apps.append(app)
    fleet.advance(500)
    let id = fleet.drawIdentifier()
    var activity = try Activity(type: editing)
    var entries: [(key: Value, value: Value)] = [
      (key: .string("url"), value: try .url("file:///tmp/a")), (key: .string("line"), value: .integer(3)),
    ]
    if let text { entries.append((key: .string("text"), value: .string(text))) }
    try activity.setUserInfo(try .dictionary(entries), limit: Limits.value)
    app.becomeCurrent(id, activity)
    fleet.advance(500)
    return id
  }

  private func ask(
    _ agent: FleetAgent, _ name: String, _ activity: Identifier, app: String? = nil
  ) throws -> Result<Value, SegueError>? {
    var result: Result<Value, SegueError>?
    var entries: [(key: Value, value: Value)] = [
      (key: .string("ask"), value: .string(name)), (key: .string("activity"), value: .uuid(activity)),
    ]
    if let app { entries.append((key: .string("app"), value: .string(app))) }
    _ = agent.handle(try Value.dictionary(entries), ofProcess: 7) { result = $0 }
    fleet.advance(1_000)
    return result
  }

  private var opened: [String] { device.documents.map { "\($0.opener) \($0.document.text("line") ?? "")" } }

  @Test func `a file without an app is opened by a program, once, and route says by which (R13.7, R6.5)`() throws {
    let agent = try startAgent()
    let file = try offer()
    let route = try #require(try ask(agent, "route", file)?.get())
    let roles = (route["candidates"]?.elements ?? []).filter { $0["against"]?.elements?.isEmpty ?? false }
      .map { "\($0["bundle_identifier"]?.string ?? "") \($0["role"]?.string ?? "")" }
    #expect(roles == ["opener:gvim opener", "opener:kate opener"])
    let report = try #require(try ask(agent, "continue", file, app: "opener:kate")?.get())
    #expect(opened == ["opener:kate 3"] && report["outcome"]?.int64 == Int64(Outcome.unknown.rawValue))
    #expect(report["bundle_identifier"]?.string == "opener:kate" && report["app_name"]?.string == "Kate")
    fleet.advance(60_000)
    #expect(opened.count == 1 && fleet.violation == nil)
  }

  @Test func `text that was not saved is left behind only on request (R13.7)`() throws {
    let agent = try startAgent()
    let file = try offer(text: "unsaved")
    guard case .failure(let error)? = try ask(agent, "continue", file) else {
      return #expect(Bool(false), "it was opened")
    }
    #expect(error.status == .notAllowed && opened.isEmpty)
    _ = try ask(agent, "continue-without-text", file)
    #expect(opened == ["opener:gvim 3"] && fleet.violation == nil)
  }

  @Test func `the user's choice of an opener is remembered by the disk (R13.7)`() throws {
    let agent = try startAgent()
    let choice = try Value.dictionary([
      (key: .string("ask"), value: .string("choose")), (key: .string("type"), value: .string(editing)),
      (key: .string("app"), value: .string("opener:kate")),
    ])
    _ = agent.handle(choice, ofProcess: 7) { _ in }
    fleet.advance(1_000)
    agent.leave()
    fleet.advance(2_000)
    _ = try ask(try startAgent(), "continue", try offer())
    #expect(opened == ["opener:kate 3"])
  }

  @Test func `a program is started for another device once the user agrees, also where apps continue at once (R13.7)`()
    throws
  {
    let house = try MailboxHouse(isRetaining: false)
    house.office.device.installed.openers = Openers([Opener(file: "gvim", name: "GVim", types: [editing])])
    try house.office.policy("at-once")
    var activity = try Activity(type: editing)
    try activity.setUserInfo(
      try .dictionary([
        (key: .string("url"), value: try .url("file:///tmp/a")), (key: .string("line"), value: .integer(3)),
      ]),
      limit: Limits.value)
    let id = house.fleet.drawIdentifier()
    house.laptop.notes.becomeCurrent(id, activity)
    house.pass(5_000)
    var opened: [String] { house.office.device.documents.map { $0.opener } }
    let error = #expect(throws: SegueError.self) { try house.laptop.pushes(id, to: house.office) }
    #expect(
      error?.message.contains("no one is there to be asked") == true && opened == [], "\(String(describing: error))")
  }
}
