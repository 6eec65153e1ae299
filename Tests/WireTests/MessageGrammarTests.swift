// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueWire

/// The messages have the numbers, elements, types and names that the CDDL of docs/protocol.md gives them.
@Suite struct MessageGrammarTests {
  private let grammar: MessageGrammar

  init() throws { grammar = try MessageGrammar() }

  private func name(of message: Message) -> String { Mirror(reflecting: message).children.first?.label ?? "\(message)" }

  /// A name of the sources as the page writes it.
  private func onPage(_ name: String) -> String {
    let words = name.replacing(/[A-Z]/) { "-" + $0.output.lowercased() }
    return words.hasPrefix("is-") ? String(words.dropFirst(3)) : words
  }

  @Test func `every message has the elements that the page gives it`() throws {
    for message in MessageTests.all {
      let name = onPage(name(of: message))
      let rule = try #require(grammar.rules[name], "\(name)")
      #expect(grammar.matches(try Value(cbor: try message.encoded()), rule), "\(message)")
      #expect(grammar.matches(try Value(cbor: try message.encoded()), .name("message")), "\(message)")
    }
  }

  @Test func `labels in the source are the page's, in the same order`() throws {
    for message in MessageTests.all {
      guard let value = Mirror(reflecting: message).children.first?.value else { continue }
      let values = Mirror(reflecting: value)
      guard values.displayStyle == .tuple else { continue }
      var names = grammar.members(of: onPage(name(of: message))).compactMap(\.name)[...]
      for label in values.children.compactMap(\.label) where !label.hasPrefix(".") {
        let index = try #require(names.firstIndex(of: onPage(label)), "\(message): \(label)")
        names = names[(index + 1)...]
      }
    }
  }

  @Test func `the page, the blank messages and the examples have the same kinds`() throws {
    var kinds: [UInt64: String] = [:]
    for (name, rule) in grammar.rules {
      if case .array(let members) = rule, case .number(let number)? = members.first?.rule { kinds[number] = name }
    }
    #expect(kinds.count > 30)
    for (number, name) in kinds {
      let blank = try #require(Message(blank: number), "\(name)")
      #expect(blank.number == number)
      #expect(onPage(self.name(of: blank)) == name)
    }
    for number in [0, (kinds.keys.max() ?? 0) + 1, .max] { #expect(Message(blank: number) == nil) }
    #expect(Set(MessageTests.all.map { $0.number }) == Set(kinds.keys))
  }
}
