// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueStore

/// Activities that apps have left are read again, or the store says that it cannot (R2.5).
@Suite struct KeptJobsTests {
  private let folder = TemporaryFolder()
  private let now = 1_800_000_000.0

  private func load() throws -> (records: [KeptRecord], lines: [String]) {
    let holder = InboxAtDate(try Inbox.open(in: folder.open()), now)
    return (try KeptJobs.load(holder), holder.lines)
  }

  @Test func `a document of a later version costs no other one`() throws {
    do {
      let inbox = try Inbox.open(in: folder.open())
      try inbox.keep(.sample(1), team: "T", document: [1], at: now)
      var activity = try Activity(type: "com.example.note")
      try activity.setTitle("one")
      try inbox.keep(
        .sample(2), team: "T", document: try ActivityDocument.encode(activity, .none), at: now)
    }
    let (records, lines) = try load()
    #expect(records.map { $0.activity } == [Identifier(2)])
    #expect(lines.count == 1 && lines[0].contains("cannot be read"))
  }

  @Test func `a page that is damaged is an error, and no shorter list`() throws {
    do {
      let inbox = try Inbox.open(in: folder.open())
      try inbox.keep(.sample(1), team: "T", document: [UInt8](repeating: 0xab, count: 20_000), at: now)
    }
    // The pages of the document name the next one in their first bytes.
    var file = try folder.data("inbox.db")
    for page in stride(from: 0, to: file.count, by: 4_096) where file[page + 100] == 0xab && file[page + 4_000] == 0xab
    {
      file.replaceSubrange(page..<page + 4, with: [0xff, 0xff, 0xff, 0xff])
    }
    try folder.write(file, "inbox.db")
    #expect(thrown { try load() }?.status == .malformed)
  }
}
