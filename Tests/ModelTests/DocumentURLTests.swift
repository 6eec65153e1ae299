// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

@testable import SegueModel

/// The URL of an activity's document in `userInfo` (R5.2).
@Suite struct DocumentURLTests {
  private static let key = "NSUserActivityDocumentURLKey"

  private func activity(_ entries: [(key: Value, value: Value)]?) throws -> Activity {
    var activity = try Activity(type: "com.example.note")
    try activity.setUserInfo(try entries.map { try Value.dictionary($0) }, limit: Limits.value)
    return activity
  }

  @Test func `the entry of a document is its URL under Apple's key (R5.2)`() throws {
    var activity = try activity(nil)
    #expect(activity.documentURL == nil)
    try activity.addUserInfoEntries(try Activity.documentEntry("file:///a%20b"), limit: Limits.value)
    #expect(activity.documentURL == "file:///a%20b")
    #expect(activity.userInfo?[Self.key] == (try Value.url("file:///a%20b")))
    #expect(throws: SegueError.self) { try Activity.documentEntry("no URL") }
  }

  @Test(arguments: [0, 1, 2, 23, 24, 25, 300]) func `removing it leaves all other entries (R5.2)`(_ count: Int) throws {
    let others = (0..<count).map { (key: Value.string("\($0)"), value: Value.integer(Int64($0))) }
    var activity = try activity(others + [(.string(Self.key), try .url("file:///a"))])
    activity.markNeedsSave(false)
    try activity.removeDocumentURL()
    #expect(activity.userInfo == (try Value.dictionary(others)))
    #expect(activity.needsSave && activity.documentURL == nil)
    try activity.removeDocumentURL()
    #expect(activity.userInfo == (try Value.dictionary(others)))
  }

  @Test func `only text is the key, and only a URL the value (R5.2)`() throws {
    let entries: [(key: Value, value: Value)] = [(.data(Array(Self.key.utf8)), try .url("file:///a"))]
    var activity = try activity(entries)
    #expect(activity.documentURL == nil)
    try activity.removeDocumentURL()
    #expect(activity.userInfo == (try Value.dictionary(entries)))
    #expect(try self.activity([(.string(Self.key), .string("file:///a"))]).documentURL == nil)
    var empty = try self.activity(nil)
    try empty.removeDocumentURL()
    #expect(empty.userInfo == nil)
    #expect(Value.integer(3).removing(utf8: Activity.documentKey) == .integer(3))
  }
}
