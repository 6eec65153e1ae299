// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

@testable import SegueModel

/// The user_info that a save fills (R4.2): many entries, merged once.
@Suite struct UserInfoDraftTests {
  private func entries(_ pairs: (String, Int64)...) throws -> Value {
    try .dictionary(pairs.map { (key: .string($0.0), value: .integer($0.1)) })
  }

  @Test func `later entries win, and the order of the keys is that of values (R1.10, R4.2)`() throws {
    var draft = UserInfoDraft(try entries(("b", 1), ("a", 1)))
    try draft.add(try entries(("c", 2), ("b", 2)), limit: 1_000)
    try draft.add(try entries(("aa", 3)), limit: 1_000)
    try draft.add(try entries(("c", 4)), limit: 1_000)
    #expect(try draft.userInfo()?.diagnostic == #"{"a": 1, "b": 2, "c": 4, "aa": 3}"#)
    try draft.add(.emptyDictionary, limit: 1_000)
    #expect(try draft.userInfo()?.count == 4)
    draft.set(nil)
    #expect(try draft.userInfo() == nil)
    try draft.add(try entries(("z", 1)), limit: 1_000)
    #expect(try draft.userInfo()?.diagnostic == #"{"z": 1}"#)
  }

  @Test func `it is the same as one addition after the other (R4.2)`() throws {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<100 {
      var activity = try Activity(type: "com.example.note")
      var draft = UserInfoDraft(nil)
      for _ in 0..<Int.random(in: 0...40, using: &random) {
        let some = try Value.dictionary(
          Set((0..<Int.random(in: 0...4)).map { _ in Int64.random(in: -40...40, using: &random) }).map {
            (key: .integer($0), value: .integer(Int64.random(in: 0...999, using: &random)))
          })
        try activity.addUserInfoEntries(some, limit: 10_000)
        try draft.add(some, limit: 10_000)
        if Int.random(in: 0...9) == 0 { _ = try draft.userInfo() }
      }
      #expect(try draft.userInfo() ?? .emptyDictionary == activity.userInfo ?? .emptyDictionary)
    }
  }

  @Test func `what is too large is the setter's error, and leaves the draft as it was (R4.2)`() throws {
    func large(_ key: String) throws -> Value {
      try .dictionary([(key: .string(key), value: .data([UInt8](repeating: 7, count: 400)))])
    }
    var draft = UserInfoDraft(try entries(("a", 1)))
    try draft.add(try large("x"), limit: 1_000)
    // Replaced, it fits each time, although all of them together would not.
    for _ in 0..<10 { try draft.add(try large("x"), limit: 1_000) }
    try draft.add(try large("y"), limit: 1_000)
    let former = try draft.userInfo()
    #expect(former?.count == 3)
    let error = #expect(throws: SegueError.self) { try draft.add(try large("z"), limit: 1_000) }
    #expect(error?.status == .userInfoTooLarge && error?.message.contains("\"x\" 403") == true)
    #expect(try draft.userInfo() == former)
    #expect(throws: SegueError.self) { try draft.add(.null, limit: 1_000) }
    #expect(try draft.userInfo() == former)
  }
}
