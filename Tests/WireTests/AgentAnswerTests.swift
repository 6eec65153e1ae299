// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueWire

/// Answers of whatever listens at the second socket: lists that have an end, and dictionaries that have what callers
/// read from them.
@Suite struct AgentAnswerTests {
  typealias Entries = [(String, Value)]

  private func dictionary(_ entries: Entries) throws -> Value {
    try .dictionary(entries.map { (key: .string($0.0), value: $0.1) })
  }

  private func thrown(_ body: () throws -> Void) -> SegueError? {
    do {
      try body()
      return nil
    } catch { return error as? SegueError }
  }

  // MARK: Pages

  private func page(_ numbers: [Int64], more: Bool) throws -> Value {
    let items = try numbers.map { try dictionary([("number", .integer($0))]) }
    return try dictionary([("entries", .array(items)), ("more", .bool(more))])
  }

  @Test func `pages add up, and say where the next one begins`() throws {
    var rising = AnswerPages("entries", .rising, atMost: 10)
    #expect(rising.after == nil)
    #expect(try rising.add(page([1, 5], more: true)) && rising.after == .integer(5))
    #expect(try !rising.add(page([7], more: false)) && rising.items.count == 3)
    var falling = AnswerPages("entries", .falling, atMost: 10)
    #expect(try falling.add(page([9, 8], more: true)) && falling.after == .integer(8))
    #expect(try !falling.add(page([], more: false)))
    var counted = AnswerPages("entries", .counted, atMost: 10)
    #expect(try counted.add(page([1, 1], more: true)) && counted.after == .integer(2))
  }

  @Test func `a list that does not get on, or has no end, is malformed`() throws {
    for (numbers, order) in [([5], AnswerPages.Order.rising), ([4], .rising), ([5], .falling), ([6], .falling)] {
      var pages = AnswerPages("entries", order, atMost: 10)
      #expect(try pages.add(page([5], more: true)))
      let error = thrown { _ = try pages.add(page(numbers.map { Int64($0) }, more: true)) }
      #expect(error?.status == .malformed && error?.message.contains("out of order") == true)
    }
    for order in [AnswerPages.Order.rising, .falling, .counted] {
      var pages = AnswerPages("entries", order, atMost: 10)
      #expect(thrown { _ = try pages.add(page([], more: true)) }?.message.contains("empty, and not the last") == true)
    }
    var many = AnswerPages("entries", .counted, atMost: 3)
    #expect(try many.add(page([1, 2], more: true)))
    #expect(thrown { _ = try many.add(page([3, 4], more: true)) }?.message.contains("more than 3") == true)
    var unnumbered = AnswerPages("entries", .rising, atMost: 3)
    let strange = try dictionary([("entries", .array([.null])), ("more", .bool(true))])
    #expect(thrown { _ = try unnumbered.add(strange) }?.message.contains("has no number") == true)
    #expect(thrown { _ = try unnumbered.add(.emptyDictionary) }?.status == .malformed)
  }

  @Test func `who wants only some gets no more, and asks no further`() throws {
    var pages = AnswerPages("entries", .falling, atMost: 3, isCut: true)
    #expect(pages.missing == 3)
    #expect(try pages.add(page([9, 8], more: true)) && pages.missing == 1)
    #expect(try !pages.add(page([7, 6], more: true)) && pages.items.count == 3)
    var exact = AnswerPages("entries", .falling, atMost: 1, isCut: true)
    #expect(try !exact.add(page([9], more: true)))
  }

  @Test func `a list is no larger than a value`() throws {
    let large = try dictionary([("number", .integer(1)), ("text", .string(String(repeating: "x", count: 1 << 20)))])
    var pages = AnswerPages("entries", .counted, atMost: 1_000)
    let answer = try dictionary([("entries", .array([large])), ("more", .bool(true))])
    let error = thrown { for _ in 0..<17 { _ = try pages.add(answer) } }
    #expect(error?.status == .limitExceeded && pages.items.count < 17)
  }

  // MARK: Contents

  private static let id = Value.uuid(Identifier(bytes: [UInt8](repeating: 7, count: 16))!)
  private static func date() -> Value { try! .date(0) }

  /// A right answer to each question that has one, as segue.h describes it.
  static let answers: [(question: String, entries: Entries)] = {
    let chosen: Entries = [("continuation_id", id), ("bundle_identifier", .string("a")), ("app_name", .string("A"))]
    let report: Entries = chosen + [("outcome", .integer(4)), ("status", .integer(0)), ("message", .string(""))]
    let join: Entries = [
      ("join", .integer(1)), ("digits", .string("1")), ("account_name", .string("a")), ("device_name", .string("d")),
      ("platform", .string("")),
    ]
    func list(_ name: String, _ entries: Entries) -> (String, Value) {
      (name, try! .array([try! .dictionary(entries.map { (key: .string($0.0), value: $0.1) })]))
    }
    let unlisted: Entries = [("device", id), ("fingerprint", .string("f")), ("date", date())]
    let takeOver =
      unlisted + [("name", .string("n")), ("term", .integer(2)), ("digest", .data([UInt8](repeating: 9, count: 32)))]
    let account: Entries = [
      ("change", .integer(1)), ("status", .string("member")), ("settings", .emptyDictionary),
      list("joins", join + [("asks", .bool(true))]),
      list("notices", [("date", date()), ("status", .integer(1)), ("message", .string("m"))]), ("account", id),
      ("account_name", .string("a")), ("device", id), ("manager", .bool(true)), ("port", .integer(0)),
      ("invites", .integer(0)), list("takeovers", takeOver), list("refused", unlisted),
      list(
        "devices",
        [
          ("device", id), ("name", .string("n")), ("platform", .string("")), ("this_device", .bool(true)),
          ("manager", .bool(true)), ("confirmed", .bool(true)), ("linked", .bool(false)), ("joined", date()),
          ("certificate_ends", date()),
        ]),
    ]
    return [
      ("push", chosen), ("continue", report), ("open", report), ("account", account),
      ("invite", [("link", .string("l")), ("expires", date())]),
      (
        "read-invite",
        [("account", id), ("account_name", .string("a")), ("addresses", try! .array([.string("1.2.3.4:5")]))]
      ),
      ("join", join), ("recovery-file", [("file", .data([1]))]), ("forget", [("count", .integer(0))]),
      (
        "failures",
        [
          list(
            "failures",
            [
              ("bundle_identifier", .string("b")), ("app_name", .string("a")), ("type", .string("t")),
              ("status", .integer(20)), ("message", .string("m")), ("date", date()),
            ])
        ]
      ),
      (
        "retained",
        [
          list(
            "retained",
            [
              ("activity_id", id), ("type", .string("t")), ("app_name", .string("a")), ("size", .integer(1)),
              ("attachments", .integer(0)), ("attachment_bytes", .integer(0)), ("received", date()),
            ])
        ]
      ),
      (
        "pushes",
        [
          ("change", .integer(2)),
          list(
            "pushes",
            [
              ("push", id), ("device", id), ("device_name", .string("d")), ("activity_id", id), ("type", .string("t")),
              ("app_name", .string("a")), ("bundle_identifier", .string("b")), ("receiver_name", .string("r")),
              ("received", date()), ("expires", date()),
            ]),
        ]
      ),
      (
        "route",
        [
          list(
            "candidates",
            [
              ("bundle_identifier", .string("b")), ("name", .string("n")), ("running", .bool(true)),
              ("manifest", .bool(true)), ("preference", .string("none")),
              list("against", [("reason", .string("r")), ("message", .string("m"))]),
            ])
        ]
      ),
      (
        "inbox",
        [
          list(
            "entries",
            chosen + [
              ("number", .integer(1)), ("activity_id", id), ("type", .string("t")), ("device_name", .string("d")),
              ("size", .integer(1)), ("attachments", .integer(0)), ("attachments_left", .integer(0)),
              ("delivered", .bool(true)), ("attempts", .integer(0)), ("crashes", .integer(0)), ("held", .bool(false)),
              ("received", date()), ("expires", date()),
            ])
        ]
      ),
      (
        "apps",
        [
          list(
            "apps",
            [
              ("path", .string("/p")), ("bundle_identifier", .string("b")), ("name", .string("n")),
              ("team", .string("")), ("types", try! .array([.string("t")])), ("type_count", .integer(1)),
              ("running", .bool(false)),
            ])
        ]
      ),
      (
        "search",
        [
          list(
            "results",
            [
              ("bundle_identifier", .string("b")), ("app_name", .string("a")), ("activity_id", id),
              ("type", .string("t")), ("saved", date()), ("expires", date()), ("number", .integer(1)),
            ])
        ]
      ),
    ]
  }()

  private func check(_ entries: Entries, _ question: String) -> SegueError? {
    thrown { try AgentAnswer.check(try dictionary(entries), to: question) }
  }

  @Test(arguments: AgentAnswerTests.answers.map { $0.question })
  func `each entry that an answer must have is asked for, in elements of lists, too`(question: String) throws {
    let entries = try #require(Self.answers.first { $0.question == question }).entries
    #expect(check(entries, question) == nil)
    #expect(check(entries + [("new", .null)], question) == nil)
    for index in entries.indices {
      var (missing, strange) = (entries, entries)
      missing.remove(at: index)
      strange[index].1 = .null
      // No account; an agent that is older than these lists.
      let isOptional = question == "account" && ["account", "takeovers", "refused"].contains(entries[index].0)
      for wrong in isOptional ? [strange] : [missing, strange] {
        let error = check(wrong, question)
        #expect(error?.status == .malformed && error?.message.contains("'\(entries[index].0)'") == true)
      }
      guard let element = entries[index].1.elements?.first, let inner = element.entries else { continue }
      for lost in inner.indices {
        var fewer = inner
        fewer.remove(at: lost)
        var wrong = entries
        wrong[index].1 = try .array([try .dictionary(fewer)])
        #expect(check(wrong, question)?.status == .malformed, "\(entries[index].0): \(inner[lost].key)")
      }
      var wrong = entries
      wrong[index].1 = try .array([.null])
      #expect(check(wrong, question)?.status == .malformed)
    }
    #expect(thrown { try AgentAnswer.check(.null, to: question) }?.status == .malformed)
  }

  /// An answer about the account in which one element of a list, or the settings, has another entry.
  private func account(_ list: String, _ key: String, _ value: Value) throws -> SegueError? {
    var entries = try #require(Self.answers.first { $0.question == "account" }).entries
    let index = try #require(entries.firstIndex { $0.0 == list })
    let former = entries[index].1.elements?.first?.entries ?? []
    let element = try Value.dictionary(
      former.filter { $0.key != .string(key) } + [(key: .string(key), value: value)])
    entries[index].1 = list == "settings" ? element : try .array([element])
    return check(entries, "account")
  }

  @Test func `what an account may have is of the right kind, and a digest has 32 bytes`() throws {
    for (list, key, right, wrong) in [
      ("takeovers", "digest", .data([UInt8](repeating: 1, count: 32)), .data([UInt8](repeating: 1, count: 31))),
      ("takeovers", "digest", .data([UInt8](repeating: 2, count: 32)), .data([UInt8](repeating: 1, count: 33))),
      ("takeovers", "term", .integer(3), .unsigned(.max)), ("refused", "name", .string("n"), .null),
      ("devices", "outdated", .bool(true), .integer(1)), ("joins", "clock_here", Self.date(), .integer(1)),
      ("joins", "clock_there", Self.date(), .string("")), ("settings", "port", .integer(4_711), .string("4711")),
      ("settings", "push", .string("ask"), .bool(true)), ("settings", "discovery", .bool(true), .integer(1)),
      ("settings", "private", .bool(true), .null), ("settings", "private_apps", try .array([]), try .array([.null])),
      ("settings", "addresses", try .array([.string("a")]), .string("a")),
      ("settings", "private_types", try .array([.string("t")]), .emptyDictionary), ("settings", "new", .null, .null),
    ] as [(String, String, Value, Value)] {
      #expect(try account(list, key, right) == nil, "\(list): \(key)")
      guard key != "new" else { continue }
      #expect(try account(list, key, wrong)?.message.contains("'\(key)'") == true, "\(list): \(key)")
    }
  }

  @Test(
    arguments: [("account", "takeovers", 4), ("account", "refused", 16), ("account", "notices", 16)] + [
      ("retained", "retained", 64), ("failures", "failures", 16),
    ])
  func `a list has no more elements than segue_h says`(question: String, name: String, most: Int) throws {
    var entries = try #require(Self.answers.first { $0.question == question }).entries
    let index = try #require(entries.firstIndex { $0.0 == name })
    let element = try #require(entries[index].1.elements?.first)
    for (count, isRight) in [(0, true), (most, true), (most + 1, false)] {
      entries[index].1 = try .array([Value](repeating: element, count: count))
      let error = check(entries, question)
      #expect((error == nil) == isRight && error?.message.contains("'\(name)' has more than \(most)") != isRight)
    }
  }

  @Test(arguments: ["push", "continue", "open"])
  func `whether an entry is shared need not be said, and is true or false (R3.8)`(question: String) throws {
    let entries = try #require(AgentAnswerTests.answers.first { $0.question == question }).entries
    for value in [Value.bool(true), .bool(false)] {
      try AgentAnswer.check(try dictionary(entries + [("shared", value)]), to: question)
    }
    try AgentAnswer.check(try dictionary(entries), to: question)
    let error = thrown {
      try AgentAnswer.check(try dictionary(entries + [("shared", .integer(1))]), to: question)
    }
    #expect(error?.status == .malformed && error?.message.contains("shared") == true)
  }

  @Test func `a manifest has texts where it may have some, also beside an error`() throws {
    let usable = try #require(Self.answers.first { $0.question == "apps" }?.entries[0].1.elements?.first?.entries)
    let broken = [(key: Value.string("path"), value: Value.string("/p")), (.string("error"), .string("e"))]
    for app in [usable, broken] {
      for (key, right, wrong) in [
        ("warnings", try .array([.string("w")]), .string("w")), ("warnings", try .array([]), try .array([.null])),
        ("types", try .array([.string("t")]), .integer(1)), ("version", .string("1"), .integer(1)),
        ("no_launch", .string("l"), .bool(true)), ("shadowed_by", .string("/s"), .null),
      ] as [(String, Value, Value)] {
        for (value, isRight) in [(right, true), (wrong, false)] {
          let entries = app.filter { $0.key != .string(key) } + [(key: .string(key), value: value)]
          let error = check([("apps", try .array([try .dictionary(entries)]))], "apps")
          #expect((error == nil) == isRight && (isRight || error?.message.contains("'\(key)'") == true), "\(key)")
        }
      }
    }
  }

  @Test(arguments: [("none", true), ("member", true), ("unusable", true), ("", false), ("owner", false)])
  func `an account has one of three statuses`(status: String, isRight: Bool) throws {
    var entries = try #require(Self.answers.first { $0.question == "account" }).entries
    let index = try #require(entries.firstIndex { $0.0 == "status" })
    entries[index].1 = .string(status)
    #expect((check(entries, "account") == nil) == isRight)
  }

  @Test(arguments: ["continue", "open"])
  func `whether a state is stale need not be said, and why is a text (R2.4)`(question: String) throws {
    let entries = try #require(AgentAnswerTests.answers.first { $0.question == question }).entries
    try AgentAnswer.check(try dictionary(entries + [("stale", .bool(true))]), to: question)
    try AgentAnswer.check(
      try dictionary(entries + [("stale", .bool(true)), ("stale_reason", .string("full"))]), to: question)
    for (name, value) in [("stale", Value.integer(1)), ("stale_reason", .bool(true))] {
      let error = thrown { try AgentAnswer.check(try dictionary(entries + [(name, value)]), to: question) }
      #expect(error?.status == .malformed && error?.message.contains("'\(name)'") == true)
    }
  }

  @Test func `numbers are those that callers can hold`() throws {
    let report = try #require(Self.answers.first { $0.question == "open" }).entries
    for (key, value) in [
      ("outcome", Value.integer(0)), ("outcome", .integer(5)), ("status", .integer(1 << 40)), ("status", .null),
    ] as Entries {
      #expect(check(report.filter { $0.0 != key } + [(key, value)], "open")?.status == .malformed)
    }
    #expect(check([("count", .unsigned(.max))], "forget")?.status == .malformed)
    #expect(check([("aside", .integer(1))], "leave-account")?.status == .malformed)
    #expect(check([], "leave-account") == nil)
    let broken: Entries = [("path", .string("/p")), ("error", .string("e"))]
    let page = [("apps", try Value.array([try dictionary(broken)]))]
    #expect(check(page, "apps") == nil)
    #expect(check([("change", .integer(1)), ("status", .string("none"))], "account")?.status == .malformed)
  }
}
