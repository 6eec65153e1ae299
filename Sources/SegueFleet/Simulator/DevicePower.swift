// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The power of a device of a fleet. Two values that are on are equal if the power was not lost between them.
struct DevicePower: Equatable {
  private(set) var isOn = true
  /// The number of times that it was lost.
  private var losses = 0

  /// Cuts the power.
  mutating func lose() {
    isOn = false
    losses += 1
  }

  /// Restores it.
  mutating func restore() { isOn = true }
}
