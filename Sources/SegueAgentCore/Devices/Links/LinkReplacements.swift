// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Limits how often connections of one device take the place of each other. A device that is cut off and comes back
/// does so now and then. Two machines with one state folder would do so without end: each dials again when it has lost
/// it. So a connection that leads to the same hub as the one before it does not count: a process has its own.
public struct LinkReplacements {
  /// The most in `time` milliseconds.
  public static let limit = 6
  public static let time: Int64 = 60_000
  /// Milliseconds without a try, after which a link can be replaced again.
  public static let rest: Int64 = 300_000

  private struct Tries {
    let device: Identifier
    /// Uptimes, oldest first.
    var recent: [Int64] = []
    var lastAt: Int64
    var isOver = false
    /// At the other end of the link that was replaced last, until it is known which hub has taken its place.
    var hub: Identifier?
  }

  /// The tries of the last devices, at most `Limits.devices`.
  private var all: [Tries] = []

  public init() {}

  /// Whether a connection of a device may take the place of the one that there is and seems to be alive. False: too
  /// many did; the link that there is stays until it ends, or until nothing was tried for `rest`.
  /// - Parameter hub: at the other end of the link that there is; nil if it has not said so.
  public mutating func take(_ device: Identifier, hub: Identifier? = nil, _ uptime: Int64) -> Bool {
    var tries = Tries(device: device, lastAt: uptime)
    if let index = all.firstIndex(where: { $0.device == device }) { tries = all.remove(at: index) }
    if uptime - tries.lastAt >= Self.rest { tries.isOver = false }
    tries.lastAt = uptime
    tries.recent.removeAll { uptime - $0 >= Self.time }
    if let hub, let former = tries.hub {
      // The last one has led from a process to itself.
      if hub == former { _ = tries.recent.popLast() }
      tries.hub = nil
    }
    if tries.recent.count >= Self.limit { tries.isOver = true }
    if !tries.isOver {
      tries.recent.append(uptime)
      tries.hub = hub
    }
    all.append(tries)
    all.removeFirst(max(0, all.count - Limits.devices))
    return !tries.isOver
  }
}
