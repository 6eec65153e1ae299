// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Decides which of two connections between the same two devices stays. Both devices decide alike, without a message.
public enum LinkChoice {
  /// Milliseconds within which two connections count as made at the same time.
  public static let sameTime: Int64 = 3_000

  /// Whether a connection that has just come up replaces the one that there is.
  ///
  /// Two devices that dial each other at the same time keep the connection that the lower of them has dialled. A later
  /// one replaces the earlier: a device dials only if it has no link, so the earlier one is dead.
  /// - Parameters:
  ///   - own: this device.
  ///   - peer: the other.
  ///   - isDialled: whether this device has dialled the new one.
  ///   - wasDialled: whether it has dialled the one that there is.
  ///   - age: milliseconds since that came up.
  public static func replaces(
    own: Identifier, peer: Identifier, isDialled: Bool, wasDialled: Bool, age: Int64
  ) -> Bool {
    guard age < sameTime, isDialled != wasDialled else { return true }
    return isDialled == (own < peer)
  }
}
