// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A frame of a channel that a device passes on between two others (R14.3). Offsets count the bytes of one direction,
/// from 0. What a channel is, and who has it, the agents agree in messages about the account.
public enum RelayFrame {
  /// Bytes, the first of which has this offset; 1 to `dataLimit`.
  case bytes(channel: UInt32, offset: UInt64, ArraySlice<UInt8>)
  /// All bytes before the first offset are consumed, and those before the second one may be sent.
  case credit(channel: UInt32, consumed: UInt64, limit: UInt64)
  /// The channel has ended, for this reason.
  case end(channel: UInt32, reason: UInt8)

  /// The most bytes of one frame.
  public static let dataLimit = Frame.dataLimit - headSize
  /// The best size of a piece: with it a frame fills four records of TLS.
  public static let pieceSize = dataLimit - Frame.headSize
  /// The bytes as which a frame counts besides those in it.
  public static let leastCost = 64
  /// Bytes of an offset.
  static let headSize = 8

  /// - Parameters:
  ///   - body: of the size that the kind has; of bytes without their offset.
  ///   - offset: of these bytes.
  init(_ head: Frame.Head, _ body: ArraySlice<UInt8>, at offset: UInt64) {
    func number(at place: Int) -> UInt64 {
      body.withUnsafeBytes { Frame.bigEndian(UnsafeRawBufferPointer(rebasing: $0[place..<place + Self.headSize])) }
    }
    switch head.kind {
    case .relayedCredit:
      self = .credit(channel: head.channel, consumed: number(at: 0), limit: number(at: Self.headSize))
    case .relayedEnd: self = .end(channel: head.channel, reason: body.first ?? 0)
    default: self = .bytes(channel: head.channel, offset: offset, body)
    }
  }
}

/// Frames of channels through relays that wait for their turn, in the order of their channels' first ones.
struct RelayedQueues {
  private var queues: [(channel: UInt32, frames: ByteQueue)] = []

  var count: Int { queues.count }
  var isEmpty: Bool { queues.isEmpty }
  /// The bytes of all of them.
  var size: Int { queues.reduce(0) { $0 + $1.frames.count } }

  func has(_ channel: UInt32) -> Bool { queues.contains { $0.channel == channel } }

  /// Queues a frame behind those of its channel.
  mutating func append(to channel: UInt32, _ body: (inout ByteQueue) -> Void) {
    if let index = queues.firstIndex(where: { $0.channel == channel }) { return body(&queues[index].frames) }
    var frames = ByteQueue()
    body(&frames)
    queues.append((channel, frames))
  }

  /// Moves whole frames of a channel: one, and as many more as are within the limit.
  mutating func moveFrames(of index: Int, to output: inout ByteQueue, atMost limit: Int) {
    let count = queues[index].frames.framesSize(atMost: limit)
    output.append(queues[index].frames, count: count)
    queues[index].frames.removeFirst(count)
    if queues[index].frames.isEmpty { queues.remove(at: index) }
  }
}

extension ByteQueue {
  /// The size of the first frame, and of those after it that are within the limit.
  fileprivate func framesSize(atMost limit: Int) -> Int {
    var size = 0
    while size < count {
      let length = Int(self[size + 1]) << 16 + Int(self[size + 2]) << 8 + Int(self[size + 3])
      guard size == 0 || size + Frame.headSize + length <= limit else { break }
      size += Frame.headSize + length
    }
    return size
  }
}

extension FramedConnection {
  /// Sends a frame of a channel through a relay: bytes in turn with those of other channels, and behind messages.
  public func send(_ frame: RelayFrame) {
    switch frame {
    case .bytes(let channel, let offset, let bytes):
      let size = Frame.headSize + RelayFrame.headSize + bytes.count
      // Nothing comes before it: copied once.
      if relayed.isEmpty, queued.isEmpty, mayFill, stagedBytes + size <= Frame.size, !hasReadyChannel {
        return Frame.append(bytes, at: offset, of: channel, to: &sendBuffer)
      }
      relayed.append(to: channel) { Frame.append(bytes, at: offset, of: channel, to: &$0) }
    case .credit(let channel, let consumed, let limit):
      // This wakes the peer anyway; and who passes bytes on keeps them until they are acknowledged.
      acknowledge()
      let numbers = (consumed.bigEndian, limit.bigEndian)
      withUnsafeBytes(of: numbers) { Frame.append(.relayedCredit, channel: channel, $0, to: &queued) }
    case .end(let channel, let reason):
      withUnsafeBytes(of: reason) { body in
        if relayed.has(channel) {
          relayed.append(to: channel) { Frame.append(.relayedEnd, channel: channel, body, to: &$0) }
        } else {
          Frame.append(.relayedEnd, channel: channel, body, to: &queued)
        }
      }
    }
  }

  /// Bytes of channels through relays that wait for their turn.
  public var relayedBytes: Int { relayed.size }
}
