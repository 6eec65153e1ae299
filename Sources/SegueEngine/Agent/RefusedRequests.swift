// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Requests that the disk has refused, and that are made again after a pause.
struct RefusedRequests {
  private let limit: Int
  private var all: [(request: InboxRequest, at: Int64)] = []
  private var pause = Backoff()

  /// - Parameter limit: the most requests; others are dropped.
  init(limit: Int) { self.limit = limit }

  /// The uptime at which `takeDue` has a request; nil for none.
  var nextDeadline: Int64? { all.map { $0.at }.min() }

  /// A request was refused. It is dropped if the same one waits already, or if the inbox cannot be used at all.
  mutating func add(_ request: InboxRequest, _ error: SegueError, _ now: Instant) {
    guard all.count < limit, !all.contains(where: { $0.request.asksSame(as: request) }),
      let milliseconds = pause.take(after: error)
    else { return }
    all.append((request, now.uptime + milliseconds))
  }

  /// The disk has accepted a request: the next refusal is followed by the shortest pause.
  mutating func succeeded() { pause.end() }

  /// Returns a request whose pause is over, and removes it; nil for none.
  mutating func takeDue(_ now: Instant) -> InboxRequest? {
    all.firstIndex { $0.at <= now.uptime }.map { all.remove(at: $0).request }
  }
}
