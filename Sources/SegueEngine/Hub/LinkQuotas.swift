// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The quotas of links: a hub serves all apps of its device.
extension HubConnections {
  /// The most links that one process maintains.
  static let linkLimit = 64
  /// The most bytes held by a link without a connection, by those of one principal together, and by all (R7.4).
  static let cutLinkSize = 16 * 1024 * 1024
  static let cutLinksOfAccount = 32 * 1024 * 1024
  static let cutLinksOfHub = 64 * 1024 * 1024
  /// The minimum that each counts as.
  static let cutLinkLeast = 256 * 1024

  /// Why another link is refused, or nil.
  func tooManyLinks(like peer: Peer) -> SegueError? {
    let count = peers.hubs.count { $0.principal == peer.principal && !$0.isSuspended && !$0.isClosing }
    return count <= Self.linkLimit
      ? nil : SegueError(.limitExceeded, "the process has too many links")
  }

  /// Gives up links without a connection until the others are within their quotas: one that holds too much, else the
  /// oldest of the principal whose links hold most. It ends as if its time had passed.
  @inline(never)
  func boundSuspended() {
    while let peer = suspendedTooMuch() {
      disconnect(peer, SegueError(.limitExceeded, "the bytes that wait for broken links exceed their limit"))
    }
  }

  private func suspendedTooMuch() -> Peer? {
    var total = 0
    var most: (size: Int, oldest: Peer)?
    for peer in peers.hubs where isSuspended(peer) {
      let size = suspendedSize(peer)
      if size > Self.cutLinkSize { return peer }
      total += size
      // Once per principal, at its oldest link.
      guard let all = suspendedSize(ofAccountOf: peer), all > most?.size ?? 0 else { continue }
      most = (all, peer)
    }
    guard let most else { return nil }
    return most.size > Self.cutLinksOfAccount || total > Self.cutLinksOfHub ? most.oldest : nil
  }

  private func isSuspended(_ peer: Peer) -> Bool { !peer.isClosing && peer.isSuspended }

  /// The sum over all links of the same principal; nil if this is not the oldest of them.
  private func suspendedSize(ofAccountOf peer: Peer) -> Int? {
    var size = 0
    for other in peers.hubs where other.principal == peer.principal && isSuspended(other) {
      guard other === peer || !isOlder(other, than: peer) else { return nil }
      size += suspendedSize(other)
    }
    return size
  }

  private func isOlder(_ peer: Peer, than other: Peer) -> Bool {
    (peer.hub?.resumeBy ?? 0) < (other.hub?.resumeBy ?? 0)
  }

  private func suspendedSize(_ peer: Peer) -> Int {
    max(Self.cutLinkLeast, peer.link.heldSize)
  }
}
