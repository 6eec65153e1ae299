// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// A task that is done again when the system or the disk has refused it, after pauses that grow.
struct Retry {
  private enum State {
    case idle
    case running
    case waiting(until: Int64)
  }

  private var state = State.idle
  private var pause = Backoff()

  /// Whether the task is neither done now nor to be done again.
  var isIdle: Bool { if case .idle = state { true } else { false } }
  /// The uptime at which the task is to be done again; nil: it is not.
  var deadline: Int64? { if case .waiting(let uptime) = state { uptime } else { nil } }
  /// Whether the task is to be done again now.
  func isDue(at uptime: Int64) -> Bool { deadline.map { $0 <= uptime } ?? false }

  /// The task begins.
  mutating func begin() { state = .running }
  /// The task is not wanted.
  mutating func cancel() { state = .idle }

  /// The task is done.
  mutating func succeed() {
    state = .idle
    pause.end()
  }

  /// The task was refused. After an error that lasts it is not done again.
  mutating func fail(_ error: SegueError, at uptime: Int64) {
    state = pause.take(after: error).map { .waiting(until: uptime + $0) } ?? .idle
  }
}
