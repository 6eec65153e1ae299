// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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

  /// RFC 8949 §4.2.1 and appendix A: the shortest form that is the same number.
  @Test(
    arguments: [
      (0.0, "f90000"), (-0.0, "f98000"), (1, "f93c00"), (1.5, "f93e00"), (65_504, "f97bff"), (65_505, "fa477fe100"),
      (100_000, "fa47c35000"), (3.402_823_466_385_288_6e38, "fa7f7fffff"), (1e300, "fb7e37e43c8800759c"),
      (5.960_464_477_539_063e-8, "f90001"), (2.980_232_238_769_531_3e-8, "fa33000000"),
      (0.000_061_035_156_25, "f90400"), (-4, "f9c400"), (-4.1, "fbc010666666666666"), (1.1, "fb3ff199999999999a"),
      (.infinity, "f97c00"), (-.infinity, "f9fc00"), (.nan, "f97e00"), (-.nan, "f97e00"),
    ] as [(Double, String)])
  func `A double has its shortest form (R1.2)`(number: Double, form: String) throws {
    let value = Value.double(number)
    #expect(hexadecimal(value.encoding) == form)
    #expect(value.double?.bitPattern == (number.isNaN ? Double.nan : number).bitPattern)
    #expect(try decoded(form).get() == value)
  }

  @Test(
    arguments: [
      (0, "00"), (23, "17"), (24, "1818"), (255, "18ff"), (256, "190100"), (65_535, "19ffff"), (65_536, "1a00010000"),
      (4_294_967_295, "1affffffff"), (4_294_967_296, "1b0000000100000000"), (-1, "20"), (-24, "37"), (-25, "3818"),
      (-256, "38ff"), (-257, "390100"), (.max, "1b7fffffffffffffff"), (.min, "3b7fffffffffffffff"),
    ] as [(Int64, String)])
  func `An integer has its shortest form (R1.2)`(number: Int64, form: String) throws {
    let value = Value.integer(number)
    #expect(hexadecimal(value.encoding) == form)
    #expect(value.int64 == number && value.uint64 == UInt64(exactly: number))
    #expect(try decoded(form).get() == value)
    #expect(Value.unsigned(.max).uint64 == .max && Value.unsigned(.max).int64 == nil)
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

  @Test func `A key that is there twice is named, and the writer is then unusable`() throws {
    var writer = ValueWriter()
    try writer.begin(.dictionary)
    for key in ["b", "a", "b"] {
      try writer.put(key)
      try writer.put(1.5)
    }
    let twice = SegueError(.invalidArgument, #"the key "b" is there twice"#)
    #expect(throws: twice) { try writer.end() }
    #expect(throws: twice) { try writer.putNull() }
    #expect(throws: twice) { _ = try writer.finish() }
    writer.reset()
    try writer.putNull()
    #expect(try writer.finish() == .null)
  }

  @Test func `The first failure that is noted is what all calls throw`() throws {
    var writer = ValueWriter()
    try writer.begin(.array)
    let first = SegueError(.invalidURL, "no URL")
    #expect(writer.fail(first) == first && writer.fail(SegueError(.malformed, "another")) == first)
    #expect(throws: first) { try writer.putNull() }
    #expect(throws: first) { try writer.begin(.set) }
    #expect(throws: first) { try writer.end() }
  }

  @Test func `Few entries and many are sorted the same way, and one that is there twice is found`() throws {
    var random = SystemRandomNumberGenerator()
    for count in [2, 3, 15, 16, 17, 18, 60] {
      for _ in 0..<20 {
        var keys = (0..<count).map { String($0 * 37) }.shuffled(using: &random)
        let value = try Value.dictionary(keys.map { (key: .string($0), value: .string("of \($0)")) })
        let entries = try #require(value.entries)
        let encodings = entries.map { $0.key.encoding }
        #expect(encodings == encodings.sorted { $0.lexicographicallyPrecedes($1) } && entries.count == count)
        #expect(entries.allSatisfy { $0.value.string == "of \($0.key.string ?? "")" })
        keys[Int.random(in: 1..<count)] = keys[0]
        #expect(
          status { () throws(SegueError) in _ = try Value.dictionary(keys.map { (key: .string($0), value: .null) }) }
            == .invalidArgument)
      }
    }
  }

  @Test func `Containers nest 64 deep, also those that are put in whole`() throws {
    var value = try Value.array([])
    for _ in 1..<Limits.nesting { value = try .array([value]) }
    #expect(value.depth == Limits.nesting)
    #expect(status { () throws(SegueError) in _ = try Value.array([value]) } == .limitExceeded)
  }

  @Test func `A copy of a reader goes on from the same place, by itself`() throws {
    var reader = ValueReader(try decoded("82 81 82 01 02 03").get())
    for _ in 0..<3 { _ = reader.next() }
    var copy = reader.copy()
    func rest(_ reader: inout ValueReader) -> [String] {
      var seen: [String] = []
      while let item = reader.next() { seen.append("\(item.kind.map { "\($0.name)" } ?? "end") \(item.depth)") }
      return seen
    }
    let seen = rest(&copy)
    #expect(seen == ["an integer 3", "an integer 3", "end 2", "end 1", "an integer 1", "end 0"])
    #expect(rest(&reader) == seen)
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
