// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The invites of this device that can still be used. They are in memory only: when the agent ends, all are void.
struct InviteBook {
  private struct Entry {
    let invite: Invite
    /// The identity that a TLS client names; derived once, since anybody may ask.
    let keyIdentity: [UInt8]
    let isAutomatic: Bool
    /// Uptime, in milliseconds.
    let until: Int64
  }

  private var entries: [Entry] = []
  private var tries = SourceRateLimiter(each: Limits.joinTries, all: Limits.joinTriesOfAll)

  /// Throws LIMIT_EXCEEDED.
  mutating func add(_ invite: Invite, isAutomatic: Bool, at now: Instant) throws(SegueError) {
    expire(at: now)
    guard entries.count < Limits.invites else {
      throw SegueError(.limitExceeded, "invite: \(Limits.invites) invites are open; wait ten minutes, or cancel them")
    }
    entries.append(
      Entry(
        invite: invite, keyIdentity: invite.keyIdentity, isAutomatic: isAutomatic,
        until: now.uptime + Limits.inviteLife))
  }

  /// Whether a connection from there may try now. Wrong tries only wait: if they used the invite up, anybody in the
  /// network could void it.
  mutating func mayTry(from source: [UInt8], at now: Instant) -> Bool { tries.take(source, at: now.uptime) }

  /// The invite with this identity of its key; nil if there is none.
  mutating func invite(for keyIdentity: [UInt8], at now: Instant) -> Invite? {
    expire(at: now)
    return entries.first { isSameSecret($0.keyIdentity, keyIdentity) }?.invite
  }

  /// Voids an invite.
  /// - Returns: whether its device joins without being asked for; nil if it was void before.
  mutating func burn(_ invite: Invite, at now: Instant) -> Bool? {
    expire(at: now)
    guard let index = entries.firstIndex(where: { isSameSecret($0.invite.token, invite.token) }) else { return nil }
    return entries.remove(at: index).isAutomatic
  }

  mutating func burnAll() { entries = [] }

  var isEmpty: Bool { entries.isEmpty }
  var invites: [Invite] { entries.map { $0.invite } }

  /// When the next invite ends by itself; nil without invites.
  var deadline: Int64? { entries.map { $0.until }.min() }

  mutating func expire(at now: Instant) { entries.removeAll { $0.until <= now.uptime } }
}
