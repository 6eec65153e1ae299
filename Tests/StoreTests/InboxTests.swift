// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueAgentCore
import SegueModel
import SegueWire
import Testing

@testable import SegueEngine
@testable import SegueStore
@testable import StoreProbe

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

  @Test func `an app gets one entry at a time, the oldest first, marked when it comes again (R3.8)`() throws {
    var inbox: Inbox? = try open()
    for number in 1...3 { _ = try inbox?.put(.sample(number), at: now) }
    #expect(try inbox?.beginDelivery(to: "com.example.b", at: now) == nil)
    let first = try #require(try inbox?.beginDelivery(to: "com.example.a", at: now))
    #expect(first.continuation == Identifier(1) && !first.isRedelivered && first.state == .delivered)
    #expect(try inbox?.beginDelivery(to: "com.example.a", at: now) == nil)
    inbox = nil
    inbox = try open()
    let again = try #require(try inbox?.beginDelivery(to: "com.example.a", at: now))
    #expect(again.continuation == Identifier(1) && again.isRedelivered)
    #expect(try inbox?.acknowledge(Identifier(1), at: now) == true)
    #expect(try inbox?.acknowledge(Identifier(1), at: now) == false)
    #expect(try inbox?.put(.sample(1), at: now) == .ended)
    #expect(try inbox?.beginDelivery(to: "com.example.a", at: now)?.continuation == Identifier(2))
  }

  @Test func `a late answer acknowledges, a cancel does not (R3.8)`() throws {
    let inbox = try open()
    _ = try inbox.put(.sample(1), at: now)
    _ = try inbox.beginDelivery(to: "com.example.a", at: now)
    #expect(try inbox.endDelivery(Identifier(1), .unanswered))
    #expect(try inbox.endDelivery(Identifier(1), .unanswered) == false)
    #expect(try inbox.entry(Identifier(1))?.state == .waiting)
    #expect(try inbox.acknowledge(Identifier(1), at: now))
    #expect(try inbox.entry(Identifier(1)) == nil)
  }

  @Test func `an app that crashed three times on an entry gets it when the user asks (R3.8)`() throws {
    let inbox = try open()
    _ = try inbox.put(.sample(1), at: now)
    _ = try inbox.put(.sample(2), at: now)
    for crash in 1...3 {
      #expect(try inbox.beginDelivery(to: "com.example.a", at: now)?.continuation == Identifier(1))
      try inbox.endDelivery(Identifier(1), .crashed)
      #expect(try inbox.entry(Identifier(1))?.isHeld == (crash == 3))
    }
    #expect(try inbox.beginDelivery(to: "com.example.a", at: now)?.continuation == Identifier(2))
    try inbox.acknowledge(Identifier(2), at: now)
    #expect(try inbox.beginDelivery(to: "com.example.a", at: now) == nil)
    #expect(try inbox.retry(Identifier(1)))
    #expect(try inbox.beginDelivery(to: "com.example.a", at: now)?.attempts == 4)
  }

  @Test func `an entry is found again by its offer and app while it is unanswered (R3.8)`() throws {
    let inbox = try open()
    _ = try inbox.put(.sample(1), at: now)
    _ = try inbox.put(.sample(2, to: "com.example.b", expires: now + 60), at: now)
    func find(_ number: Int, of origin: Int? = nil, in app: String, at date: Double? = nil) throws -> Identifier? {
      try inbox.askAgain(
        for: Identifier(number), of: Identifier(1_000_000 + (origin ?? number)), in: app, at: date ?? now)?.continuation
    }
    let found = try (1...2).map { number in
      try inbox.askAgain(
        for: Identifier(number), of: Identifier(1_000_000 + number),
        in: ["com.example.a", "com.example.b"][number - 1],
        at: now)
    }
    #expect(found == [WaitingEntry(Identifier(1), isStale: true), WaitingEntry(Identifier(2), isStale: false)])
    #expect(try find(1, in: "com.example.a") == Identifier(1))
    #expect(try find(1, in: "com.example.b") == nil && find(2, in: "com.example.a") == nil)
    #expect(try find(1, of: 2, in: "com.example.a") == nil && find(3, in: "com.example.a") == nil)
    #expect(try find(2, in: "com.example.b") == Identifier(2))
    #expect(try find(2, in: "com.example.b", at: now + 60) == nil, "it has expired")
    for _ in 0..<3 {
      _ = try inbox.beginDelivery(to: "com.example.a", at: now)
      #expect(try find(1, in: "com.example.a") == Identifier(1), "its app has it")
      try inbox.endDelivery(Identifier(1), .crashed)
    }
    #expect(try find(1, in: "com.example.a") == Identifier(1))
    #expect(try inbox.entry(Identifier(1))?.isHeld == false, "somebody wants it again")
    _ = try inbox.acknowledge(Identifier(1), at: now)
    _ = try inbox.drop(Identifier(2), at: now)
    #expect(try find(1, in: "com.example.a") == nil && find(2, in: "com.example.b") == nil)
  }

  @Test func `an entry waits for seven days, or until its activity expires (R3.8)`() throws {
    let inbox = try open()
    _ = try inbox.put(.sample(1), at: now)
    _ = try inbox.put(.sample(2, expires: now + 60), at: now)
    #expect(thrown { try inbox.put(.sample(3, expires: now), at: now) }?.status == .invalidState)
    try inbox.keep(.sample(4), team: "TEAM", document: [1], at: now)
    #expect(try inbox.beginDelivery(to: "com.example.a", at: now + 7 * 86_400) == nil)
    #expect(try inbox.expire(at: now + 59) == ([], []))
    #expect(try inbox.expire(at: now + 60) == ([Identifier(2)], []))
    #expect(try inbox.expire(at: now + 12 * 3_600) == ([], [Identifier(4)]))
    #expect(try inbox.expire(at: now + 7 * 86_400) == ([Identifier(1)], []))
    #expect(try inbox.put(.sample(1), at: now + 7 * 86_400) == .ended)
    _ = try inbox.expire(at: now + 14 * 86_400 + 1)
    #expect(try inbox.put(.sample(1), at: now + 14 * 86_400 + 1) == .stored)
  }

  @Test func `an offer is kept until a date, or until the next one of its app (R2.5)`() throws {
    let inbox = try open()
    try inbox.keep(.sample(3), team: "TEAM", document: [3], at: now)
    try inbox.keep(.sample(6), team: "TEAM", document: [6], at: now, life: 60)
    try inbox.keep(.sample(7, expires: now + 30), team: "TEAM", document: [7], at: now)
    try inbox.keep(.sample(3), team: "TEAM", document: [3, 3], at: now + 1)
    let kept = try inbox.keptOffers()
    #expect(kept.map(\.offer.description.id) == [6, 7, 3].map { Identifier($0) })
    #expect(kept.map(\.expiresAt) == [now + 60, now + 30, now + 1 + 12 * 3_600])
    #expect(try inbox.document(of: kept[2].payload) == [3, 3] && kept[2].team == "TEAM")
    #expect(try inbox.withdrawOffers(ofApp: "com.example.editor0") == [Identifier(6), Identifier(3)])
    #expect(try inbox.withdraw(Identifier(7)))
    #expect(try inbox.withdraw(Identifier(7)) == false)
    #expect(thrown { try inbox.document(of: kept[2].payload) }?.status == .notFound)
  }

  @Test func `a continuation has one receipt, the same after a restart (R3.6)`() throws {
    let receiver = Receiver(id: Identifier(9), deviceName: "Desk", appName: "Editor", bundleIdentifier: "com.example")
    func receipt(_ outcome: Outcome) -> Receipt {
      Receipt(
        continuation: Identifier(1), receiver: receiver, outcome: outcome, status: .ok, reason: "why", isStale: true,
        date: now)
    }
    do {
      let inbox = try open()
      #expect(try inbox.decide(receipt(.unknown)))
      #expect(try inbox.decide(receipt(.restored)) == false)
    }
    let inbox = try open()
    let owed = try #require(try inbox.unconfirmedReceipts().first)
    #expect(owed.outcome == .unknown && owed.receiver.deviceName == "Desk" && owed.reason == "why" && owed.isStale)
    #expect(try inbox.confirmReceipt(Identifier(1)))
    #expect(try inbox.unconfirmedReceipts().isEmpty)
    #expect(try inbox.decide(receipt(.restored)) == false)
  }

  @Test func `attachments are stored up to 64 MiB, whole or not at all (R3.8)`() throws {
    let inbox = try open()
    let limit = Limits.storedAttachments
    func put(_ attachments: [AttachmentContent]) throws -> Placement {
      try inbox.put(.sample(1, attachments: attachments), at: now)
    }
    let file = try #require(tmpfile())
    defer { fclose(file) }
    #expect(ftruncate(fileno(file), off_t(limit)) == 0 && pwrite(fileno(file), "end", 3, off_t(limit - 3)) == 3)
    let most = AttachmentContent(name: "most", size: UInt64(limit), source: .descriptor(fileno(file)))
    let one = AttachmentContent(name: "one", size: 1, source: .bytes([1]))
    #expect(thrown { try put([most, one]) }?.status == .limitExceeded)
    let long = AttachmentContent(name: "long", size: .max, source: .descriptor(fileno(file)))
    #expect(thrown { try put([one, long]) }?.status == .limitExceeded)
    let short = AttachmentContent(name: "short", size: 4, source: .bytes([1]))
    #expect(thrown { try put([one, short]) }?.message == "attachment short: has 1 bytes, not 4")
    let missing = AttachmentContent(name: "missing", size: UInt64(limit), source: .descriptor(-1))
    #expect(thrown { try put([missing]) }?.status == .system)
    #expect(ftruncate(fileno(file), 300_000) == 0)
    #expect(thrown { try put([most]) }?.message == "attachment most: has 300000 bytes, not \(limit)")
    #expect(thrown { try put([AttachmentContent(name: "a/b", size: 0, source: .origin)]) }?.status == .invalidArgument)
    let many = (0...Limits.attachments).map { AttachmentContent(name: "\($0)", size: 0, source: .origin) }
    #expect(thrown { try put(many) }?.status == .limitExceeded)
    #expect(try inbox.entries().isEmpty)
    #expect(ftruncate(fileno(file), off_t(limit)) == 0)
    #expect(try put([most]) == .stored)
    let entry = try #require(try inbox.entry(Identifier(1)))
    let copy = try #require(tmpfile())
    defer { fclose(copy) }
    try inbox.copy(entry.payload.attachments[0], to: fileno(copy))
    #expect(lseek(fileno(copy), 0, SEEK_END) == off_t(limit))
    try inbox.drop(Identifier(1), at: now)
    #expect(try folder.data("inbox.db").count < 2_000_000, "what is unused is given back")
    #expect(thrown { try inbox.copy(entry.payload.attachments[0], to: fileno(copy)) }?.status == .notFound)
  }

  @Test func `a kept offer that goes gives its space back (R2.5)`() throws {
    let inbox = try open()
    let large = [UInt8](repeating: 1, count: 4 << 20)
    for way in 0..<3 {
      for number in 1...3 { try inbox.keep(.sample(3 * number), team: "T", document: large, at: now) }
      switch way {
      case 0: for number in 1...3 { try inbox.withdraw(Identifier(3 * number)) }
      case 1: try inbox.withdrawOffers(ofApp: "com.example.editor0")
      default: for number in 1...3 { try inbox.keep(.sample(3 * number), team: "T", document: [1], at: now) }
      }
      #expect(try folder.data("inbox.db").count < 1_500_000 && folder.data("inbox.db-wal").count < 1_500_000)
    }
  }

  @Test func `a kept offer has its attachments with it, and they go with it (R2.5)`() throws {
    let inbox = try open()
    let bytes = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
    func keep(_ sources: [AttachmentContent.Source]) throws -> [StoredAttachment] {
      let attachments = sources.enumerated().map { number, source in
        AttachmentContent(name: "\(number)", size: UInt64(bytes.count), source: source)
      }
      try inbox.keep(.sample(3), team: "T", document: [1], attachments: attachments, at: now)
      return try #require(try inbox.keptOffer(Identifier(3))).payload.attachments
    }
    func copied(_ attachment: StoredAttachment) throws -> [UInt8] {
      let copy = try #require(tmpfile())
      defer { fclose(copy) }
      try inbox.copy(attachment, to: fileno(copy))
      var read = [UInt8](repeating: 0, count: bytes.count + 1)
      let count = pread(fileno(copy), &read, read.count, 0)
      return Array(read[..<max(0, count)])
    }
    let first = try keep([.bytes(bytes), .origin])
    #expect(try copied(first[0]) == bytes)
    let error = try #require(thrown { _ = try copied(first[1]) })
    #expect(error.status == .notFound)
    #expect(error.message == "attachment 1: the agent has not kept it; only its origin has it")
    let second = try keep([.origin, .bytes(bytes)])
    #expect(second.map(\.isHere) == [false, true])
    #expect(thrown { _ = try copied(first[0]) }?.status == .notFound, "the newer state has replaced it")
    try inbox.withdraw(Identifier(3))
    #expect(try inbox.keptOffer(Identifier(3)) == nil && folder.data("inbox.db").count < 300_000)
  }

  @Test func `a load says how many bytes of attachments are kept (R2.5)`() throws {
    let inbox = try open()
    var activity = try Activity(type: "com.example.note")
    for (name, size) in [("a", 3), ("b", 9)] { try activity.attach(Attachment(name: name, size: UInt64(size))) }
    let attachments = [
      AttachmentContent(name: "a", size: 3, source: .bytes([1, 2, 3])),
      AttachmentContent(name: "b", size: 9, source: .origin),
    ]
    try inbox.keep(
      .sample(3), team: "T", document: try ActivityDocument.encode(activity, .none), attachments: attachments, at: now)
    guard case .loadedKept(let result)? = InboxJobs.run(.loadKept, Holder(inbox, now)) else {
      return #expect(Bool(false))
    }
    #expect(try result.get().map { $0.attachmentBytes } == [3])
  }

  @Test func `what an app leaves is stored with those attachments that could be copied (R2.5)`() throws {
    let inbox = try open()
    var activity = try Activity(type: "com.example.note")
    try activity.attach(Attachment(name: "a", size: 3, source: Bytes([1, 2, 3])))
    try activity.attach(Attachment(name: "b", size: 9))
    let app = AppIdentity(
      known: Identifier(9), bundleIdentifier: "com.example.a", name: "a", team: "T", types: ["com.example.note"])
    let document = try ActivityDocument.encode(activity, .none)
    let record = try KeptRecord(Identifier(3), of: app, document: document, keptAt: now)
    // As the engine hands it over: a document that travels names its attachments only.
    #expect(record.attachments.allSatisfy { $0.source == nil })
    let copied = record.keeping(activity.attachments)
    guard case .kept(Identifier(3), nil)? = InboxJobs.run(.keep(copied), Holder(inbox, now)) else {
      return #expect(Bool(false))
    }
    let kept = try #require(try inbox.keptOffer(Identifier(3)))
    #expect(kept.payload.attachments.map(\.name) == ["a", "b"])
    #expect(kept.payload.attachments.map(\.isHere) == [true, false])
    let copy = try #require(tmpfile())
    defer { fclose(copy) }
    try inbox.copy(kept.payload.attachments[0], to: fileno(copy))
    var bytes = [UInt8](repeating: 0, count: 4)
    #expect(pread(fileno(copy), &bytes, 4, 0) == 3 && bytes == [1, 2, 3, 0])
  }

  @Test func `an inbox is bounded, and says so (R3.8)`() throws {
    let inbox = try Inbox.open(in: folder.open(), room: 200_000)
    let large = [UInt8](repeating: 1, count: 40_000)
    try inbox.keep(.sample(2), team: "", document: large, at: now)
    for number in 10..<14 { _ = try inbox.put(.sample(number, to: "app\(number)", document: large), at: now) }
    let error = try #require(thrown { try inbox.put(.sample(3, document: large), at: now) })
    #expect(error.status == .limitExceeded && error.message.contains("200000 bytes, at most 200000"))
    for number in 10..<14 { try inbox.drop(Identifier(number), at: now) }
    for number in 20..<20 + Limits.inboxEntries - 1 {
      _ = try inbox.put(.sample(number, to: "app\(number % 4)", document: [1]), at: now)
    }
    #expect(thrown { try inbox.put(.sample(3, document: [1]), at: now) }?.message.contains("1000 entries") == true)
    let huge = [UInt8](repeating: 0, count: Limits.value + 64 * 1024 + 1)
    #expect(thrown { try inbox.put(.sample(3, document: huge), at: now) }?.status == .limitExceeded)
    #expect(thrown { try inbox.put(.sample(3, to: ""), at: now) }?.status == .invalidArgument)
  }

  @Test func `only the process that was sent the whole document last has restored it, also after a restart (R3.6)`()
    throws
  {
    let (first, second) = (Identifier(71), Identifier(72))
    func answer(_ process: Identifier, _ outcome: Outcome) throws -> InboxReply? {
      let receiver = Receiver(id: Identifier(1), deviceName: "", appName: "", bundleIdentifier: "com.example.a")
      let receipt = Receipt(
        continuation: Identifier(1), receiver: receiver, outcome: outcome, status: .ok, reason: "", isStale: false,
        date: now)
      return InboxJobs.run(.acknowledge(Identifier(1), app: process, wasSent: false, receipt), Holder(try open(), now))
    }
    do {
      let inbox = try open()
      _ = try inbox.put(.sample(1), at: now)
      try inbox.noteSent(Identifier(2), to: first)
      try inbox.noteSent(Identifier(1), to: second)
      try inbox.noteSent(Identifier(1), to: first)
      #expect(try inbox.wasSent(Identifier(1), to: first) && !inbox.wasSent(Identifier(1), to: second))
      #expect(try !inbox.wasSent(Identifier(2), to: first))
    }
    guard case .disbelieved(Identifier(1), second)? = try answer(second, .restored) else {
      return #expect(Bool(false))
    }
    #expect(try open().entries().count == 1)
    guard case .acknowledged(_, _, .success(.some))? = try answer(first, .restored) else {
      return #expect(Bool(false))
    }
    #expect(try open().entries().isEmpty)
    guard case .acknowledged(_, _, .success(nil))? = try answer(second, .restored) else {
      return #expect(Bool(false))
    }
  }

  @Test func `an answer is stored with its receipt, or not at all (R3.6, R3.8)`() throws {
    let inbox = try open()
    _ = try inbox.put(.sample(1), at: now)
    func answer(_ reason: String) -> InboxReply? {
      let receiver = Receiver(id: Identifier(1), deviceName: "", appName: "", bundleIdentifier: "com.example.a")
      let receipt = Receipt(
        continuation: Identifier(1), receiver: receiver, outcome: .declined, status: .declined, reason: reason,
        isStale: false, date: now)
      return InboxJobs.run(.acknowledge(Identifier(1), app: Identifier(7), wasSent: false, receipt), Holder(inbox, now))
    }
    guard case .acknowledged(_, _, .failure)? = answer(String(repeating: "x", count: 2_000)) else {
      return #expect(Bool(false))
    }
    #expect(try inbox.entries().count == 1 && inbox.unconfirmedReceipts().isEmpty)
    guard case .acknowledged(_, _, .success(.some))? = answer("no") else { return #expect(Bool(false)) }
    #expect(try inbox.entries().isEmpty && inbox.unconfirmedReceipts().count == 1)
  }

  /// The holder of an open inbox.
  private final class Holder: InboxHolder {
    private let inbox: Inbox
    let date: Double

    init(_ inbox: Inbox, _ date: Double) {
      self.inbox = inbox
      self.date = date
    }

    func perform<Result>(_ body: (Inbox) throws(SegueError) -> Result) throws(SegueError) -> Result { try body(inbox) }
    func content(of source: AttachmentSource) -> AttachmentContent.Source {
      .bytes(unsafeDowncast(source, to: Bytes.self).bytes)
    }

    func log(_ severity: Severity, _ message: DiagnosticText) { lines.append(message.string) }
    private(set) var lines: [String] = []
  }

  /// The bytes of an attachment that were fetched.
  private final class Bytes: AttachmentSource, @unchecked Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
      super.init()
    }
  }

  @Test func `attachments are stored with their entry, or left with the origin if there is no room for them (R3.8)`()
    throws
  {
    let inbox = try Inbox.open(in: folder.open(), room: 200_000)
    let holder = Holder(inbox, now)
    func put(_ number: Int, _ size: Int) throws -> [StoredAttachment] {
      let entry = IncomingEntry.sample(number, document: [1])
      let bytes = [UInt8](repeating: UInt8(number), count: size)
      let record = InboxRecord(
        continuation: entry.continuation, app: entry.app, offer: entry.offer, isStale: false, document: [1],
        attachments: [
          SegueModel.Attachment(name: "here", size: UInt64(size), source: Bytes(bytes)),
          SegueModel.Attachment(name: "left", size: 9),
        ])
      guard case .put(_, .success)? = InboxJobs.run(.put(record, begins: false), holder) else {
        Issue.record("it is not stored")
        return []
      }
      return try #require(try inbox.entry(entry.continuation)).payload.attachments
    }
    #expect(try put(1, 40_000).map { $0.isHere } == [true, false] && holder.lines.isEmpty)
    #expect(try put(2, 20_000).map { $0.isHere } == [false, false], "a quarter of the inbox is for one app")
    #expect(holder.lines.count == 1 && holder.lines[0].contains("the attachments stay with"))
    #expect(try put(3, 5_000).map { $0.isHere } == [true, false])
  }

  @Test func `what waits for one app takes a quarter of an inbox (R3.8)`() throws {
    let inbox = try Inbox.open(in: folder.open(), room: 200_000)
    let large = [UInt8](repeating: 1, count: 40_000)
    _ = try inbox.put(.sample(1, document: large), at: now)
    let error = try #require(thrown { try inbox.put(.sample(2, document: large), at: now) })
    #expect(error.status == .limitExceeded && error.message.contains("50000 bytes would wait for com.example.a"))
    _ = try inbox.put(.sample(2, to: "other", document: large), at: now)
    for number in 3..<3 + Limits.inboxEntries / 4 - 1 { _ = try inbox.put(.sample(number, document: [1]), at: now) }
    let full = try #require(thrown { try inbox.put(.sample(999, document: [1]), at: now) })
    #expect(full.status == .limitExceeded && full.message.contains("250 entries wait for com.example.a"))
    _ = try inbox.put(.sample(999, to: "other", document: [1]), at: now)
    try inbox.acknowledge(Identifier(3), at: now)
    _ = try inbox.put(.sample(1_000, document: [1]), at: now)
  }

  @Test func `what one process has asked for takes a quarter of an inbox, whatever apps it is for (R3.8)`() throws {
    let inbox = try Inbox.open(in: folder.open(), room: 400_000)
    let large = [UInt8](repeating: 1, count: 40_000)
    func put(_ number: Int, _ document: [UInt8] = [1], by account: Int?) throws {
      // Each app has two of them.
      _ = try inbox.put(.sample(number, to: "app\(number / 2)", document: document, account: account), at: now)
    }
    try put(1, large, by: 7)
    try put(2, large, by: 7)
    let error = try #require(thrown { try put(3, large, by: 7) })
    #expect(error.status == .limitExceeded && error.message.contains("100000 bytes would wait that one process"))
    try put(3, large, by: 8)
    for number in 4..<4 + Limits.inboxEntries / 4 - 2 { try put(number, by: 7) }
    let full = try #require(thrown { try put(999, by: 7) })
    #expect(full.status == .limitExceeded && full.message.contains("250 entries wait that one process or device has"))
    try put(999, by: 8)
    try put(1_000, by: nil)
    try inbox.acknowledge(Identifier(4), at: now)
    try put(1_001, by: 7)
  }

  @Test func `what one process has asked for in one app leaves room for others there (R3.8)`() throws {
    let inbox = try Inbox.open(in: folder.open(), room: 400_000)
    let large = [UInt8](repeating: 1, count: 40_000)
    func put(_ number: Int, to app: String = "notes", _ document: [UInt8] = [1], by account: Int) throws {
      _ = try inbox.put(.sample(number, to: app, document: document, account: account), at: now)
    }
    try put(1, large, by: 7)
    let error = try #require(thrown { try put(2, large, by: 7) })
    #expect(error.status == .limitExceeded && error.message.contains("50000 bytes would wait for notes that one"))
    try put(2, large, by: 8)
    for number in 3..<3 + Limits.inboxEntries / 8 - 1 { try put(number, by: 7) }
    let full = try #require(thrown { try put(999, by: 7) })
    #expect(full.status == .limitExceeded && full.message.contains("125 entries wait for notes that one process"))
    try put(999, by: 8)
    try put(1_000, to: "other", by: 7)
  }

  @Test func `a restart forgets nothing of what a process has asked for (R3.8)`() throws {
    do {
      let inbox = try open()
      try inbox.atOnce { () throws(SegueError) in
        for number in 0..<Limits.inboxEntries / 4 {
          _ = try inbox.put(.sample(number, to: "app\(number)", document: [1], account: 7), at: now)
        }
      }
    }
    let inbox = try open()
    #expect(thrown { try inbox.put(.sample(999, account: 7), at: now) }?.status == .limitExceeded)
  }

  @Test func `R13.4: the origin's folders are beside an entry, and go with it`() throws {
    let text = Array("segue-container:docs\tfile:///home/anna/docs\n".utf8)
    func entry(_ number: Int, _ folders: [UInt8]) -> IncomingEntry {
      IncomingEntry(
        continuation: Identifier(number), app: "com.example.a", offer: .sample(number), isStale: false, document: [1],
        originFolders: folders)
    }
    do {
      let inbox = try open()
      _ = try inbox.put(entry(1, text), at: now)
      _ = try inbox.put(entry(2, []), at: now)
      _ = try inbox.put(entry(3, [UInt8](repeating: 10, count: OriginFolders.sizeLimit + 1)), at: now)
    }
    let inbox = try open()
    #expect(try [1, 2, 3].map { try inbox.originFolders(of: Identifier($0)) } == [text, [], []])
    #expect(try inbox.beginDelivery(to: "com.example.a", at: now)?.continuation == Identifier(1))
    try inbox.acknowledge(Identifier(1), at: now)
    #expect(try inbox.originFolders(of: Identifier(1)).isEmpty)
    #expect(try inbox.beginDelivery(to: "com.example.a", at: now)?.continuation == Identifier(2))
  }

  @Test func `text that is too long to be read again is not stored`() throws {
    let inbox = try open()
    let long = String(repeating: "x", count: 2000)
    func offer(type: String = "t", title: String? = nil, app: String = "", bundle: String = "", device: String = "")
      -> Offer
    {
      let description = OfferDescription(
        id: Identifier(1), type: type, title: title, payloadVersion: 0, sizeHint: 0, expirationDate: nil,
        supportsContinuationStreams: false)
      return Offer(
        description: description, origin: Identifier(2), appName: app, bundleIdentifier: bundle, deviceName: device,
        rank: 0, activatedAt: 0)
    }
    for offer in [
      offer(type: long), offer(type: ""), offer(title: long), offer(app: long), offer(bundle: long),
      offer(device: long),
    ] {
      let entry = IncomingEntry(
        continuation: Identifier(1), app: "com.example.a", offer: offer, isStale: false, document: [])
      #expect([.limitExceeded, .invalidArgument].contains(thrown { try inbox.put(entry, at: now) }?.status))
      #expect(thrown { try inbox.keep(offer, team: "", document: [], at: now) } != nil)
    }
    #expect(thrown { try inbox.keep(offer(), team: long, document: [], at: now) }?.status == .limitExceeded)
    #expect(thrown { try inbox.markUsed(long, at: now) }?.status == .limitExceeded)
    #expect(thrown { try inbox.choose(long, for: "t") }?.status == .limitExceeded)
    #expect(thrown { try inbox.put(.sample(1), at: .nan) }?.status == .invalidState)
    #expect(thrown { try inbox.markUsed("a", at: .infinity) }?.status == .invalidArgument)
    for texts in [(long, "", "", ""), ("", long, "", ""), ("", "", long, ""), ("", "", "", long)] {
      let receiver = Receiver(
        id: Identifier(1), deviceName: texts.0, appName: texts.1, bundleIdentifier: texts.2)
      let receipt = Receipt(
        continuation: Identifier(1), receiver: receiver, outcome: .restored, status: .ok, reason: texts.3,
        isStale: false, date: now)
      #expect(thrown { try inbox.decide(receipt) }?.status == .limitExceeded)
    }
    #expect(try inbox.summary() == "" && inbox.entries().isEmpty)
  }

  @Test func `choices and uses are remembered until they are forgotten (R6.2)`() throws {
    do {
      let inbox = try open()
      try inbox.choose("com.example.a", for: "type")
      try inbox.choose("com.example.b", for: "type")
      try inbox.choose("com.example.a", for: "other")
      try inbox.markUsed("com.example.a", at: now)
      try inbox.markUsed("com.example.b", at: now + 1)
    }
    let inbox = try open()
    #expect(try inbox.choice(for: "type") == "com.example.b")
    #expect(try inbox.choices().map(\.type) == ["other", "type"])
    #expect(try inbox.uses() == ["com.example.b", "com.example.a"])
    try inbox.choose(nil, for: "type")
    #expect(try inbox.choice(for: "type") == nil)
    try inbox.forget(app: "com.example.a")
    #expect(try inbox.choice(for: "other") == nil && inbox.uses() == ["com.example.b"])
    #expect(thrown { try inbox.choose("", for: "type") }?.status == .invalidArgument)
  }
}
