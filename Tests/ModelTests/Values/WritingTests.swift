import SegueModel
import Testing

struct WritingTests {
  @Test(arguments: [0, 1, 23, 24, 255, 256, 65535, 65536, 100_000])
  func `A dictionary or set of any size is in order, whatever the order of putting`(count: Int) throws {
    var random = Seeded(seed: UInt64(count))
    let order = (0..<count).shuffled(using: &random)
    var writer = ValueWriter()
    try writer.begin(.dictionary)
    for key in order {
      try writer.put(Int64(key))
      try writer.put(true)
    }
    try writer.end()
    let dictionary = try writer.finish()
    try writer.begin(.set)
    for key in order { try writer.put(Int64(key)) }
    try writer.end()
    let set = try writer.finish()
    for value in [dictionary, set] {
      #expect(value.count == count)
      #expect(try Value(cbor: value.encoding) == value)
    }
  }

  @Test func `A call that fails leaves the writer as it was`() throws {
    var writer = ValueWriter()
    #expect(status { () throws(SegueError) in try writer.end() } == .invalidState)
    #expect(status { () throws(SegueError) in _ = try writer.finish() } == .invalidState)
    #expect(status { () throws(SegueError) in try writer.begin(.string) } == .invalidArgument)
    try writer.begin(.dictionary)
    try writer.put("a")
    #expect(status { () throws(SegueError) in try writer.end() } == .invalidState)
    #expect(status { () throws(SegueError) in _ = try writer.finish() } == .invalidState)
    #expect(status { () throws(SegueError) in try writer.putDate(.infinity) } == .invalidArgument)
    #expect(
      status { () throws(SegueError) in try writer.put(data: [UInt8](repeating: 0, count: Limits.value)) }
        == .limitExceeded)
    try writer.putNull()
    try writer.end()
    #expect(status { () throws(SegueError) in try writer.putNull() } == .invalidState)
    #expect(try writer.finish().diagnostic == #"{"a": null}"#)
  }

  @Test func `A key that stands there twice is named, and the writer is then unusable`() throws {
    var writer = ValueWriter()
    try writer.begin(.dictionary)
    for key in ["b", "a", "b"] {
      try writer.put(key)
      try writer.put(1.5)
    }
    #expect(throws: SegueError(.invalidArgument, #"the key "b" stands there twice"#)) { try writer.end() }
    #expect(status { () throws(SegueError) in try writer.putNull() } == .invalidState)
  }

  @Test func `Containers nest 64 deep, also those that are put in whole`() throws {
    var value = try Value.array([])
    for _ in 1..<Limits.nesting { value = try .array([value]) }
    #expect(value.depth == Limits.nesting)
    #expect(status { () throws(SegueError) in _ = try Value.array([value]) } == .limitExceeded)
  }

  @Test func `A reader gives items, ends and parts`() throws {
    var reader = ValueReader(try decoded("a2 00 82 01 6161 01 a0").get())
    #expect(reader.take() == nil)
    var seen: [String] = []
    while let item = reader.next() {
      seen.append("\(item.kind.map { "\($0.name)" } ?? "end") \(item.depth) \(item.count)")
      if item.kind == .array { #expect(reader.take()?.diagnostic == #"[1, "a"]"#) }
    }
    #expect(
      seen == [
        "a dictionary 0 2", "an integer 1 0", "an array 1 2", "an integer 1 0", "a dictionary 1 0", "end 1 0",
        "end 0 0",
      ])
    #expect(reader.next() == nil)
  }
}
