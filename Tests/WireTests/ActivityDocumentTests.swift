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
    let document = try ActivityDocument.encode(activity)
    return try ActivityDocument.decode(document, userInfoLimit: Limits.value).userInfo
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

  /// A stranger's document is no deeper than ours.
  @Test func `A document that is deeper than any of ours is refused`() {
    let deep = [UInt8](repeating: 0x81, count: 70) + [1]
    let document: [UInt8] = [0xd9, 0xd9, 0xf7, 0x82, 1, 0xa1, 0x61, 0x61] + deep
    #expect(throws: SegueError.self) { try ActivityDocument.decode(document, userInfoLimit: Limits.value) }
  }
}
