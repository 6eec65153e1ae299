// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Whether a client at this device can prompt its user about what others push (R3.15): one that waits for a new state,
/// or has just been told of one. A client with a single query, which waits for nothing, does not count.
public struct PromptAvailability {
  /// Milliseconds for one that was told of the state to wait again, before it counts as gone.
  private static let pause: Int64 = 5_000

  private var loggedAt: Int64?

  public init() {}

  /// Somebody was told of the state.
  /// - Parameter hasWaited: for another state than one that it knew.
  public mutating func told(hasWaited: Bool, at uptime: Int64) {
    if hasWaited { loggedAt = uptime }
  }

  /// - Parameter waiting: who waits now.
  public func isAttended(waiting: Int, at uptime: Int64) -> Bool {
    waiting > 0 || loggedAt.map { uptime < $0 + Self.pause } ?? false
  }
}
