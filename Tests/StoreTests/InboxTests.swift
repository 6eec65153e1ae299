import Foundation
import SegueModel
import Testing

@testable import SegueStore

/// One rule each of the inbox.
@Suite struct InboxTests {
  let folder = TemporaryFolder()
  let now = 1_800_000_000.0

  private func open() throws -> Inbox { try Inbox.open(in: folder.open()) }

  @Test func `an entry comes back as it was put, after a restart (R3.8)`() throws {
    let large = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 8) }
    let attachments = [
      AttachmentContent(name: "large", size: UInt64(large.count), source: .bytes(large)),
      AttachmentContent(name: "elsewhere", size: 1 << 40, source: .origin),
      AttachmentContent(name: "empty", size: 0, source: .bytes([])),
    ]
    do {
      let inbox = try open()
      #expect(try inbox.put(.sample(7, attachments: attachments), at: now) == .stored)
      #expect(try inbox.put(.sample(7, document: [1]), at: now) == .known)
    }
    let inbox = try open()
    #expect(inbox.notice == nil)
    let entry = try #require(try inbox.entry(Identifier(7)))
    #expect(try inbox.entries().count == 1)
    #expect(entry.app == "com.example.a" && entry.offer == .sample(7) && entry.isStale)
    #expect(entry.offer.description.sizeHint == 7 && entry.state == .waiting && entry.attempts == 0)
    #expect(entry.receivedAt == now && entry.expiresAt == now + Limits.inboxLife)
    #expect(try inbox.document(of: entry.payload) == Array("document 7".utf8))
    #expect(entry.payload.documentSize == 10)
    #expect(entry.payload.attachments.map(\.name) == ["large", "elsewhere", "empty"])
    #expect(entry.payload.attachments.map(\.isHere) == [true, false, true])
    #expect(entry.payload.attachments.map(\.size) == [700_000, 1 << 40, 0])
    let file = try #require(tmpfile())
    defer { fclose(file) }
    try inbox.copy(entry.payload.attachments[0], to: fileno(file))
    var bytes = [UInt8](repeating: 0, count: large.count + 1)
    #expect(pread(fileno(file), &bytes, bytes.count, 0) == large.count)
    #expect(Array(bytes.dropLast()) == large)
    #expect(thrown { try inbox.copy(entry.payload.attachments[1], to: 1) }?.status == .notFound)
  }
}
