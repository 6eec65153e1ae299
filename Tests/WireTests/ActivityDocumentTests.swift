// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@Suite struct ActivityDocumentTests {
  /// `user_info` that is `depth` containers deep: a dictionary, and arrays in it.
  private func userInfo(depth: Int) throws -> Value {
    var inner = Value.unsigned(1)
    for _ in 1..<depth { inner = try .array([inner]) }
    return try .dictionary([(key: .string("a"), value: inner)])
  }

  private func roundTrip(_ userInfo: Value) throws -> Value? {
    var activity = try Activity(type: "com.example.editing")
    try activity.setUserInfo(userInfo, limit: Limits.value)
    let document = try ActivityDocument.encode(activity, .none)
    return try ActivityDocument.decode(document, .none, userInfoLimit: Limits.value).userInfo
  }

  /// Handoff.md section 9: 64 levels may be set, so they can be handed off, though the document adds two.
  @Test func `user_info as deep as allowed is carried`() throws {
    let deepest = try userInfo(depth: Limits.nesting)
    #expect(try roundTrip(deepest)?.encoding == deepest.encoding)
  }

  /// Section 9: 16 MiB may be set, so they can be handed off.
  @Test func `user_info as large as allowed is carried`() throws {
    let data = [UInt8](repeating: 7, count: Limits.value - 8)
    let largest = try Value.dictionary([(key: .string("a"), value: .data(data))])
    #expect(largest.encoding.count == Limits.value)
    #expect(try roundTrip(largest)?.encoding == largest.encoding)
  }

  @Test func `whether it is public is carried only if its origin has said so (R13.1)`() throws {
    for type in ["com.example.editing", "SegueActivityTypeEditingText"] {
      for publicity in [nil, true, false] {
        var activity = try Activity(type: type)
        activity.setPublic(publicity)
        let document = try ActivityDocument.encode(activity, .none)
        let there = try ActivityDocument.decode(document, .none, userInfoLimit: 100)
        #expect(there.publicity == publicity && there.isPublic == activity.isPublic)
      }
    }
  }

  /// An activity with nothing at its default.
  private func full() throws -> Activity {
    var activity = try Activity(type: "com.example.editing")
    try activity.setTitle("Shopping é")
    try activity.setUserInfo(userInfo(depth: 2), limit: 100)
    try activity.setRequiredUserInfoKeys(.set([.string("a")]))
    try activity.setKeywords(.set([.string("milk")]))
    try activity.setWebpageURL("https://example.com/")
    try activity.setReferrerURL("https://example.org/")
    try activity.setTargetContentIdentifier("target")
    try activity.setPersistentIdentifier("persistent")
    try activity.setExpirationDate(1_234.5)
    activity.setSupportsContinuationStreams(true)
    for what in [Activity.Eligibility.search, .publicIndexing] { activity.setEligible(what, true) }
    activity.setEligible(.handoff, false)
    activity.setPayloadVersion(.max)
    try activity.attach(Attachment(name: "photo.jpg", size: .max))
    try activity.attach(Attachment(name: "b", size: 0))
    return activity
  }

  @Test func `every property arrives as it was, and the activity is clean (R3.12)`() throws {
    let activity = try full()
    let there = try ActivityDocument.decode(ActivityDocument.encode(activity, .none), .none, userInfoLimit: 100)
    #expect(there.type == activity.type && there.title == activity.title && there.userInfo == activity.userInfo)
    #expect(there.requiredUserInfoKeys == activity.requiredUserInfoKeys && there.keywords == activity.keywords)
    #expect(there.webpageURL == activity.webpageURL && there.referrerURL == activity.referrerURL)
    #expect(there.targetContentIdentifier == "target" && there.persistentIdentifier == "persistent")
    #expect(there.expirationDate == 1_234.5 && there.supportsContinuationStreams)
    #expect(there.eligibility == [.search, .publicIndexing] && there.payloadVersion == .max)
    #expect(!there.needsSave)
    let attachments = [(key: Value.string("photo.jpg"), value: Value.unsigned(.max)), (.string("b"), .unsigned(0))]
    #expect(try there.attachments.value() == Value.dictionary(attachments))
  }

  @Test func `what is at its default is left out, and comes back`() throws {
    let activity = try Activity(type: "t")
    #expect(try ActivityDocument.describe(activity) == #"55799([1, {"type": "t"}])"#)
    let there = try ActivityDocument.decode(ActivityDocument.encode(activity, .none), .none, userInfoLimit: 0)
    #expect(there.title == nil && there.userInfo == nil && there.requiredUserInfoKeys == nil)
    #expect(there.keywords.count == 0 && there.eligibility == .handoff && there.payloadVersion == 0)
    #expect(there.expirationDate == nil && !there.supportsContinuationStreams && !there.needsSave)
  }

  @Test func `its receiver's limits hold, too (section 9)`() throws {
    let activity = try full()
    let size = try #require(activity.userInfo?.encoding.count)
    let document = try ActivityDocument.encode(activity, .none)
    #expect(try ActivityDocument.decode(document, .none, userInfoLimit: size).userInfo == activity.userInfo)
    #expect(throws: SegueError.self) { try ActivityDocument.decode(document, .none, userInfoLimit: size - 1) }
  }

  /// A document of these properties.
  private func status(version: UInt64 = 1, _ properties: [(String, Value)]) throws -> Status {
    let entries = try Value.dictionary(properties.map { (key: .string($0.0), value: $0.1) })
    let document = [0xd9, 0xd9, 0xf7] + (try Value.array([.unsigned(version), entries]).encoding)
    do {
      _ = try ActivityDocument.decode(document, .none, userInfoLimit: 100)
      return .ok
    } catch { return error.status }
  }

  @Test func `properties that are none are refused (A9)`() throws {
    let type = ("type", Value.string("t"))
    #expect(try status([type]) == .ok)
    #expect(try status([type, ("of the future", .null)]) == .ok)
    #expect(try status(version: 2, [type]) == .unsupportedVersion)
    #expect(try status([]) == .malformed)
    #expect(try status([("type", .string(""))]) == .invalidArgument)
    #expect(try status([type, ("title", .integer(1))]) == .malformed)
    #expect(try status([type, ("title", .string(String(repeating: "x", count: 1_025)))]) == .limitExceeded)
    #expect(try status([type, ("webpage_url", .string("no page"))]) == .invalidURL)
    #expect(try status([type, ("expiration_date", .double(1))]) == .malformed)
    #expect(try status([type, ("payload_version", .unsigned(1 << 32))]) == .malformed)
    #expect(try status([type, ("user_info", .null)]) == .wrongKind)
    let many = try Value.dictionary((0...64).map { (key: .string("\($0)"), value: .unsigned(1)) })
    #expect(try status([type, ("attachments", many)]) == .malformed)
    #expect(try status([type, ("attachments", .array([]))]) == .malformed)
    for (name, size) in [("", Value.unsigned(1)), ("a/b", .unsigned(1)), ("..", .unsigned(1)), ("a", .integer(-1))] {
      #expect(try status([type, ("attachments", .dictionary([(key: .string(name), value: size)]))]) == .malformed)
    }
    let bytes: [[UInt8]] = [
      [], [0xa0], [0xd9, 0xd9, 0xf7], [0xd9, 0xd9, 0xf7, 0x80], [0xd9, 0xd9, 0xf7, 0x82, 1, 1],
    ]
    for document in bytes {
      #expect(throws: SegueError.self) { try ActivityDocument.decode(document, .none, userInfoLimit: 100) }
    }
  }

  /// A stranger's document is no deeper than ours.
  @Test func `A document that is deeper than any of ours is refused`() {
    let deep = [UInt8](repeating: 0x81, count: 70) + [1]
    let document: [UInt8] = [0xd9, 0xd9, 0xf7, 0x82, 1, 0xa1, 0x61, 0x61] + deep
    #expect(throws: SegueError.self) { try ActivityDocument.decode(document, .none, userInfoLimit: Limits.value) }
  }
}

extension ReferenceReader {
  /// Without containers.
  static var none: ReferenceReader { ReferenceReader(.none) }
}
