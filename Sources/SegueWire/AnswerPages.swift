// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The pages of a list that the agent gives in several answers (docs/protocol.md). It ends whatever the agent says:
/// each page brings something, numbers are in order, and the whole list has bounds.
public struct AnswerPages {
  /// Tells the agent from which item on it goes on.
  public enum Order: Sendable {
    /// After the item with the highest `number`.
    case rising
    /// After the item with the lowest `number`.
    case falling
    /// After as many items as there were.
    case counted
  }

  private let name: StaticString
  private let order: Order
  private let limit: Int
  /// Whether the requester wants no more than `limit` items; otherwise there are no more.
  private let isCut: Bool
  private var size = 0
  public private(set) var items: [Value] = []
  private var last: Int64?

  /// - Parameters:
  ///   - name: the key of the items.
  ///   - limit: the most items that there may be; cut: that the requester wants.
  public init(_ name: StaticString, _ order: Order, atMost limit: Int, isCut: Bool = false) {
    self.name = name
    self.order = order
    self.limit = limit
    self.isCut = isCut
  }

  /// The value of `after` in the next question; nil for the first page.
  public var after: Value? {
    switch order {
    case .counted: items.isEmpty ? nil : .integer(Int64(items.count))
    case .rising, .falling: last.map { .integer($0) }
    }
  }

  /// The whole list, as one answer has it.
  public func value() throws(SegueError) -> Value {
    try .dictionary([(key: .string(String(joining: "\(name)")), value: try .array(items))])
  }

  /// The number of items that are missing.
  public var missing: Int { limit - items.count }

  /// Adds a page.
  /// - Returns: whether there is a further one to ask for.
  /// Throws MALFORMED if the page leads nowhere, LIMIT_EXCEEDED if the list is larger than a value may be.
  public mutating func add(_ answer: Value) throws(SegueError) -> Bool {
    guard let page = answer[String(joining: "\(name)")]?.elements, let hasMore = answer["more"]?.bool else {
      throw malformed("it has no '\(name)' and 'more'")
    }
    for item in page {
      guard items.count < limit else {
        if isCut { return false }
        throw malformed("there are more than \(limit)")
      }
      if order != .counted { try take(number: item["number"]?.int64) }
      size += item.encoding.count
      guard size <= Limits.value else {
        throw SegueError(.limitExceeded, "the agent's list of \(name): more than \(Limits.value) bytes")
      }
      items.append(item)
    }
    guard hasMore, items.count < limit || !isCut else { return false }
    guard !page.isEmpty else { throw malformed("a page of it is empty, and not the last") }
    return true
  }

  private mutating func take(number: Int64?) throws(SegueError) {
    guard let number else { throw malformed("an item has no number") }
    if let last {
      guard order == .rising ? number > last : number < last else { throw malformed("its numbers are out of order") }
    }
    last = number
  }

  private func malformed(_ problem: DiagnosticText) -> SegueError {
    SegueError(.malformed, "the agent's list of \(name): \(problem)")
  }
}
