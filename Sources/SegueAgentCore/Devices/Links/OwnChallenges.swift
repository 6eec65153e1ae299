// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Challenges of this process that the other end has answered under a key of the account, oldest first: a connection
/// that leads back to this process has one of them.
struct OwnChallenges {
  /// The most that are remembered.
  private static let limit = 64

  private var all: [[UInt8]] = []

  mutating func append(_ challenge: [UInt8]) {
    all.append(challenge)
    all.removeFirst(max(0, all.count - Self.limit))
  }

  func contains(_ challenge: [UInt8]) -> Bool { all.contains { $0.elementsEqual(challenge) } }
}
