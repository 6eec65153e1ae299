// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueEngine

/// An agent takes the place of the hub, and keeps it (docs/protocol.md, "The agent").
@Suite struct AgentPlaceTests {
  private let directory = ScriptedDirectory()
  private let election: HubElection

  init() { election = HubElection(in: directory, isAgent: true) }

  private var hub: ScriptedHub? { directory.hubs.last }

  /// Another process opens the next generation, and the agent learns of it.
  private func supersede(_ now: Int64) {
    directory.open(directory.highestGeneration + 1)
    election.directoryChanged(now)
  }

  @Test func `an agent opens the next generation without an app, and without asking the hub that there is`() {
    directory.open(3)
    election.takePlace(0)
    #expect(hub?.generation == 4 && election.isHub && directory.visits.isEmpty)
    election.end()
    #expect(hub?.isOver == true && directory.timer == nil)
  }

  @Test func `an app that is about to listen is waited for, and then superseded`() {
    directory.locked = [1]
    election.takePlace(0)
    #expect(hub == nil && directory.timer == 500)
    directory.open(1)
    election.directoryChanged(5)
    election.tick(500)
    #expect(hub?.generation == 2)
  }

  @Test func `an agent that was stopped takes its place again, and says who took it`() {
    election.takePlace(0)
    supersede(10_000)
    #expect(!election.isHub && directory.hubs[0].isOver && directory.timer == 10_000)
    election.tick(10_000)
    #expect(hub?.generation == 3 && hub?.isOver == false)
    #expect(directory.logged.contains { $0.contains("the holder of 2") })
  }

  @Test func `the place is taken again later each time, and five times a minute at most`() throws {
    election.takePlace(0)
    var taken: [Int64] = []
    while taken.count < 12 {
      supersede((taken.last ?? 1_000) + 1)
      taken.append(try #require(directory.timer))
      election.tick(taken.last!)
      #expect(election.isHub)
    }
    #expect(zip(taken.dropFirst(), taken).map { $0 - $1 }.prefix(4) == [500, 1_000, 2_000, 4_000])
    for start in taken { #expect(taken.count { $0 >= start && $0 < start + 60_000 } <= 5) }
    // After a quiet minute the first attempt is immediate again.
    let now = taken.last! + 60_001
    supersede(now)
    #expect(directory.timer == now)
  }

  @Test func `an agent whose hub is not listed any more makes another`() {
    election.takePlace(0)
    directory.listed = []
    election.directoryChanged(1_000)
    election.tick(1_100)
    election.tick(1_100)
    #expect(directory.hubs.count == 2 && election.isHub)
  }

  @Test func `an agent whose folder is gone and cannot be made again does not try without a pause`() {
    directory.isInPlace = false
    directory.reopenError = SegueError(.system, "no")
    election.takePlace(0)
    #expect(!election.isHub && (directory.timer ?? -1) >= 0)
    var tries = 0
    for now in stride(from: Int64(0), to: 60_000, by: 10) {
      guard let at = directory.timer, at <= now else { continue }
      tries += 1
      election.tick(now)
    }
    #expect((1...6).contains(tries))
  }

  @Test func `who has waited for a hub that is there goes to it, although nobody has told of it`() {
    let app = ScriptedSeeker()
    let apps = HubElection(in: directory)
    directory.locked = [1]
    apps.add(app, 0)
    directory.open(1)
    apps.tick(500)
    #expect(app.hubGeneration == 1 && directory.hubs.isEmpty)
  }

  @Test func `what could not be done to supersede a hub is not done later, when that one may answer again`() {
    let app = ScriptedSeeker()
    let apps = HubElection(in: directory)
    directory.open(1)
    apps.add(app, 0)
    app.disconnect()
    directory.connectError = SegueError(.system, "no descriptor left")
    directory.locked = [2]
    apps.follow(.seek(minimum: 1, after: 0), for: app, 0)
    directory.connectError = nil
    apps.tick(1_000)
    #expect(app.hubGeneration == 1 && directory.hubs.isEmpty)
  }
}
