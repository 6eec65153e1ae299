// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueModel

/// The callbacks that a scripted app has yet to answer.
struct UnansweredCallbacks {
  private(set) var saves: [(activity: Identifier, save: PendingSave)] = []
  private(set) var continuations: [Continuation] = []
  private(set) var requests: [(request: Request, bytes: [UInt8])] = []

  /// Adds a save of an activity.
  mutating func add(_ save: PendingSave, of activity: Identifier) { saves.append((activity, save)) }

  /// Adds a continuation whose `continue` has run.
  mutating func add(_ continuation: Continuation) { continuations.append(continuation) }

  /// Adds a request with its content.
  mutating func add(_ request: Request, _ bytes: [UInt8]) { requests.append((request, bytes)) }

  /// Removes a continuation that has failed.
  mutating func remove(_ continuation: Continuation) { continuations.removeAll { $0 === continuation } }

  /// Whether a save of the activity is unanswered.
  func hasSave(of activity: Identifier) -> Bool { saves.contains { $0.activity == activity } }

  /// Removes and returns everything.
  mutating func take() -> Self {
    defer { self = Self() }
    return self
  }
}
