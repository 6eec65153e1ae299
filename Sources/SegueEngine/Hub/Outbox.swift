import SegueModel
import SegueWire

/// The tasks of a hub for its owner: links to flush, connections to close, descriptors to move.
struct Outbox {
  private var writer = MessageWriter()
  /// Peers whose links have new output.
  private var flushable: [Peer] = []
  private var nextFlushable = 0
  /// Connections to flush and then close.
  private var closable: [HubEngine.PeerNumber] = []
  private var transfers: [DescriptorTransfer] = []

  var isEmpty: Bool { transfers.isEmpty && closable.isEmpty }

  mutating func send(
    _ message: Message, to peer: Peer, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil
  ) throws(SegueError) {
    try writer.send(message, over: peer.link, isUrgent: isUrgent, with: descriptor)
  }

  /// Nil if it would be too long.
  mutating func encoding(of message: Message) -> [UInt8]? { try? writer.encoding(of: message) }

  mutating func flush(_ peer: Peer) {
    guard !peer.isFlushable, peer.link.hasOutput else { return }
    peer.setFlushable(true)
    flushable.append(peer)
  }

  mutating func takeFlushable() -> Peer? {
    guard nextFlushable < flushable.count else { return nil }
    let next = flushable[nextFlushable]
    nextFlushable += 1
    if nextFlushable == flushable.count {
      // Frees the memory of a burst.
      flushable.removeAll(keepingCapacity: nextFlushable <= HubEngine.unidentifiedLimit)
      nextFlushable = 0
    }
    next.setFlushable(false)
    return next
  }

  mutating func close(_ number: HubEngine.PeerNumber) { closable.append(number) }

  mutating func takeClosable() -> [HubEngine.PeerNumber] {
    guard !closable.isEmpty else { return [] }
    defer { closable = [] }
    return closable
  }

  mutating func transfer(_ transfer: DescriptorTransfer) { transfers.append(transfer) }

  /// Drops the descriptor of a link that is not opened yet.
  mutating func removeLink(_ number: UInt64, of app: HubEngine.PeerNumber) {
    transfers.removeAll { transfer in
      if case .link(let request, _) = transfer { request.app == app && request.number == number } else { false }
    }
  }

  mutating func takeTransfers() -> [DescriptorTransfer] {
    guard !transfers.isEmpty else { return [] }
    defer { transfers = [] }
    return transfers
  }
}
