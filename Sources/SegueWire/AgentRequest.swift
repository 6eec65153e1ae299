// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A request to the agent by its name (segue.h, sections 14 and 15), as an app makes it.
public struct AgentRequest {
  /// Bytes of the encoded options. With the environment they fit into one message.
  public static let sizeLimit = 60 * 1024
  /// The most results of a search.
  private static let resultLimit = 1_000

  public let name: String
  private let options: [(key: Value, value: Value)]

  /// - Parameter options: all but "ask", "timeout" and "environment".
  public init(_ name: String, _ options: [(key: Value, value: Value)]) { (self.name, self.options) = (name, options) }

  public func option(_ key: String) -> Value? { options.first { Text.isSame($0.key.string, key) }?.value }

  private func isAny(of names: [String]) -> Bool { names.contains { Text.isSame(name, $0) } }

  /// Throws INVALID_ARGUMENT for what has a function of its own, which knows more of the offer or activity.
  public func check() throws(SegueError) {
    guard !isAny(of: ["continue", "push"]) else {
      throw SegueError(.invalidArgument, "request: '\(name)' is segue_app_launch or segue_activity_push")
    }
  }

  /// Whether the agent may launch a program for it.
  public var launches: Bool { isAny(of: ["open", "answer-push", "continue-without-text"]) }

  /// Whether others than the agent have to do something before it is answered.
  public var waits: Bool {
    isAny(of: ["open", "continue-without-text", "join", "await-join"]) || option("after") != nil
  }

  /// The list that it asks for, of which one answer has a page. Nil: it asks for something else. Throws
  /// INVALID_ARGUMENT.
  public func list() throws(SegueError) -> AnswerPages? {
    let pages: AnswerPages
    switch true {
    case Text.isSame(name, "inbox"): pages = AnswerPages("entries", .rising, atMost: Limits.inboxEntries)
    case Text.isSame(name, "apps"): pages = AnswerPages("apps", .counted, atMost: Limits.manifestFiles)
    case Text.isSame(name, "search"): pages = AnswerPages("results", .falling, atMost: try limit(), isCut: true)
    default: return nil
    }
    guard option("after") == nil else {
      throw SegueError(.invalidArgument, "options: there is no 'after' of '\(name)', whose answer is the whole list")
    }
    return pages
  }

  private func limit() throws(SegueError) -> Int {
    guard let limit = option("limit") else { return Self.resultLimit }
    guard let number = limit.int64, 1...Int64(Self.resultLimit) ~= number else {
      throw SegueError(.invalidArgument, "limit: must be 1 to \(Self.resultLimit)")
    }
    return Int(number)
  }

  /// The options of a question for a page of a list.
  /// - Parameter missing: how many items the list lacks.
  public func entries(missing: Int) -> [(key: Value, value: Value)] {
    guard Text.isSame(name, "search") else { return options }
    var entries = options.filter { !Text.isSame($0.key.string, "limit") }
    entries.append((key: .string("limit"), value: .integer(Int64(missing))))
    if option("query") == nil { entries.append((key: .string("query"), value: .string(""))) }
    return entries
  }
}
