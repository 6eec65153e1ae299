// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The time that the agent waits before it repeats a request that the disk has refused: twice as long each time.
public struct Backoff {
  /// Milliseconds.
  private static let first: Int64 = 1_000
  private static let last: Int64 = 16_000

  private var next = Backoff.first

  public init() {}

  /// Milliseconds until the disk is asked again.
  mutating func take() -> Int64 {
    defer { next = min(2 * next, Self.last) }
    return next
  }

  /// The same after an error; nil if it is no use to ask again, since the store cannot be used at all.
  public mutating func take(after error: SegueError) -> Int64? {
    error.status == .system || error.status == .busy ? take() : nil
  }

  /// The disk has done something.
  public mutating func end() { next = Self.first }
}
