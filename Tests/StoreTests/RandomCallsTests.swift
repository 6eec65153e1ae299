// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueStore
@testable import StoreProbe

/// The same random calls on SQLite and on a plain model: the same answers, and the same contents.
@Suite struct RandomCallsTests {
  @Test(arguments: seeds(6))
  func `the inbox does what its model does (R2.5, R3.8)`(seed: Int) throws {
    let folder = TemporaryFolder()
    let state = try folder.open()
    var (workload, model) = (Workload(seed: UInt64(seed)), InboxModel())
    var inbox: Inbox? = try Inbox.open(in: state)
    for step in 0..<400 {
      let operation = workload.next()
      if step % 50 == 49 { inbox?.releaseMemory() }
      if step % 37 == 36 {
        inbox = nil
        inbox = try Inbox.open(in: state)
        model.restart()
      }
      let (result, expected) = (try inbox?.run(operation, at: workload.now), model.run(operation, at: workload.now))
      try #require(result == expected, "seed \(seed), step \(step), \(operation)")
      if step % 10 == 0 { try #require(try inbox?.summary() == model.summary(), "seed \(seed), step \(step)") }
    }
    #expect(try inbox?.summary() == model.summary())
  }

  @Test(arguments: seeds(4))
  func `saved activities are found as their model finds them (R8.1, R8.2)`(seed: Int) throws {
    let folder = TemporaryFolder()
    let state = try folder.open()
    var (workload, model) = (Workload(seed: UInt64(seed)), SavedModel())
    var saved: SavedActivities? = try SavedActivities.open(in: state)
    for step in 0..<200 {
      let operation = workload.nextSaved()
      if step % 50 == 49 { saved?.releaseMemory() }
      if step % 37 == 36 {
        saved = nil
        saved = try SavedActivities.open(in: state)
      }
      let (result, expected) = (try saved?.run(operation, at: workload.now), model.run(operation, at: workload.now))
      try #require(result == expected, "seed \(seed), step \(step), \(operation)")
      let now = workload.now
      try #require(try saved?.summary(at: now) == model.summary(at: now), "seed \(seed), step \(step)")
    }
    try saved?.check()
    #expect(saved?.notice == nil)
  }
}
