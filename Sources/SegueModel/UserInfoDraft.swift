// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The user_info that a save fills, while everybody else sees the former one (R4.2).
///
/// Gathers what is added, and merges it only when it is read: so the time for many additions grows with their number.
public struct UserInfoDraft: Sendable {
  private var merged: Value?
  /// Dictionaries that were added since; later ones win (R1.10).
  private var added: [Value] = []
  /// An upper bound of the encoded bytes of all together.
  private var size: Int

  public init(_ userInfo: Value?) {
    merged = userInfo
    size = Self.size(of: userInfo)
  }

  private static func size(of userInfo: Value?) -> Int { Head.longest + (userInfo?.encoding.count ?? 0) }

  /// Adds entries as `Activity.addUserInfoEntries` does, with the same errors.
  /// - Parameter limit: bytes of encoding that are allowed (section 9).
  public mutating func add(_ entries: Value, limit: Int) throws(SegueError) {
    try Activity.checkEntries(entries)
    if size + entries.encoding.count > limit {
      var settled = try userInfo()
      // Without repeated keys it may fit; otherwise the error is the setter's.
      settled = try (settled ?? .emptyDictionary).merging(entries)
      if let settled { try UserInfoSize.check(settled, limit: limit) }
      set(settled)
    } else {
      added.append(entries)
      size += entries.encoding.count
    }
  }

  public mutating func set(_ userInfo: Value?) {
    self = UserInfoDraft(userInfo)
  }

  /// Merges what was added.
  public mutating func userInfo() throws(SegueError) -> Value? {
    if !added.isEmpty { set(try Value.merging([merged ?? .emptyDictionary] + added)) }
    return merged
  }
}
