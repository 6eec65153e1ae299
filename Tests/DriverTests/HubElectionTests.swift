// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueEngine

/// A process finds the hub of its device, or becomes it (docs/protocol.md, "Where the hub is").
@Suite struct HubElectionTests {
  private let directory = ScriptedDirectory()
  private let election: HubElection
  private let app = ScriptedSeeker()

  init() { election = HubElection(in: directory) }

  private var hub: ScriptedHub? { directory.hubs.last }

  @Test func `who finds nobody is the hub, and the next app of its process connects to it (section 9)`() {
    election.add(app, 0)
    #expect(hub?.generation == 1 && app.hubGeneration == 1)
    let other = ScriptedSeeker()
    election.add(other, 0)
    #expect(other.hubGeneration == 1 && directory.hubs.count == 1)
    election.remove(other)
    election.end()
    #expect(hub?.isOver == true)
  }

  @Test func `the highest generation is the hub; where nobody listens, the next one is opened (section 9)`() {
    directory.open(3)
    directory.open(7)
    election.add(app, 0)
    #expect(app.hubGeneration == 7 && hub == nil)
    directory.live = [3]
    app.disconnect()
    election.follow(.seek(minimum: 1, after: 0), for: app, 0)
    #expect(hub?.generation == 8 && app.hubGeneration == 8)
  }

  @Test func `generations that rise are followed at the pace of the app (section 9)`() {
    directory.open(1)
    election.add(app, 0)
    app.pace = 200
    directory.open(2)
    election.directoryChanged(10)
    #expect(app.hubGeneration == nil && directory.timer == 210)
    directory.open(3)
    election.directoryChanged(20)
    #expect(app.hubGeneration == nil)
    election.tick(210)
    #expect(app.hubGeneration == 3)
  }

  @Test func `who is about to listen is waited for, for 500 ms (section 9)`() {
    directory.locked = [1]
    election.add(app, 1_000)
    #expect(hub == nil && directory.timer == 1_500)
    election.tick(1_499)
    #expect(hub == nil)
    election.tick(1_500)
    #expect(hub?.generation == 2 && app.hubGeneration == 2)
  }

  @Test func `who was waited for and listens is found at once (section 9)`() {
    directory.locked = [1]
    election.add(app, 0)
    directory.open(1)
    election.directoryChanged(5)
    #expect(app.hubGeneration == 1)
    election.tick(500)
    #expect(hub == nil)
  }

  @Test func `a hub that not even its own process can reach is no burden to others (section 9)`() {
    directory.isDeaf = true
    election.add(app, 0)
    #expect(directory.hubs.count == 4 && directory.hubs.allSatisfy { $0.isOver })
    #expect(app.errors.map { $0.status } == [.system] && directory.timer == 1_000)
    directory.isDeaf = false
    election.tick(1_000)
    #expect(app.hubGeneration == 4)
  }

  @Test func `what the system refuses is no reason to be the hub, and is tried again (section 9)`() {
    directory.open(1)
    directory.connectError = SegueError(.system, "no descriptor left")
    election.add(app, 0)
    #expect(hub == nil && directory.timer == 1_000)
    election.tick(1_000)
    #expect(hub == nil && app.errors.count == 2 && directory.timer == 2_000)
    directory.connectError = nil
    election.tick(2_000)
    #expect(app.hubGeneration == 1)
  }

  @Test func `a silent hub that answers again before the system permits another is kept (section 9)`() {
    directory.open(1)
    election.add(app, 0)
    app.disconnect()
    directory.openingError = SegueError(.system, "read-only")
    election.follow(.seek(minimum: 2, after: 0), for: app, 10)
    #expect(hub == nil && app.errors.count == 1 && directory.timer == 1_010)
    directory.openingError = nil
    election.tick(1_010)
    #expect(hub == nil && app.hubGeneration == 1)
  }

  @Test func `a hub whose backlog is full is asked again, and not replaced (section 9)`() {
    directory.open(1)
    directory.isFull = true
    election.add(app, 0)
    #expect(hub == nil && directory.visits == [1] && directory.timer == 50)
    app.onFullBacklog = [.seek(minimum: 1, after: 0)]
    election.tick(50)
    #expect(hub == nil && directory.visits == [1, 1, 1] && directory.timer == 100)
    directory.isFull = false
    election.tick(100)
    #expect(app.hubGeneration == 1)
  }

  @Test func `after the last generation the numbers begin anew (section 9)`() {
    directory.listed = [directory.lastGeneration]
    election.add(app, 0)
    #expect(hub?.generation == 1 && app.hubGeneration == 1)
  }

  @Test func `a hub that sees a higher generation steps down, and its apps go there (section 9)`() {
    election.add(app, 0)
    directory.open(2)
    election.directoryChanged(10)
    #expect(hub?.isOver == true && app.hubGeneration == 2)
  }

  @Test func `a hub whose generation another process has opened anew is left for the new one (section 9)`() {
    directory.open(1)
    election.add(app, 0)
    directory.replacements = 1
    election.directoryChanged(10)
    #expect(app.hubGeneration == 1 && directory.visits == [1] && directory.timer == 110)
    election.tick(110)
    #expect(app.hubGeneration == 1 && directory.visits == [1, 1] && hub == nil)
    election.directoryChanged(120)
    #expect(directory.visits == [1, 1])
  }

  @Test func `an app that is at the hub of now stays, although another of its process has to move (section 9)`() {
    directory.open(1)
    election.add(app, 0)
    directory.replacements = 1
    let other = ScriptedSeeker()
    election.add(other, 10)
    election.directoryChanged(10)
    election.tick(110)
    #expect(app.hubGeneration == 1 && other.hubGeneration == 1)
    #expect(directory.visits == [1, 1, 1], "each of them once, and the first once more")
  }

  @Test func `an app that waits for a hub of a higher generation is told of no lower one (section 9)`() {
    directory.open(4)
    election.add(app, 0)
    app.disconnect()
    election.follow(.retry(4, after: 30_000), for: app, 0)
    election.directoryChanged(10)
    #expect(app.hubGeneration == nil)
    directory.open(5)
    election.directoryChanged(20)
    #expect(app.hubGeneration == 5)
  }

  @Test func `an app that shall wait for a hub finds a higher one that came meanwhile at once (section 9)`() {
    directory.open(4)
    election.add(app, 0)
    app.disconnect()
    directory.open(5)
    election.directoryChanged(10)  // it does not look for a hub yet
    election.follow(.retry(4, after: 12_800), for: app, 20)
    #expect(app.hubGeneration == 5)
  }

  @Test func `a folder that was removed is made again 100 ms later, and all meet there (section 9)`() {
    election.add(app, 0)
    directory.isInPlace = false
    election.directoryChanged(1_000)
    #expect(directory.timer == 1_100 && app.hubGeneration == 1 && hub?.isOver == false)
    // As it looks to who still has the folder that is gone.
    election.directoryChanged(1_050)
    #expect(directory.timer == 1_100)
    directory.reopenError = SegueError(.system, "read-only")
    election.tick(1_100)
    #expect(hub?.isOver == false && app.hubGeneration == 1 && directory.timer == 3_100)
    directory.reopenError = nil
    election.tick(3_100)
    #expect(directory.hubs.count == 2 && directory.hubs[0].isOver && app.hubGeneration == 2 && directory.isInPlace)
  }

  @Test func `a folder that was emptied has a hub again 100 ms later (section 9)`() {
    election.add(app, 0)
    directory.listed = []
    directory.live = []
    election.directoryChanged(1_000)
    #expect(directory.timer == 1_100 && hub?.isOver == false)
    election.tick(1_100)
    #expect(directory.hubs.count == 2 && directory.hubs[0].isOver && app.hubGeneration == 2)
  }

  @Test func `where the folder was emptied and another is the hub already, its number counts (section 9)`() {
    directory.open(7)
    election.add(app, 0)
    directory.listed = [1]
    directory.live = [1]
    election.directoryChanged(1_000)
    election.tick(1_100)
    #expect(app.hubGeneration == 1 && directory.hubs.isEmpty)
  }

  @Test func `a process that has had no app for a while begins anew (section 9)`() {
    election.add(app, 0)
    election.remove(app)
    election.end()
    directory.listed = []
    directory.live = []
    election.add(app, 1_000)
    #expect(hub?.generation == 1)
  }

  @Test func `after the last generation the numbers begin anew in an emptied folder too (section 9)`() {
    directory.open(directory.lastGeneration)
    election.add(app, 0)
    directory.listed = []
    directory.live = []
    election.directoryChanged(1_000)
    election.tick(1_100)
    #expect(hub?.generation == 1 && app.hubGeneration == 1)
  }

  @Test func `an app whose hub cannot be found by others leaves it (section 9)`() {
    directory.open(5)
    election.add(app, 0)
    directory.listed = [3]
    directory.live = [3]
    election.directoryChanged(0)
    election.tick(100)
    #expect(app.hubGeneration == 3)
  }

  @Test func `an app that has gone looks for nothing`() {
    directory.locked = [1]
    election.add(app, 0)
    election.remove(app)
    election.tick(500)
    election.follow(.seek(minimum: 1, after: 0), for: app, 600)
    #expect(directory.hubs.isEmpty && app.hubGeneration == nil)
  }
}
