// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The tokens of clicks, for apps that run and have not got the entries yet. One that is too old has no effect.
struct ActivationTokens {
  private static let limit = 64

  private var all: [(continuation: Identifier, token: String)] = []

  mutating func set(_ token: String, of continuation: Identifier) {
    _ = take(of: continuation)
    if all.count == Self.limit { all.removeFirst() }
    all.append((continuation, token))
  }

  mutating func take(of continuation: Identifier) -> String? {
    all.firstIndex { $0.continuation == continuation }.map { all.remove(at: $0).token }
  }
}
