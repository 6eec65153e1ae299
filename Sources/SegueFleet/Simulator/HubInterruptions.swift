// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The interruptions of the hubs of a device.
struct HubInterruptions {
  /// Uptime until which something keeps hubs of the device from answering, or apps from finding them.
  private(set) var lastUntil: Int64 = 0
  /// Uptime at which an agent last came, left or died.
  private(set) var agentMovedAt: Int64 = .min

  /// Something keeps hubs from answering until then.
  mutating func add(until uptime: Int64) { lastUntil = max(lastUntil, uptime) }

  /// An agent comes, leaves or dies.
  mutating func agentMoved(at uptime: Int64) { agentMovedAt = uptime }
}
