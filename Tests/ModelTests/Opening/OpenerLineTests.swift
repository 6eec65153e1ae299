// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

/// The command of an opener (R13.7).
@Suite struct OpenerLineTests {
  private let reading = "SegueActivityTypeReadingDocument"

  private func document(_ values: (String, String)..., type: String? = nil) throws -> OpenedDocument {
    try OpenedDocument(type: type ?? reading, values: values.map { (key: $0.0, text: $0.1) })
  }

  private func arguments(_ elements: String..., of document: OpenedDocument) throws -> [String] {
    try OpenerLine(elements).arguments(for: document)
  }

  private func status(_ body: () throws -> Void) -> Status? {
    do { try body() } catch { return (error as? SegueError)?.status }
    return nil
  }

  @Test func `one element is one argument, whatever stands in the value (R13.7)`() throws {
    let document = try document(("url", "file:///a%20%24%28id%29%3B%22'b"), ("page", "3"))
    #expect(
      try arguments("viewer", "--page=%{page}", "100%%", "%{path}:%{page}", of: document)
        == ["viewer", "--page=3", "100%", "/a $(id);\"'b:3"])
  }

  @Test func `an argument whose key is absent is left out (R13.7)`() throws {
    let document = try document(("url", "file:///a"))
    #expect(try arguments("v", "--page=%{page}", "%{fragment}", "%{path}", of: document) == ["v", "/a"])
  }

  @Test func `a value is not read as a name (R13.7)`() throws {
    let document = try document(("url", "file:///%7bpage%7d%25%7Bpage%7D"), ("page", "3"))
    #expect(try arguments("v", "%{path}", of: document) == ["v", "/{page}%{page}"])
  }

  @Test func `a program is started with the document, or not at all (R13.7)`() throws {
    let page = try document(("url", "https://a.test/"), type: "SegueActivityTypePlayingMedia")
    #expect(try arguments("player", "%{url}", of: page) == ["player", "https://a.test/"])
    #expect(status { _ = try arguments("player", "%{path}", of: page) } == .handoffFailed)
    #expect(status { _ = try arguments("player", "--x", of: page) } == .handoffFailed)
  }

  @Test(arguments: [
    [], [""], ["%{path}"], ["a%{path}"], ["v", "%"], ["v", "%x"], ["v", "%{path"], ["v", "%{}"], ["v", "a\0b"],
    Array(repeating: "v", count: 2000),
  ]) func `a line that is wrong is refused (R13.7)`(elements: [String]) {
    #expect(status { _ = try OpenerLine(elements) } != nil)
  }

  @Test func `a line names keys of its types, and the document (R13.7)`() throws {
    func problem(_ elements: String...) -> Status? { status { try OpenerLine(elements).check(for: [reading]) } }
    #expect(problem("v", "%{path}") == nil && problem("v", "--page=%{page}", "%{url}") == nil)
    #expect(problem("v", "%{line}", "%{path}") == .malformed, "a key of another type")
    #expect(problem("v", "%{page}") == .malformed)
  }
}
