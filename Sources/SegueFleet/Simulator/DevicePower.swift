// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The power of a device of a fleet. It is the same power as before if it was not lost meanwhile.
struct DevicePower: Equatable {
  private(set) var isOn = true
  /// The number of times that it was lost.
  private var losses = 0

  /// Cuts it.
  mutating func lose() {
    isOn = false
    losses += 1
  }

  /// Restores it.
  mutating func restore() { isOn = true }
}
