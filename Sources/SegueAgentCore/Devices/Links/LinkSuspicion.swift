// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Whether a link has outlived a change of networks: it has if something arrives on it that was sent afterwards. Bytes
/// that the system had received before, and that were not read yet, say nothing.
public struct LinkSuspicion {
  /// Bytes that had arrived before the change, and are not read yet; nil: the link is not suspected of being dead.
  private var unread: Int?

  public init() {}

  /// The network has changed.
  /// - Parameter unread: bytes that have arrived, and are not read yet.
  public mutating func begin(unread: Int) { self.unread = max(0, unread) }

  /// Bytes were read.
  /// - Returns: whether the link is found to be alive by that.
  public mutating func read(_ count: Int) -> Bool {
    guard let unread else { return false }
    guard count > unread else {
      self.unread = unread - max(0, count)
      return false
    }
    self.unread = nil
    return true
  }
}
