// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel

/// The rules of the CDDL in docs/protocol.md ("Messages"), as far as that page uses the language.
struct MessageGrammar {
  /// An expression of the CDDL.
  indirect enum Rule {
    case name(String)
    case number(UInt64)
    case choice([Rule])
    case array([Member])
    case group([Member])
  }

  struct Member {
    /// Its name on the page: its own, else that of its rule.
    let name: String?
    let occurrences: ClosedRange<Int>
    let rule: Rule
  }

  private struct Unexpected: Error { let token: String }

  private(set) var rules: [String: Rule] = [:]
  private var tokens: ArraySlice<String> = []

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "../docs/protocol.md"), encoding: .utf8)
    guard let start = page.range(of: "```cddl\nmessage =") else { throw Unexpected(token: "no rule of messages") }
    let block = page[start.lowerBound...].dropFirst("```cddl\n".count).prefix { $0 != "`" }
    let text = block.replacing(/;.*/, with: "").replacing(/\.size (\([^)]*\)|\d+)/, with: "")
    for definition in text.split(separator: /\n(?=[a-z])/) {
      tokens = definition.matches(of: /[a-z][a-z0-9-]*|\d*\*\d*|\d+|[^\s]/).map { String($0.output) }[...]
      let name = next()
      try expect("=")
      rules[name] = try rule()
      guard tokens.isEmpty else { throw Unexpected(token: next()) }
    }
  }

  /// The members of a message after its number.
  func members(of message: String) -> [Member] {
    if case .array(let members)? = rules[message] { Array(members.dropFirst()) } else { [] }
  }

  /// Whether the value has this shape, with no element left over.
  func matches(_ value: Value, _ rule: Rule) -> Bool { match([value], rule) == 1 }

  /// The number of values that the rule matches, from the first one on. Nil: it does not match.
  private func match(_ values: ArraySlice<Value>, _ rule: Rule) -> Int? {
    switch rule {
    case .name("uint"): values.first?.uint64.map { _ in 1 }
    case .name("id"): values.first?.uuid.map { _ in 1 }
    case .name("tstr"): values.first?.string.map { _ in 1 }
    case .name("bstr"): values.first?.data.map { _ in 1 }
    case .name("bool"): values.first?.bool.map { _ in 1 }
    case .name("nil"): values.first?.kind == .null ? 1 : nil
    case .name(let name): rules[name].flatMap { match(values, $0) }
    case .number(let number): values.first?.uint64 == number ? 1 : nil
    case .choice(let rules): rules.lazy.compactMap { match(values, $0) }.first
    case .group(let members): match(values, members)
    case .array(let members):
      values.first?.elements.flatMap { match($0[...], members) == $0.count ? 1 : nil }
    }
  }

  private func match(_ values: ArraySlice<Value>, _ members: [Member]) -> Int? {
    var rest = values
    for member in members {
      var count = 0
      while count < member.occurrences.upperBound, let taken = match(rest, member.rule), taken > 0 {
        rest = rest.dropFirst(taken)
        count += 1
      }
      guard member.occurrences ~= count else { return nil }
    }
    return values.count - rest.count
  }

  // MARK: - Reading the page

  private mutating func next() -> String { tokens.popFirst() ?? "" }

  private mutating func expect(_ token: String) throws {
    let found = next()
    guard found == token else { throw Unexpected(token: found) }
  }

  private mutating func rule() throws -> Rule {
    var choices = [try term()]
    while tokens.first == "/" {
      _ = next()
      choices.append(try term())
    }
    return choices.count == 1 ? choices[0] : .choice(choices)
  }

  private mutating func term() throws -> Rule {
    let token = next()
    if token == "[" { return .array(try members(until: "]")) }
    if token == "(" { return .group(try members(until: ")")) }
    if let number = UInt64(token) { return .number(number) }
    guard token.first?.isLetter == true else { throw Unexpected(token: token) }
    return .name(token)
  }

  private mutating func members(until end: String) throws -> [Member] {
    var members: [Member] = []
    while true {
      members.append(try member())
      let token = next()
      if token == end { return members }
      guard token == "," else { throw Unexpected(token: token) }
    }
  }

  private mutating func member() throws -> Member {
    var occurrences = 1...1
    if tokens.first == "?" {
      _ = next()
      occurrences = 0...1
    } else if let bounds = tokens.first?.split(separator: "*", omittingEmptySubsequences: false), bounds.count == 2 {
      _ = next()
      occurrences = (Int(bounds[0]) ?? 0)...(Int(bounds[1]) ?? .max)
    }
    var name: String?
    if tokens.dropFirst().first == ":" {
      name = next()
      _ = next()
    }
    let rule = try rule()
    if name == nil, case .name(let own) = rule { name = own }
    return Member(name: name, occurrences: occurrences, rule: rule)
  }
}
