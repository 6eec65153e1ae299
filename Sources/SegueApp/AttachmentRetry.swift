// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// When a receiver asks for an attachment again whose stream broke, and for how long (R7.6).
public struct AttachmentRetry {
  /// Milliseconds to look for the origin before anything has arrived: a hub may be gone.
  public static let firstPatience: Int64 = 2_000
  /// Milliseconds for the origin to answer: it may be gone unnoticed.
  public static let answerTime: Int64 = 5_000
  /// Milliseconds between two attempts: initially, and at most.
  public static let pause: (first: Int64, most: Int64) = (50, 1_000)

  /// Milliseconds for which a transfer that has begun is tried again.
  private let resumeTime: Int64
  /// The uptime of the last sign of life of the other side, or of the beginning.
  private var heardAt: Int64
  private var hasBegun = false
  private var pause = Self.pause.first

  public init(at uptime: Int64, resumeTime: Int64) {
    heardAt = uptime
    self.resumeTime = resumeTime
  }

  /// The other side shows life.
  /// - Parameter hasContent: whether some of the attachment has come.
  public mutating func heard(at uptime: Int64, hasContent: Bool) {
    heardAt = uptime
    hasBegun = true
    if hasContent { pause = Self.pause.first }
  }

  /// Milliseconds for the answer of the next attempt.
  public func timeout(at uptime: Int64) -> Int64 { max(1, min(endsAt - uptime, Self.answerTime)) }

  private var endsAt: Int64 { heardAt + (hasBegun ? resumeTime : Self.firstPatience) }

  /// An attempt has failed.
  /// - Returns: milliseconds until the next one. Throws the error to end with.
  public mutating func next(after error: SegueError, at uptime: Int64) throws(SegueError) -> Int64 {
    guard error.status == .connectionUnavailable || error.status == .remoteApplicationTimedOut else { throw error }
    guard uptime + pause < endsAt else { throw Self.broken }
    defer { pause = min(2 * pause, Self.pause.most) }
    return pause
  }

  public static var broken: SegueError {
    SegueError(.connectionUnavailable, "the origin, or the connection to it, has ended")
  }
}
