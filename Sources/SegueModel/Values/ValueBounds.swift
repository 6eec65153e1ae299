// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The largest size and depth that an encoding may have.
public struct ValueBounds: Sendable {
  /// Bytes.
  let size: Int
  /// Levels of nested containers.
  let nesting: Int

  /// Bounds of any value that an app handles.
  public static let value = ValueBounds(size: Limits.value, nesting: Limits.nesting)
  /// Bounds of a value that contains one of those, as an activity document contains user_info: in a dictionary in an
  /// array.
  public static let document = ValueBounds(size: Limits.value + 64 * 1024, nesting: deepest)

  /// The largest of these bounds.
  static let deepest = Limits.nesting + 2
}
