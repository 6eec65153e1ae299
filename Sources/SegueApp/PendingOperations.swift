// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The pending operations of the host, by the engine's identifier. Guarded by the app's lock.
struct PendingOperations {
  enum Operation {
    case continuation(Continuation)
    case deletion(DeletionCallback)
    case explanation(ExplainCallback)
    case link(LiveLink)
    case request(Request)
    case resumption(ResumeBack)
    case stream(StreamRequestCallback)
  }

  /// Oldest first.
  private var operations: [(id: Identifier, operation: Operation)] = []

  mutating func add(_ id: Identifier, _ operation: Operation) { operations.append((id, operation)) }

  /// - Parameter number: the engine's number. Drawn identifiers are never that small.
  mutating func add(_ number: UInt64, _ operation: Operation) { add(Identifier(high: 0, low: number), operation) }

  subscript(id: Identifier) -> Operation? { operations.first { $0.id == id }?.operation }
  subscript(number: UInt64) -> Operation? { self[Identifier(high: 0, low: number)] }

  @discardableResult
  mutating func remove(_ id: Identifier) -> Operation? {
    operations.firstIndex { $0.id == id }.map { operations.remove(at: $0).operation }
  }

  mutating func remove(_ number: UInt64) -> Operation? { remove(Identifier(high: 0, low: number)) }

  var all: [Operation] { operations.map { $0.operation } }

  func continuation(_ id: Identifier) -> Continuation? {
    if case .continuation(let continuation)? = self[id] { continuation } else { nil }
  }

  /// The attachment's download that waits for a stream; nil if the host waits.
  func download(_ id: Identifier) -> (any AppDownload)? {
    if case .stream(let ask)? = self[id] { ask.download } else { nil }
  }
}
