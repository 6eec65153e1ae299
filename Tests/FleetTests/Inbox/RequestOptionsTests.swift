// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// Requests to the agent with options that they do not have, or without those that they need.
@Suite struct RequestOptionsTests {
  private func request(_ name: String, _ options: [(key: Value, value: Value)]) throws -> Value {
    try .dictionary([(key: .string("ask"), value: .string(name))] + options)
  }

  private func failure(_ body: () throws -> Void) -> SegueError? {
    do {
      try body()
      return nil
    } catch { return error as? SegueError }
  }

  @Test func `an option that is misspelled is refused by name`() throws {
    for name in ["forget", "inbox", "account", "open", "push"] {
      let wrong = try request(name, [(key: .string("bundle_identifer"), value: .string("x"))])
      let error = failure { try RequestOptions.check(wrong, of: name) }
      #expect(error?.status == .invalidArgument && error?.message.contains("'bundle_identifer' of '\(name)'") ?? false)
    }
    let right = try request("forget", [(key: .string("bundle_identifier"), value: .string("x"))])
    #expect(failure { try RequestOptions.check(right, of: "forget") } == nil)
    let number = try request("forget", [(key: .integer(1), value: .string("x"))])
    #expect(failure { try RequestOptions.check(number, of: "forget") }?.message.contains("must be strings") ?? false)
    // The agent answers what it does not know with UNSUPPORTED_VERSION, and settings check themselves.
    for name in ["no-such", "set-devices"] {
      #expect(failure { try RequestOptions.check(wrong(name), of: name) } == nil)
    }
    func wrong(_ name: String) throws -> Value { try request(name, [(key: .string("x"), value: .null)]) }
  }

  @Test func `a timeout of what does not wait is refused as a parameter`() throws {
    let timeout: [(key: Value, value: Value)] = [(key: .string("timeout"), value: .integer(1))]
    let error = failure { try RequestOptions.check(request("invite", timeout), of: "invite") }
    #expect(error?.message.hasPrefix("timeout_ms: ") ?? false)
    #expect(failure { try RequestOptions.check(request("join", timeout), of: "join") } == nil)
  }

  @Test func `what deletes names one thing, or says that it means all`() throws {
    let app: (key: Value, value: Value) = (key: .string("bundle_identifier"), value: .string("x"))
    func all(_ value: Value) -> (key: Value, value: Value) { (key: .string("all"), value: value) }
    for wrong in [[], [all(.bool(false))], [all(.integer(1))], [app, all(.bool(true))], [app, all(.bool(false))]] {
      let error = failure { try RequestOptions.requireOne(request("forget", wrong), "bundle_identifier") }
      #expect(error?.status == .invalidArgument && error?.message.contains("'all'") ?? false, "\(wrong)")
    }
    for right in [[app], [all(.bool(true))]] {
      #expect(failure { try RequestOptions.requireOne(request("forget", right), "bundle_identifier") } == nil)
    }
  }
}
