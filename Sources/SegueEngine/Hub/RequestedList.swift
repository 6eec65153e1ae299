// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The list of a remote hub's offers that this hub has requested last through the chosen route.
struct RequestedList {
  /// Its number. No former list has it, of a remote hub with the same identifier that was removed either: the answer to
  /// that may come yet.
  private(set) var number: UInt64 = 0
  /// Whether it was requested through the route that is chosen now.
  private(set) var isFollowed = false
  /// Whether it has begun: messages of the chosen route answer it.
  private(set) var hasBegun = false
  /// Whether all of its offers have come: one that is not here is not offered there.
  private(set) var isComplete = false

  /// - Parameter hasBegun: the hub itself sends its offers, without a sign that the list begins.
  mutating func request(_ number: UInt64, hasBegun: Bool) {
    self.number = number
    self.hasBegun = hasBegun
    isFollowed = true
    isComplete = false
  }

  /// Another route is chosen, or none.
  mutating func cancel() {
    isFollowed = false
    hasBegun = false
    isComplete = false
  }

  /// A list with that number begins.
  mutating func begin(_ number: UInt64) { if self.number == number { hasBegun = true } }

  /// All of its offers have come.
  mutating func end() { isComplete = true }
}
