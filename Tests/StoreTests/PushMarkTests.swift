// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueEngine
import SegueModel
import Testing

@testable import SegueStore

/// The pushes that a device has taken, so that what a mailbox keeps comes once (R3.15, R14.5).
@Suite struct PushMarkTests {
  private let folder = TemporaryFolder()
  private let now = 1_800_000_000.0

  private func mark(_ activity: Int, _ number: UInt64, of device: Int = 1) -> PushMark {
    PushMark(device: Identifier(device), activity: Identifier(activity), number: number)
  }

  /// Stores an entry that comes with a push; nil: it is stored.
  private func put(_ entry: Int, _ push: PushMark, in inbox: Inbox) throws -> SegueError? {
    let sample = IncomingEntry.sample(entry, document: [1])
    let record = InboxRecord(
      continuation: sample.continuation, app: sample.app, offer: sample.offer, isStale: false, document: [1],
      attachments: [], push: push)
    let holder = InboxAtDate(inbox, now)
    guard case .put(_, let result)? = InboxJobs.run(.put(record, begins: false), holder) else {
      throw SegueError(.system, "no answer")
    }
    if case .failure(let error) = result { return error }
    return nil
  }

  @Test func `a push is stored once, also after a restart, and a later one of the activity again`() throws {
    do {
      let inbox = try Inbox.open(in: folder.open())
      #expect(try put(1, mark(7, 5), in: inbox) == nil)
      #expect(try put(2, mark(7, 5), in: inbox)?.status == .invalidState)
      #expect(try put(3, mark(7, 4), in: inbox)?.status == .invalidState)
      #expect(try put(4, mark(8, 4), in: inbox) == nil && put(5, mark(7, 5, of: 2), in: inbox) == nil)
    }
    let inbox = try Inbox.open(in: folder.open())
    #expect(try put(6, mark(7, 5), in: inbox)?.status == .invalidState)
    #expect(try put(7, mark(7, 6), in: inbox) == nil)
    #expect(try inbox.entry(Identifier(2)) == nil && inbox.entry(Identifier(7)) != nil)
  }

  @Test func `an entry that is not stored leaves its push to come again`() throws {
    let inbox = try Inbox.open(in: folder.open(), room: 200_000)
    let sample = IncomingEntry.sample(1, document: [1])
    let document = [UInt8](repeating: 1, count: 60_000)
    let record = InboxRecord(
      continuation: sample.continuation, app: sample.app, offer: sample.offer, isStale: false, document: document,
      attachments: [], push: mark(7, 5))
    let holder = InboxAtDate(inbox, now)
    guard case .put(_, .failure(let error))? = InboxJobs.run(.put(record, begins: false), holder) else {
      Issue.record("it is stored")
      return
    }
    #expect(error.status == .limitExceeded)
    #expect(try !inbox.hasTaken(mark(7, 5)) && put(1, mark(7, 5), in: inbox) == nil)
  }

  @Test func `what is older than all pushes that are remembered counts as taken`() throws {
    let inbox = try Inbox.open(in: folder.open())
    let count = Int(Limits.pushMarks)
    for activity in 1...count { try inbox.noteTaken(mark(activity, UInt64(activity + 10))) }
    #expect(try inbox.hasTaken(mark(5_000, 11)) && !inbox.hasTaken(mark(5_000, 12)))
    #expect(try !inbox.hasTaken(mark(5_000, 11, of: 2)))
    try inbox.noteTaken(mark(5_000, 5_000))
    #expect(try inbox.hasTaken(mark(1, 11)) && inbox.hasTaken(mark(6_000, 12)) && !inbox.hasTaken(mark(6_000, 13)))
  }
}
