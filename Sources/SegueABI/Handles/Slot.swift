// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Synchronization

/// One entry of the handle table. It never moves, and has a cache line of its own (`size`), so that threads that work
/// on different objects do not disturb each other.
///
/// `state` decides which thread may access the rest. From the top: generation (24 bits), pins (16: calls that are using
/// the object), count (24: handles that are held). While either is above zero the object stays; the thread that brings
/// both to zero clears the slot, alone. Invariant: a count of zero can be neither pinned nor raised.
struct Slot: ~Copyable {
  static let size = 64
  static let lastGeneration: UInt64 = 0xFF_FFFF

  private static let oneCount: UInt64 = 1
  private static let counts: UInt64 = 0xFF_FFFF
  private static let onePin: UInt64 = 1 << 24
  private static let pins: UInt64 = 0xFFFF << 24
  private static let generationShift: UInt64 = 40

  private let state: Atomic<UInt64>
  /// 1 while one call has exclusive use of the object (`take`).
  private let taken: Atomic<UInt8>
  /// The retained object. Written before a ticket is given out and after the last one is gone.
  var object: UnsafeMutableRawPointer?
  /// In a free slot: the index of the next free one, plus one; 0 is the end.
  var nextFree: UInt
  /// A `HandleType`; like `object`.
  var type: UInt8

  /// The result of a step.
  enum Step {
    case done
    /// Done, and the caller must clear the slot.
    case last
    /// Done: the last count is gone, and calls besides the caller's use the object.
    case unheld
    /// The ticket is not, or no longer, valid.
    case invalid
    /// The counter is at its maximum.
    case full
    /// Another call has exclusive use.
    case busy
  }

  var generation: UInt64 { state.load(ordering: .relaxed) >> Self.generationShift }

  /// Makes the slot valid, with one count; `object` and `type` are set.
  func publish(generation: UInt64) {
    state.store(generation << Self.generationShift | Self.oneCount, ordering: .releasing)
  }

  /// Makes the slot invalid for all tickets so far. Only the caller that got `last` may call this.
  func clear(nextGeneration: UInt64) {
    state.store(nextGeneration << Self.generationShift, ordering: .releasing)
  }

  @inline(__always)
  func pin(_ generation: UInt) -> Step {
    var word = state.load(ordering: .relaxed)
    while true {
      guard word >> Self.generationShift == UInt64(generation), word & Self.counts != 0 else { return .invalid }
      guard word & Self.pins != Self.pins else { return .full }
      let (isExchanged, current) = state.weakCompareExchange(
        expected: word, desired: word &+ Self.onePin, successOrdering: .acquiring, failureOrdering: .relaxed)
      if isExchanged { return .done }
      word = current
    }
  }

  @inline(__always)
  func unpin() -> Step {
    let word = state.wrappingSubtract(Self.onePin, ordering: .acquiringAndReleasing).newValue
    return word & (Self.pins | Self.counts) == 0 ? .last : .done
  }

  /// Takes exclusive use of an object that allows one call at a time. Only the holder takes its counts, so it stays
  /// alive without a pin, which would cost a second atomic step.
  @inline(__always)
  func take(_ generation: UInt) -> Step {
    // A stale ticket must not disturb the slot's current object.
    guard isHeld(generation) else { return .invalid }
    guard taken.exchange(1, ordering: .acquiring) == 0 else { return .busy }
    if isHeld(generation) { return .done }
    giveBack()
    return .invalid
  }

  @inline(__always)
  func giveBack() { taken.store(0, ordering: .releasing) }

  @inline(__always)
  private func isHeld(_ generation: UInt) -> Bool {
    let word = state.load(ordering: .acquiring)
    return word >> Self.generationShift == UInt64(generation) && word & Self.counts != 0
  }

  func retain(_ generation: UInt) -> Step {
    var word = state.load(ordering: .relaxed)
    while true {
      guard word >> Self.generationShift == UInt64(generation), word & Self.counts != 0 else { return .invalid }
      guard word & Self.counts != Self.counts else { return .full }
      let (isExchanged, current) = state.weakCompareExchange(
        expected: word, desired: word &+ Self.oneCount, successOrdering: .acquiring, failureOrdering: .relaxed)
      if isExchanged { return .done }
      word = current
    }
  }

  func release(_ generation: UInt) -> Step {
    var word = state.load(ordering: .relaxed)
    while true {
      guard word >> Self.generationShift == UInt64(generation), word & Self.counts != 0 else { return .invalid }
      let desired = word &- Self.oneCount
      let (isExchanged, current) = state.weakCompareExchange(
        expected: word, desired: desired, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
      if isExchanged {
        guard desired & Self.counts == 0 else { return .done }
        return desired & Self.pins == 0 ? .last : desired & Self.pins > Self.onePin ? .unheld : .done
      }
      word = current
    }
  }
}
