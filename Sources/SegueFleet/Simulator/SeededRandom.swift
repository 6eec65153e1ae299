// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// SplitMix64: the same numbers for the same seed, everywhere. All randomness of a fleet comes from it.
public struct SeededRandom: Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  @inline(never)
  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }

  /// 0 to `bound` - 1; `bound` is at least 1.
  public mutating func below(_ bound: Int) -> Int {
    Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(clamping: bound)).high)
  }

  /// `least` to `most`; `most` is not below `least`.
  @inline(never)
  public mutating func within(_ least: Int64, _ most: Int64) -> Int64 {
    let span = UInt64(clamping: most - least) + 1
    return least + Int64(clamping: next().multipliedFullWidth(by: span).high)
  }

  /// True with a probability of 0 to 1.
  @inline(never)
  public mutating func chance(_ probability: Double) -> Bool {
    guard probability > 0 else { return false }
    return Double(next() >> 11) * 0x1p-53 < probability
  }

  public mutating func identifier() -> Identifier { Identifier(high: next(), low: next()) }
}
