// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

/// The form of `file:` URLs of containers in an activity document (R5.3).
@Suite struct TravellingFormTests {
  private static func containers(_ list: [(String, String)]) throws -> Containers {
    var containers = Containers()
    for (identifier, folder) in list {
      try containers.add(Container(identifier: identifier, folder: folder, realFolder: nil))
    }
    return containers
  }

  private let here: Containers
  private let there: Containers

  init() throws {
    here = try Self.containers([("docs", "/here/My docs"), ("inner", "/here/My docs/inner")])
    there = try Self.containers([("inner", "/b"), ("docs", "/there")])
  }

  private func url(_ text: String) -> Value { try! Value.url(text) }

  private func activity(_ userInfo: [(Value, Value)]) throws -> Activity {
    var activity = try Activity(type: "t")
    try activity.setUserInfo(.dictionary(userInfo.map { (key: $0.0, value: $0.1) }), limit: Limits.value)
    return activity
  }

  private func travel(_ userInfo: [(Value, Value)], to there: Containers) throws -> Value? {
    let document = try ActivityDocument.encode(activity(userInfo), here)
    return try ActivityDocument.decode(document, ReferenceReader(there), userInfoLimit: Limits.value).userInfo
  }

  /// An activity document whose user_info is this CBOR.
  private func document(_ userInfo: String) -> [UInt8] {
    var bytes: [UInt8] = [0xd9, 0xd9, 0xf7, 0x82, 0x01, 0xa2, 0x64]
    bytes += Array("type".utf8) + [0x61, 0x74, 0x69] + Array("user_info".utf8)
    return bytes + Self.bytes(userInfo)
  }

  private static func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = hexadecimal.utf8.map { UInt8(Character(UnicodeScalar($0)).hexDigitValue ?? 0) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  /// Decodes a document.
  /// - Returns: the reader, with the references that it has found.
  private func read(_ document: [UInt8], _ containers: Containers) throws -> ReferenceReader {
    let references = ReferenceReader(containers)
    _ = try ActivityDocument.decode(document, references, userInfoLimit: 10_000)
    return references
  }

  private func hasDocument(_ document: [UInt8], _ containers: Containers) throws -> Bool {
    let references = ReferenceReader(containers)
    let activity = try ActivityDocument.decode(document, references, userInfoLimit: 10_000)
    return references.documentURL(of: activity) != nil
  }

  private static let tag = "da53656775"

  @Test func `the URL of the document is the one under its key, whatever else travels (R3.5)`() throws {
    let key = Value.string("\(Activity.documentURLKey)")
    let later = Value.string("a key that comes after that of the URL of a document")
    let letter = url("file:///here/My%20docs/letter")
    let both = try activity([(key, letter), (later, url("file:///here/My%20docs/other"))])
    #expect(try hasDocument(try ActivityDocument.encode(both, here), there))
    let foreign = try activity([(key, url("file:///there/letter")), (later, letter)])
    #expect(try !hasDocument(try ActivityDocument.encode(foreign, here), there), "it looks like one that travelled")
  }

  @Test(arguments: [
    ("file:///here/My%20docs/a%20b.txt", "file:///there/a%20b.txt"),
    ("file:/here/My%20docs/a", "file:///there/a"),
    ("file:///here/My%20docs", "file:///there"),
    ("file:///here/My%20docs/", "file:///there/"),
    ("file:///here/My%20docs/d/?q=1#page=3", "file:///there/d/?q=1#page=3"),
    ("file:///here/My%20docs#top", "file:///there#top"),
    ("file:///here//My%20docs//b//c.txt", "file:///there/b/c.txt"),
    ("file:///here/My%20docs//b?//c#//d", "file:///there/b?//c#//d"),
    ("file:///here/My%20docs/%3F.txt", "file:///there/%3F.txt"),
    ("file:///here/My%20docs/a%2Fb.txt", "file:///here/My%20docs/a%2Fb.txt"),
    ("file:///here/My%20docs/inner/x", "file:///b/x"),
    ("file:///here/My%20docs/../x", "file:///here/My%20docs/../x"),
    ("file://host/here/My%20docs/x", "file://host/here/My%20docs/x"),
    ("file:///elsewhere/x", "file:///elsewhere/x"),
    ("https://example.com/here/", "https://example.com/here/"),
  ])
  func `a file: URL arrives as the receiver's own, others unchanged (R5.3)`(sent: String, got: String) throws {
    let value = try #require(try travel([(.string("u"), url(sent))], to: there))
    #expect(value["u"]?.url == got)
  }

  @Test func `R5.3: keys, sets and nested values too, in the order of the new bytes`() throws {
    let (a, z) = (url("file:///here/My%20docs/a"), url("file:///here/My%20docs/inner/z"))
    let value = try #require(
      try travel(
        [
          (a, .integer(1)), (z, .array([.dictionary([(key: z, value: .set([a, z, .integer(3)]))])])),
          (.string("t"), .string("file:///here/My%20docs/a")),
        ], to: there))
    let (a2, z2) = (url("file:///there/a"), url("file:///b/z"))
    let expected = try Value.dictionary([
      (key: a2, value: .integer(1)),
      (key: z2, value: .array([.dictionary([(key: z2, value: .set([a2, z2, .integer(3)]))])])),
      (key: .string("t"), value: .string("file:///here/My%20docs/a")),
    ])
    #expect(value == expected)
  }

  @Test func `R5.3: it travels as container and path under a tag that no value holds`() throws {
    let document = try ActivityDocument.encode(activity([(.string("u"), url("file:///here/My%20docs/a"))]), here)
    #expect(document == self.document("a16175" + Self.tag + "82" + "64646f6373" + "622f61"))
    let reference = Self.bytes(Self.tag + "8264646f6373622f61")
    #expect(throws: SegueError.self) { try Value(cbor: reference) }
    #expect(throws: SegueError.self) { try reference.withUnsafeBytes { try Value(cbor: $0) } }
    // Any well-formed encoding of it is read: lengths that are not the shortest, texts in chunks.
    for text in ["9f64646f6373622f61ff", "98027f63646f63617" + "3ff7f612f6161ff"] {
      let got = try ActivityDocument.decode(
        self.document("a16175" + Self.tag + text), ReferenceReader(there), userInfoLimit: 100)
      #expect(got.userInfo?["u"]?.url == "file:///there/a", "\(text)")
    }
  }

  @Test(arguments: [
    "8264646f6373632e2e2f", "8264646f6373632f2e2e", "8264646f6373672f612f2e2e2f62", "8264646f6373672f253245253245",
    "8264646f6373652f2f657463", "8264646f637361" + "61", "8264646f6373652f61253030", "8264646f6373652f61253246",
    "8264646f6373622f20", "8264646f6373622f25", "8264646f6373632f2530", "8260622f61", "82646461007" + "3622f61",
    "8164646f6373", "8364646f6373622f6100", "82622f61f6", "82f6622f61", "64646f6373", "8264646f6373422f61",
    "a164646f6373622f61", "9f64646f6373622f6100ff",
  ])
  func `R5.3: a reference that leads outside, or is none, is refused`(reference: String) throws {
    for containers in [there, .none] {
      let error = #expect(throws: SegueError.self) {
        try ActivityDocument.decode(
          document("a16175" + Self.tag + reference), ReferenceReader(containers), userInfoLimit: 100)
      }
      #expect(error?.status == .malformed)
    }
  }

  @Test func `R5.3: of a container that the receiver lacks, a URL that is not file:, and reported`() throws {
    let sent = try activity([(.string("u"), url("file:///here/My%20docs/inner/a"))])
    let only = try Self.containers([("docs", "/there")])
    let references = ReferenceReader(only)
    let got = try ActivityDocument.decode(ActivityDocument.encode(sent, here), references, userInfoLimit: 1_000)
    #expect(got.userInfo?["u"]?.url == "segue-container:inner/a" && references.missing == ["inner"])
    #expect(got.problems(at: 0, only).map { "\($0.path) \($0.status)" } == ["user_info/\"u\" notFound"])
    // It travels on, and back to where the container is.
    let again = ReferenceReader(here)
    let back = try ActivityDocument.decode(ActivityDocument.encode(got, only), again, userInfoLimit: 1_000)
    #expect(back.userInfo == sent.userInfo && again.missing.isEmpty)
    #expect(back.problems(at: 0, here).isEmpty && got.problems(at: 0, here).isEmpty)
  }

  @Test func `an identifier of any characters is a part of a URL`() throws {
    let here = try Self.containers([("a/b?c#d%\u{e9} ", "/here")])
    let sent = try activity([(.string("u"), url("file:///here/x"))])
    let got = try ActivityDocument.decode(
      ActivityDocument.encode(sent, here), .none, userInfoLimit: 1_000)
    #expect(got.userInfo?["u"]?.url == "segue-container:a%2Fb%3Fc%23d%25%C3%A9%20/x")
    let back = try ActivityDocument.decode(
      ActivityDocument.encode(got, .none), ReferenceReader(here), userInfoLimit: 1_000)
    #expect(back.userInfo == sent.userInfo)
  }

  @Test func `R5.3: two keys that name one file cannot travel`() throws {
    let twice = try activity([
      (url("file:///here/My%20docs/a"), .null), (url("file:/here/My%20docs/a"), .null),
    ])
    let error = #expect(throws: SegueError.self) { try ActivityDocument.encode(twice, here) }
    #expect(error?.status == .invalidArgument && error?.message.utf8.starts(with: "user_info".utf8) ?? false)
    #expect(twice.problems(at: 0, here).map { "\($0.path) \($0.status)" } == ["user_info invalidArgument"])
  }

  @Test func `R5.3: a key that is another's after rewriting is refused`() throws {
    let sent = try activity([
      (url("file:///here/My%20docs/a"), .null), (url("file:///there/a"), .null),
    ])
    let document = try ActivityDocument.encode(sent, here)
    let error = #expect(throws: SegueError.self) {
      try ActivityDocument.decode(document, ReferenceReader(there), userInfoLimit: 1_000)
    }
    #expect(error?.status == .malformed)
    #expect(
      try ActivityDocument.decode(document, ReferenceReader(here), userInfoLimit: 1_000).userInfo == sent.userInfo)
  }

  @Test func `R5.3: the size is checked after rewriting`() throws {
    let long = try Self.containers([("docs", "/" + String(repeating: "l", count: 4_000))])
    let urls = (0..<5_000).map { url("file:///here/My%20docs/\($0)") }
    let document = try ActivityDocument.encode(activity([(.string("u"), .array(urls))]), here)
    let error = #expect(throws: SegueError.self) {
      try ActivityDocument.decode(document, ReferenceReader(long), userInfoLimit: Limits.value)
    }
    #expect(error?.status == .limitExceeded)
    let few = try ActivityDocument.encode(activity([(.string("u"), urls[0])]), here)
    #expect(throws: SegueError.self) { try ActivityDocument.decode(few, ReferenceReader(long), userInfoLimit: 4_000) }
    #expect(try ActivityDocument.decode(few, ReferenceReader(long), userInfoLimit: 5_000).userInfo != nil)
  }

  @Test func `R5.3: a URL that becomes longer than 8 KiB is refused with the name of its container`() throws {
    func arrives(_ count: Int) throws -> Value? {
      try travel([(.string("u"), url("file:///here/My%20docs/" + String(repeating: "a", count: count)))], to: there)?[
        "u"]
    }
    let most = Limits.url - "file:///there/".utf8.count
    #expect(try arrives(most)?.url.map { $0.utf8.count } == Limits.url)
    let error = #expect(throws: SegueError.self) { _ = try arrives(most + 1) }
    #expect(error?.status == .limitExceeded && error?.message.contains("\"docs\"") ?? false)
    // It is no file of a receiver that lacks the container.
    let name = String(repeating: "a", count: most + 1)
    let value = try travel([(.string("u"), url("file:///here/My%20docs/\(name)"))], to: .none)
    #expect(value?["u"]?.url == "segue-container:docs/\(name)")
  }

  @Test func `R5.3: user_info grows by rewriting up to its limit, at the origin too`() throws {
    let identifier = String(repeating: "i", count: 255)
    let here = try Self.containers([(identifier, "/here")])
    let sent = try activity([(.string("u"), url("file:///here/a"))])
    let size = try #require(sent.userInfo).encoding.count
    func encode(_ limit: Int) throws -> [UInt8] { try ActivityDocument.encode(sent, here, userInfoLimit: limit) }
    let grown = try encode(Limits.value).count - ActivityDocument.encode(sent, .none).count + size
    #expect(try encode(grown).count > 0)
    for limit in [0, size, grown - 1] {
      let error = #expect(throws: SegueError.self) { try encode(limit) }
      #expect(error?.status == .userInfoTooLarge && error?.message.contains("\(grown)") ?? false)
      let problems = sent.problems(at: 0, here, userInfoLimit: limit)
      #expect(problems.map { "\($0.path) \($0.status)" } == ["user_info userInfoTooLarge"])
    }
    #expect(sent.problems(at: 0, here, userInfoLimit: grown).isEmpty)
    // The setter has checked a user_info that does not grow, whatever the limit is now.
    #expect(try ActivityDocument.encode(sent, .none, userInfoLimit: 0).count > 0)
    #expect(throws: SegueError.self) { try ActivityDocument.encodeForSearch(sent, here, userInfoLimit: 0) }
  }

  @Test func `R3.5: whether the document's URL travelled is told`() throws {
    func finds(_ key: String, _ text: String, _ there: Containers) throws -> Bool {
      let document = try ActivityDocument.encode(activity([(.string(key), url(text))]), here)
      return try hasDocument(document, there)
    }
    let key = "NSUserActivityDocumentURLKey"
    #expect(try finds(key, "file:///here/My%20docs/a", there))
    for name in ["C#.txt", "test?file"] {
      #expect(try !finds(key, "file:///here/My%20docs/\(name)", there), "another file would be opened")
    }
    #expect(try !finds(key, "file:///here/My%20docs/a", .none), "its container is not here")
    #expect(try !finds(key, "file:///there/a", there), "it only looks like one of the receiver's")
    #expect(try !finds("other", "file:///here/My%20docs/a", there))
    let nested = try ActivityDocument.encode(
      activity([(.string("n"), .dictionary([(key: .string(key), value: url("file:///here/My%20docs/a"))]))]), here)
    #expect(try !hasDocument(nested, there))
    // A dictionary of another property, beside a URL of the origin's device.
    let reference = Self.tag + "8264646f6373622f61"
    let name = "781c" + Array(key.utf8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let plain = "d820" + "6c" + "66696c653a2f2f2f6574632f".prefix(24)
    let forged =
      Array(self.document("a1" + name + plain).prefix(5)) + [0xa3, 0x61, 0x61]
      + Self.bytes("a1" + name + reference) + self.document("a1" + name + plain).dropFirst(6)
    #expect(try !hasDocument(forged, there))
  }

  @Test func `of many containers that are missing, eight are named`() throws {
    let here = try Self.containers((0..<20).map { ("c\($0)", "/here/\($0)") })
    let urls = (0..<20).flatMap { [url("file:///here/\($0)/a"), url("file:///here/\($0)/b")] }
    let document = try ActivityDocument.encode(activity([(.string("u"), .array(urls))]), here)
    #expect(try read(document, .none).missing == (0..<8).map { "c\($0)" })
  }

  @Test(arguments: [
    "file:/r/%62/i", "file:///r/b#x", "file:///r/c/d/e", "file:///r/c/e", "file:///t/i?x", "file:///r/a",
  ])
  func `R5.3: a URL travels as the same reference each time`(_ url: String) throws {
    var containers = Containers()
    for (name, folder, real) in [("a", "/s", "/r"), ("b", "/t", "/s/b"), ("c", "/s/c", "/x"), ("d", "/y", "/s/c/d")] {
      try containers.add(Container(identifier: name, folder: folder, realFolder: Array(real.utf8)))
    }
    let first = try ActivityDocument.encode(activity([(.string("k"), .url(url))]), containers)
    let there = try ActivityDocument.decode(first, ReferenceReader(containers), userInfoLimit: Limits.value)
    #expect(try ActivityDocument.encode(there, containers) == first)
  }
}
