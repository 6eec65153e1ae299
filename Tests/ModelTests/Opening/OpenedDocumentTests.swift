// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The texts with which a program is started (R13.7): checked by the table of public types, twice.
@Suite struct OpenedDocumentTests {
  private let editing = "SegueActivityTypeEditingText"
  private let media = "SegueActivityTypePlayingMedia"
  private let reading = "SegueActivityTypeReadingDocument"
  private let terminal = "SegueActivityTypeUsingTerminal"

  private func activity(_ type: String, _ info: [(String, Value)], version: UInt32 = 0) throws -> Activity {
    var activity = try Activity(type: type)
    activity.setPayloadVersion(version)
    try activity.setUserInfo(
      try .dictionary(info.map { (key: .string($0.0), value: $0.1) }), limit: Limits.value)
    return activity
  }

  private func opened(_ type: String, _ info: (String, Value)..., leavesText: Bool = false) throws -> OpenedDocument {
    try OpenedDocument(try activity(type, info), leavesText: leavesText)
  }

  private func status(_ body: () throws -> Void) -> Status? {
    do { try body() } catch { return (error as? SegueError)?.status }
    return nil
  }

  private func texts(_ document: OpenedDocument) -> [String] { document.values.map { "\($0.key)=\($0.text)" } }

  @Test func `a file and the place in it become texts (R13.7)`() throws {
    let document = try opened(
      editing, ("url", try .url("file:///tmp/a%20b.md")), ("line", .integer(7)), ("column", .double(3)),
      ("com.example.fold", .integer(1)), ("language", .string("markdown")))
    #expect(texts(document) == ["url=file:///tmp/a%20b.md", "line=7", "column=3", "language=markdown"])
    #expect(document.path == "/tmp/a b.md" && document.text("path") == "/tmp/a b.md")
    #expect(document.text("page") == nil && document.text("com.example.fold") == nil)
  }

  @Test func `a text that says no place begins in its first line (R13.7)`() throws {
    let document = try opened(editing, ("url", .string("file:///a")))
    #expect(document.text("line") == "1" && document.text("column") == "1")
    #expect(try opened(reading, ("url", .string("file:///a"))).text("line") == nil)
  }

  @Test(arguments: [(0.0, "0.000"), (12.5, "12.500"), (0.0004, "0.000"), (3599.9996, "3600.000"), (-0.0, "0.000")])
  func `seconds have three digits behind the point, in any locale`(seconds: Double, text: String) throws {
    let document = try opened(media, ("url", try .url("https://a.test/film")), ("position", .double(seconds)))
    #expect(document.text("position") == text)
    #expect(try OpenedDocument(type: media, values: document.values).text("position") == text)
  }

  @Test(arguments: [
    -1.0, .infinity, .nan, 1e300,
  ]) func `a number that no program could take is left out (R13.3)`(seconds: Double) throws {
    #expect(try opened(media, ("url", try .url("https://a.test/")), ("position", .double(seconds))).values.count == 1)
  }

  @Test func `an entry that the table does not allow is left out (R13.3, R13.7)`() throws {
    let document = try opened(
      editing, ("url", try .url("file:///a")), ("line", .integer(0)), ("column", .string("3")),
      ("language", .string("-x")), ("lineEnding", .string("lfcr")), ("contentType", .string("text plain")),
      ("encoding", .string("a\nb")))
    #expect(texts(document) == ["url=file:///a"])
  }

  @Test(arguments: [
    "https://example.com/a", "file://elsewhere/a", "file:///a/../b", "file:///a%00b", "file:///a%2fb", "file:///%ff",
    "file:///a?b", "javascript:1", "ssh://a/b", "-x", "",
  ]) func `a URL that is no file of this device is opened by no editor (R13.7)`(url: String) throws {
    #expect(status { _ = try opened(editing, ("url", .string(url)), ("line", .integer(1))) } == .handoffFailed)
  }

  @Test(arguments: [
    "https://ada:secret@example.com/a", "http://ada@example.com/", "ftp://example.com/a", "data:text/plain,a",
  ]) func `a medium is a file or a page without a user (R13.2, R13.7)`(url: String) throws {
    #expect(status { _ = try opened(media, ("url", .string(url))) } == .handoffFailed)
  }

  @Test func `text that is in no file stays behind only if its user wants that (R13.7)`() throws {
    let info: [(String, Value)] = [("url", try .url("file:///a")), ("text", .string("unsaved"))]
    let changed = try activity(editing, info)
    #expect(status { _ = try OpenedDocument(changed, leavesText: false) } == .notAllowed)
    #expect(texts(try OpenedDocument(changed, leavesText: true)) == ["url=file:///a"])
    // Without a file there is nothing that a program could open.
    let unnamed = try activity(editing, [("text", .string("unsaved"))])
    #expect(status { _ = try OpenedDocument(unnamed, leavesText: true) } == .handoffFailed)
  }

  @Test func `a folder of another machine, a newer payload and another type are opened by nothing (R13.3, R13.7)`()
    throws
  {
    let folder: (String, Value) = ("url", try .url("file:///home/ada"))
    #expect(try opened(terminal, folder).path == "/home/ada")
    for host in [Value.string("laptop"), .string("build_box"), .string("ada@box"), .integer(42)] {
      #expect(status { _ = try opened(terminal, folder, ("host", host)) } == .handoffFailed)
    }
    let texts = [(key: "url", text: "file:///home/ada"), (key: "host", text: "laptop")]
    #expect(status { _ = try OpenedDocument(type: terminal, values: texts) } == .handoffFailed)
    let newer = try activity(editing, [folder], version: 2)
    #expect(status { _ = try OpenedDocument(newer, leavesText: true) } == .unsupportedVersion)
    #expect(status { _ = try opened("com.example.note", folder) } == .handoffFailed)
  }

  @Test(arguments: [
    [("line", "1")], [("url", "file:///a"), ("line", "-1")], [("url", "file:///a"), ("line", "+1")],
    [("url", "file:///a"), ("line", "99999999999999999999")], [("url", "file:///a"), ("shell", "sh")],
    [("url", "file:///a"), ("language", "--x")], [("url", "https://a.test/")],
    Array(repeating: ("url", "file:///a"), count: 17),
  ]) func `what another process says is checked by the same table (R13.7, A27)`(values: [(String, String)]) {
    #expect(
      status { _ = try OpenedDocument(type: editing, values: values.map { (key: $0.0, text: $0.1) }) } != nil)
  }

  @Test(arguments: ["1", "1.5", ".500", "1.50", "-1.500", "1e3.000", "2.000"])
  func `a part of a page has its bounds as a text, too`(text: String) {
    let values = [(key: "url", text: "file:///a"), (key: "top", text: text)]
    #expect(status { _ = try OpenedDocument(type: reading, values: values) } == .invalidArgument)
  }
}
