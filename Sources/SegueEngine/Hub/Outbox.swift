// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The tasks of a hub for its owner: links to flush, connections to close, descriptors to move.
final class Outbox {
  private var writer = MessageWriter()
  /// Peers whose links have new output.
  private var flushable: [Peer] = []
  private var nextFlushable = 0
  /// Connections to flush and then close.
  private var closable: [HubEngine.PeerNumber] = []
  private var transfers: [DescriptorTransfer] = []

  var isEmpty: Bool { transfers.isEmpty && closable.isEmpty }

  func send(
    _ message: Message, to peer: Peer, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil
  ) throws(SegueError) {
    try writer.send(message, over: peer.link, isUrgent: isUrgent, with: descriptor)
  }

  /// Nil if it would be too long.
  func encoding(of message: Message) -> [UInt8]? { try? writer.encoding(of: message) }

  func flush(_ peer: Peer) {
    guard !peer.isFlushable, peer.link.hasOutput else { return }
    peer.setFlushable(true)
    flushable.append(peer)
  }

  func takeFlushable() -> Peer? {
    guard nextFlushable < flushable.count else { return nil }
    let next = flushable[nextFlushable]
    nextFlushable += 1
    if nextFlushable == flushable.count {
      // Frees the memory of a burst.
      flushable.removeAll(keepingCapacity: nextFlushable <= PeerTable.unidentifiedLimit)
      nextFlushable = 0
    }
    next.setFlushable(false)
    return next
  }

  func close(_ number: HubEngine.PeerNumber) { closable.append(number) }

  func takeClosable() -> [HubEngine.PeerNumber] {
    guard !closable.isEmpty else { return [] }
    defer { closable = [] }
    return closable
  }

  func transfer(_ transfer: DescriptorTransfer) { transfers.append(transfer) }

  /// Drops the descriptor of a link that is not opened yet.
  func removeLink(_ number: UInt64, of app: HubEngine.PeerNumber) {
    transfers.removeAll { transfer in
      if case .link(let request, _) = transfer { request.app == app && request.number == number } else { false }
    }
  }

  func takeTransfers() -> [DescriptorTransfer] {
    guard !transfers.isEmpty else { return [] }
    defer { transfers = [] }
    return transfers
  }
}
