// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import Testing

@testable import SegueStore
@testable import StoreProbe

/// A loss of power at every step: what an entry was acknowledged for is there, and nothing is half done (R3.8).
@Suite struct LostWritesTests {
  /// A record of random calls, and what the model says after each.
  private struct Recorded {
    let record: DiskRecord
    let root: String
    let number: UInt64
    let target = TemporaryFolder()

    init(_ role: String, _ seed: Int, _ count: Int) throws {
      let folder = TemporaryFolder()
      root = folder.path
      var status = stat()
      #expect(stat(root, &status) == 0)
      number = UInt64(status.st_ino)
      let log = target.path + "/record"
      let run = try Probe.run([role, folder.state, "\(seed)", "\(count)"], root: root, ["DISK_LOG": log])
      try #require(run.status == 0, "\(run.lines.last ?? "")")
      record = try DiskRecord(contentsOf: log)
    }

    /// Passes the disk after each change but those to standard output, as each loss leaves it.
    func forEachLoss(every step: Int, _ body: (TemporaryFolder, [String], String) throws -> Void) throws {
      var disk = SimulatedDisk(root: root, number: number)
      for (index, change) in record.changes.enumerated() {
        disk.apply(change)
        guard index % step == 0 else { continue }
        for loss in [Loss.everything, .nothing, .some(seed: UInt64(index)), .some(seed: UInt64(index) + 1 << 32)] {
          let left = TemporaryFolder()
          try disk.write(to: left.path, losing: loss)
          try body(left, record.lines(index + 1), "change \(index), losing \(loss)")
        }
      }
    }
  }

  @Test(arguments: seeds(3))
  func `an inbox holds what was acknowledged, wherever the power goes (R3.8)`(seed: Int) throws {
    let count = 36
    let summaries = InboxModel.summaries(seed: seed, count)
    let recorded = try Recorded("inbox", seed, count)
    try recorded.forEachLoss(every: 3) { left, lines, what in
      let begun = lines.count { $0.hasPrefix("begin ") }
      let done = lines.count { $0.hasPrefix("done ") }
      let inbox = try Inbox.open(in: left.open())
      #expect(inbox.notice == nil, "\(what)")
      let summary = try inbox.summary()
      #expect(summary == summaries[done] || summary == summaries[begun], "\(what), \(done) done")
    }
  }

  @Test func `saved activities are those of some moment, and their index fits, wherever the power goes (R8.1)`() throws
  {
    let count = 30
    var (workload, model) = (Workload(seed: 5), SavedModel())
    var states: [SavedModel] = [model]
    for _ in 0..<count {
      let operation = workload.nextSaved()
      _ = model.run(operation, at: workload.now)
      states.append(model)
    }
    let recorded = try Recorded("saved", 5, count)
    let now = workload.now
    let summaries = states.map { $0.summary(at: now) }
    try recorded.forEachLoss(every: 11) { left, lines, what in
      let begun = lines.count { $0.hasPrefix("begin ") }
      let saved = try SavedActivities.open(in: left.open())
      try saved.check()
      #expect(saved.notice == nil, "\(what)")
      #expect(summaries[0...begun].contains(try saved.summary(at: now)), "\(what)")
    }
  }

  @Test(arguments: [3, 9, 20, 33, 47, 60, 80, 120, 170, 230])
  func `a process that is killed at any call has lost nothing (R3.8)`(call: Int) throws {
    let folder = TemporaryFolder()
    let count = 60
    let run = try Probe.run(
      ["inbox", folder.state, "4", "\(count)"], root: folder.path, ["DISK_KILL": "\(call)"])
    #expect(run.wasKilled)
    let summaries = InboxModel.summaries(seed: 4, count)
    let inbox = try Inbox.open(in: folder.open())
    let summary = try inbox.summary()
    let done = run.done.count
    #expect(inbox.notice == nil)
    #expect(summary == summaries[done] || summary == summaries[min(done + 1, count)], "\(done) done")
  }
}

extension InboxModel {
  /// The content of a restarted inbox after each of the first calls of StoreProbe.
  static func summaries(seed: Int, _ count: Int) -> [String] {
    var (workload, model) = (Workload(seed: UInt64(seed)), InboxModel())
    var summaries = [model.summary()]
    for index in 0..<count {
      let operation = workload.next()
      if index % 17 == 16 { model.restart() }
      _ = model.run(operation, at: workload.now)
      var restarted = model
      restarted.restart()
      summaries.append(restarted.summary())
    }
    return summaries
  }
}
