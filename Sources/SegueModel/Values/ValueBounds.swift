/// How large and how deep an encoding may be.
public struct ValueBounds: Sendable {
  /// Bytes.
  let size: Int
  /// Containers around one another.
  let nesting: Int

  /// Of any value that an app has to do with.
  public static let value = ValueBounds(size: Limits.value, nesting: Limits.nesting)
  /// Of a value that holds one of those, as an activity document holds user_info: in a dictionary in an array.
  public static let document = ValueBounds(size: Limits.value + 64 * 1024, nesting: deepest)

  /// Of all.
  static let deepest = Limits.nesting + 2
}
