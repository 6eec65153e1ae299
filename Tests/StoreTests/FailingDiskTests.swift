// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import Testing

@testable import SegueStore
@testable import StoreProbe

/// Disks that are full, fail, or cannot be written: an error that says so, nothing lost, nothing half done.
@Suite struct FailingDiskTests {
  let folder = TemporaryFolder()
  private let count = 40

  @Test(arguments: [1, 2, 3, 5, 7, 9, 11, 14, 17, 20, 24, 30, 41, 52, 58, 66, 75, 90, 110, 140])
  func `a full disk is said to be full, before anything is acknowledged (R3.8)`(call: Int) throws {
    let run = try Probe.run(
      ["inbox", folder.state, "6", "\(count)"], root: folder.path, ["DISK_FAIL": "\(call):\(ENOSPC):1000000"])
    let error = try #require(run.error)
    let summaries = InboxModel.summaries(seed: 6, count)
    let (inbox, done) = (try Inbox.open(in: folder.open()), run.done.count)
    let summary = try inbox.summary()
    #expect(inbox.notice == nil)
    if error.contains("disk is full") || error.contains("No space left") {
      #expect(summary == summaries[done])
    } else {
      // The written bytes could not be synchronised: the disk may have them all the same.
      #expect(error.contains("disk I/O error"), "\(error)")
      #expect(summary == summaries[done] || summary == summaries[min(done + 1, count)])
    }
  }

  @Test(arguments: [2, 5, 8, 12, 18, 27, 40, 59, 70, 95, 130])
  func `an inbox goes on once there is room again, as if nothing had been (R3.8)`(call: Int) throws {
    let run = try Probe.run(
      ["stubborn", folder.state, "6", "\(count)"], root: folder.path, ["DISK_FAIL": "\(call):\(ENOSPC):4"])
    #expect(run.status == 0, "\(run.error ?? "")")
    #expect(run.done.count == count)
    var (workload, model) = (Workload(seed: 6), InboxModel())
    let expected = (0..<count).map { index in
      let operation = workload.next()
      if index % 17 == 16 { model.restart() }
      return "done \(index) \(model.run(operation, at: workload.now))"
    }
    #expect(run.lines.filter { $0.hasPrefix("done ") } == expected)
    #expect(try Inbox.open(in: folder.open()).summary() == InboxModel.summaries(seed: 6, count)[count])
  }

  @Test(arguments: [4, 10, 19, 22, 31, 44, 63, 77, 101])
  func `a disk that fails loses nothing that was acknowledged (R3.8)`(call: Int) throws {
    let run = try Probe.run(
      ["inbox", folder.state, "6", "\(count)"], root: folder.path, ["DISK_FAIL": "\(call):\(EIO):1000000"])
    let error = try #require(run.error)
    #expect(error.contains("Input/output error") || error.contains("disk I/O error"), "\(error)")
    let summaries = InboxModel.summaries(seed: 6, count)
    let (summary, done) = (try Inbox.open(in: folder.open()).summary(), run.done.count)
    // The disk may have what it said that it could not write.
    #expect(summary == summaries[done] || summary == summaries[min(done + 1, count)])
  }

  @Test func `a folder that cannot be written is said to be so, with the setting that moves it`() throws {
    let run = try Probe.run(["open", folder.state], root: folder.path, ["DISK_FAIL": "1:\(EROFS):1000000"])
    let error = try #require(run.error)
    #expect(error.contains("Read-only file system") && error.contains("SEGUE_STATE_DIR"), "\(error)")
  }

  @Test(arguments: [(0x6969, "nfs"), (0xff53_4d42, "cifs"), (0xfe53_4d42, "smb3"), (0x0102_1997, "9p")])
  func `a folder on a network file system is refused by name`(type: Int, name: String) throws {
    let run = try Probe.run(["open", folder.state], root: folder.path, ["DISK_TYPE": "\(type)"])
    let error = try #require(run.error)
    #expect(error.contains("error \(Status.unsafeFolder.rawValue) "))
    #expect(error.contains("network file system (\(name))") && error.contains("SEGUE_STATE_DIR"), "\(error)")
    #expect(folder.names().isEmpty)
  }
}
