import Synchronization

/// One place of the handle table. It never moves, and has a cache line of its own (`size`), so that threads that work
/// on different objects do not disturb each other.
///
/// `state` decides who may touch the rest. From the top: generation (24 bits), pins (16: calls that are using the
/// object), count (24: handles that are held). While either is above zero the object stays; who brings both to
/// zero clears the slot, alone. Nothing can be pinned or counted up from a count of zero.
struct Slot: ~Copyable {
  static let size = 64
  static let lastGeneration: UInt64 = 0xFF_FFFF

  private static let oneCount: UInt64 = 1
  private static let counts: UInt64 = 0xFF_FFFF
  private static let onePin: UInt64 = 1 << 24
  private static let pins: UInt64 = 0xFFFF << 24
  private static let generationShift: UInt64 = 40

  private let state: Atomic<UInt64>
  /// 1 while a call has the object alone (`take`).
  private let taken: Atomic<UInt8>
  /// The retained object. Written before a ticket is given out and after the last one is gone.
  var object: UnsafeMutableRawPointer?
  /// A free slot: the next free one, plus one; 0 is the end.
  var nextFree: UInt
  /// A `HandleType`; like `object`.
  var type: UInt8

  /// What came of a step.
  enum Step {
    case done
    /// Done, and the slot is the caller's alone: to be cleared.
    case last
    /// The ticket is not valid, or no longer.
    case invalid
    /// The field that counts is full.
    case full
    /// Another call has it alone.
    case busy
  }

  var generation: UInt64 { state.load(ordering: .relaxed) >> Self.generationShift }

  /// Makes it valid, with one count; `object` and `type` are set.
  func publish(generation: UInt64) {
    state.store(generation << Self.generationShift | Self.oneCount, ordering: .releasing)
  }

  /// Makes it invalid for all tickets so far. Only by who got `last`.
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

  /// Takes an object that is for one call at a time. Its counts are only taken by who has it, so it stays without a
  /// pin, which would cost two steps that other processors must see; this way it is one.
  @inline(__always)
  func take(_ generation: UInt) -> Step {
    // A stale ticket shall not disturb whose slot it is now.
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
      if isExchanged { return desired & (Self.pins | Self.counts) == 0 ? .last : .done }
      word = current
    }
  }
}
