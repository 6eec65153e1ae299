// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueWire

/// Requests to the agent by name, as far as the library has to know them.
@Suite struct AgentRequestTests {
  private func request(_ name: String, _ options: (key: Value, value: Value)...) -> AgentRequest {
    AgentRequest(name, options)
  }

  @Test func `what may launch a program gets the environment for it`() {
    for name in ["open", "answer-push"] { #expect(request(name).launches, "\(name)") }
    for name in ["inbox", "join", "account", "opens", ""] { #expect(!request(name).launches, "\(name)") }
  }

  @Test func `what has a function of its own is none`() throws {
    for name in ["continue", "push"] {
      let error = try #require(throws: SegueError.self) { try request(name).check() }
      #expect(error.status == .invalidArgument && error.message.contains("segue_app_launch"))
    }
    try request("pushes").check()
  }

  @Test func `a timeout is for what others have to do`() {
    for name in ["open", "join", "await-join"] { #expect(request(name).waits, "\(name)") }
    for name in ["account", "pushes"] {
      #expect(!request(name).waits)
      #expect(request(name, (key: .string("after"), value: .integer(7))).waits)
    }
    #expect(!request("invite").waits)
  }

  @Test func `a list is asked for as a whole`() throws {
    for name in ["inbox", "apps", "search"] {
      #expect(try request(name).list() != nil, "\(name)")
      let more = request(name, (key: .string("after"), value: .integer(1)))
      let error = try #require(throws: SegueError.self) { try more.list() }
      #expect(error.status == .invalidArgument && error.message.contains("'after'"))
    }
    #expect(try request("account", (key: .string("after"), value: .integer(1))).list() == nil)
    #expect(try request("failures").list() == nil)
  }

  @Test func `a search has 1 to 1,000 results, and words or none`() throws {
    for limit: Value in [.integer(0), .integer(1_001), .integer(-1), .string("7"), .null] {
      let error = try #require(throws: SegueError.self) {
        try request("search", (key: .string("limit"), value: limit)).list()
      }
      #expect(error.status == .invalidArgument && error.message.contains("limit"), "\(limit)")
    }
    let search = request("search", (key: .string("limit"), value: .integer(7)))
    #expect(try search.list()?.missing == 7)
    #expect(try request("search").list()?.missing == 1_000)
    let page = AgentRequest("search", search.entries(missing: 3))
    #expect(page.option("limit")?.int64 == 3 && page.option("query")?.string == "")
    #expect(page.option("other") == nil)
    let words = request("search", (key: .string("query"), value: .string("bud*"))).entries(missing: 5)
    #expect(words.count == 2 && AgentRequest("search", words).option("query")?.string == "bud*")
    #expect(request("inbox").entries(missing: 3).isEmpty)
  }
}
