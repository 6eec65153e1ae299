// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// One end of a connection: messages, and channels of bytes with credit, multiplexed into frames.
///
/// `receive` takes bytes in, `takeOutput` gives bytes out, `nextEvent` gives their meaning. Messages overtake the bytes
/// of channels, and channels take turns. The peer's credit bounds the pending bytes of channels; senders of messages
/// check `pendingBytes`.
///
/// A link can outlive its connection (R7.4): after `enableResumption` it keeps sent bytes until the peer acknowledges
/// them, so that `resume` can continue over another connection without loss or repetition.
public final class FramedConnection {
  public typealias Channel = UInt32

  public enum Event {
    /// A message, which `takeMessage` gives.
    case message
    /// The next bytes of the channel.
    case data(Channel, ArraySlice<UInt8>)
    /// The channel is complete: all bytes have arrived, this many.
    case end(Channel, UInt64)
    /// The peer aborted the channel, or some of its bytes are missing.
    case reset(Channel)
    /// The peer accepts this many more bytes of the channel.
    case credit(Channel, Int)
    /// A frame of a channel through a relay.
    case relay(RelayFrame)
  }

  /// The bytes of a message that cost as much as a frame.
  static let messageUnit = 64
  /// The best size of a write: a frame that fills four records of TLS.
  public static let pieceSize = Frame.dataLimit - Frame.headSize
  /// The initial credit of a channel, in bytes.
  public static let window = 256 * 1024
  /// The most channels that a peer may have open.
  public static let channelLimit = 512

  var input = FrameReader()
  /// The cost of what was received so far, modulo 2^64: a unit for each frame, also for one without a meaning, and for
  /// each 64 bytes of a message, which may hold as many elements. The bytes of channels cost nothing more.
  public private(set) var work: UInt64 = 0
  /// The next whole frames to send, in order, after the sent ones that are kept: only a few, so that urgent messages
  /// are not delayed.
  var sendBuffer = ByteQueue()
  /// The number of sent bytes in `sendBuffer`.
  var sent = 0
  /// Queued frames of messages and of control.
  var queued = ByteQueue()
  private var descriptors = MessageDescriptors()
  var retransmission: RetransmitBuffer?
  private var outgoing: [Outgoing] = []
  private var incoming: IncomingChannels
  var nextChannel: Channel
  private var turn = 0
  /// Frames of channels through relays, which take turns with the other channels.
  var relayed = RelayedQueues()

  /// A channel that this side opened and writes to.
  private struct Outgoing {
    let channel: Channel
    var credit = FramedConnection.window
    var bytes = ByteQueue()
    /// The number of bytes queued so far.
    var total: UInt64 = 0
    /// The total to announce; nil while more may follow.
    var finalTotal: UInt64?
    var isFinished: Bool { finalTotal != nil }
  }

  public init(side: ConnectionSide) {
    nextChannel = FramedConnection.firstChannel(of: side)
    incoming = IncomingChannels(side: side)
  }

  /// Before any channel is open.
  public func take(_ side: ConnectionSide) {
    nextChannel = FramedConnection.firstChannel(of: side)
    incoming = IncomingChannels(side: side)
  }

  private static func firstChannel(of side: ConnectionSide) -> Channel { side == .connecting ? 1 : 2 }

  // MARK: Sending

  /// Queues a message. Invariant: it is at most 64 KiB long.
  /// - Parameter isUrgent: goes before queued messages; only for messages that do not depend on them.
  /// - Parameter descriptor: goes with the message, which must not be urgent.
  public func send(_ message: [UInt8], isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil) {
    message.withUnsafeBytes { send($0, isUrgent: isUrgent, with: descriptor) }
  }

  public func send(
    _ message: UnsafeRawBufferPointer, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil
  ) {
    precondition(message.count <= Frame.messageLimit)
    if let descriptor {
      descriptors.waiting.append(descriptor)
      Frame.append(.transfer, channel: 0, message, to: &queued)
    } else if isUrgent {
      Frame.append(.message, channel: 0, message, to: &sendBuffer)
    } else {
      Frame.append(.message, channel: 0, message, to: &queued)
    }
  }

  /// Opens a channel. A message must name it to the peer before any byte of it is sent. Invariant: `openCount` is less
  /// than `channelLimit`.
  public func open() -> Channel {
    let channel = nextChannel
    nextChannel += 2
    outgoing.append(Outgoing(channel: channel))
    return channel
  }

  /// Channels of ours that are open; as many as there may be at most, once the numbers of channels have run out.
  public var openCount: Int { nextChannel < .max - 1 ? outgoing.count : FramedConnection.channelLimit }
  /// Whether a channel is open in either direction.
  public var hasChannels: Bool { !outgoing.isEmpty || !incoming.isEmpty }

  /// The number of bytes that `write` accepts now; 0 for a channel that is not open.
  public func availableCredit(of channel: Channel) -> Int {
    guard let index = outgoing.firstIndex(where: { $0.channel == channel }), !outgoing[index].isFinished else {
      return 0
    }
    return max(0, outgoing[index].credit - outgoing[index].bytes.count)
  }

  /// Queues bytes of a channel that `body` fills in, at most `limit`, and fewer if its buffer is smaller. Invariant:
  /// `limit` is at most `availableCredit(of:)`.
  /// - Parameter body: returns the number of bytes that it filled in.
  /// - Returns: that number; 0 for a channel that is not open.
  @discardableResult public func write(
    to channel: Channel, atMost limit: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Int {
    guard let index = outgoing.firstIndex(where: { $0.channel == channel }) else { return 0 }
    precondition(limit <= availableCredit(of: channel))
    guard outgoing[index].bytes.isEmpty, queued.isEmpty, stagedBytes == 0, mayFill else {
      let count = outgoing[index].bytes.append(atMost: limit, body)
      outgoing[index].total += UInt64(count)
      return count
    }
    // It would be next.
    turn = index + 1
    let count = Frame.appendData(channel: channel, atMost: min(limit, Frame.dataLimit), to: &sendBuffer, body)
    outgoing[index].credit -= count
    outgoing[index].total += UInt64(count)
    return count
  }

  /// Queues all given bytes.
  public func write(_ bytes: ArraySlice<UInt8>, to channel: Channel) {
    var rest = bytes
    while !rest.isEmpty {
      let count = write(to: channel, atMost: rest.count) { room in
        rest.withUnsafeBytes { rest in
          let count = min(room.count, rest.count)
          room.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
          return count
        }
      }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Ends a channel: no more bytes follow.
  /// - Parameter total: the number of bytes at their source, to announce; nil: as many as were written here.
  public func finish(_ channel: Channel, total: UInt64? = nil) {
    guard let index = outgoing.firstIndex(where: { $0.channel == channel }) else { return }
    outgoing[index].finalTotal = total ?? outgoing[index].total
  }

  /// Aborts a channel of either side and drops unsent bytes. No effect on a closed one.
  public func reset(_ channel: Channel) {
    if let index = outgoing.firstIndex(where: { $0.channel == channel }) {
      outgoing.remove(at: index)
    } else if incoming.remove(channel) == nil {
      return
    }
    Frame.append(.reset, channel: channel, to: &queued)
  }

  // MARK: Receiving

  /// Accepts the channel that a message of the peer has named.
  public func accept(_ channel: Channel) throws(SegueError) { try incoming.accept(channel) }

  /// Consumed bytes of a channel before credit is sent: a small document costs no credit frame, and the peer goes on
  /// sending while credit is on its way. With a quarter of the window, which is a little more, credit for a full frame
  /// would wait for the next one.
  static let grantSize = pieceSize

  /// Grants the peer as many bytes as were consumed, in a credit frame once there are enough.
  public func grant(_ count: Int, to channel: Channel) {
    let granted = incoming.consume(count, of: channel)
    guard granted > 0 else { return }
    Frame.append(.credit, channel: channel, UInt32(clamping: granted), to: &queued)
    // This wakes the peer anyway.
    acknowledge()
  }

  /// Takes in the bytes of one read.
  /// - Parameter descriptor: came with that read.
  public func receive(_ bytes: consuming [UInt8], _ descriptor: PassedDescriptor? = nil) {
    if let received = retransmission?.received { retransmission?.received = received + UInt64(bytes.count) }
    input.append(bytes, descriptor)
    acknowledge(atLeast: FramedConnection.ackSize)
  }

  /// The best size of the next read from the connection.
  public var readSize: Int { input.readSize }

  /// Returns the next event, in order. Nil if more bytes are needed. After an error the connection is unusable.
  public func nextEvent() throws(SegueError) -> Event? {
    while let head = try input.next() {
      work &+= 1
      if let event = try event(of: head) { return event }
    }
    return nil
  }

  /// Passes the received message to `body`, in place, and drops it. Call this before the next `nextEvent`.
  public func takeMessage<Result>(
    _ body: (UnsafeRawBufferPointer) throws(SegueError) -> Result
  ) throws(SegueError) -> Result {
    defer { input.drop() }
    return try input.withBody(body)
  }

  /// Takes the descriptor of the received message, once. Call this before `takeMessage`.
  public func takeDescriptor() -> PassedDescriptor? { input.takeDescriptor() }

  private func event(of head: Frame.Head) throws(SegueError) -> Event? {
    switch head.kind {
    case .message, .transfer:
      work &+= UInt64(head.length / Self.messageUnit)
      return .message
    case .data: return try data(input.takeBody(), of: head.channel)
    case .end:
      let total = input.withBody { Frame.bigEndian($0) }
      guard let came = try removeIncoming(head.channel) else { return nil }
      return came == total ? .end(head.channel, total) : .reset(head.channel)
    case .ack:
      try drop(upTo: input.withBody { Frame.bigEndian($0) })
      return nil
    case .reset:
      if try removeIncoming(head.channel) != nil { return .reset(head.channel) }
      guard let index = outgoing.firstIndex(where: { $0.channel == head.channel }) else { return nil }
      outgoing.remove(at: index)
      return .reset(head.channel)
    case .credit:
      guard let index = outgoing.firstIndex(where: { $0.channel == head.channel }) else { return nil }
      let more = Int(input.withBody { Frame.bigEndian($0) })
      let (credit, overflow) = outgoing[index].credit.addingReportingOverflow(more)
      // Invariant: only consumed bytes are granted again, so credit never exceeds the initial one.
      guard !overflow, credit <= FramedConnection.window else {
        throw SegueError(.malformed, "link: credit without bound")
      }
      outgoing[index].credit = credit
      return .credit(head.channel, more)
    case .relayed, .relayedCredit, .relayedEnd:
      let (body, offset) = (input.takeBody(), input.offset)
      return .relay(RelayFrame(head, body, at: offset))
    }
  }

  private func data(_ body: ArraySlice<UInt8>, of channel: Channel) throws(SegueError) -> Event? {
    if try incoming.receive(body.count, on: channel) { return .data(channel, body) }
    try incoming.checkWasOpen(channel, next: nextChannel)
    return nil
  }

  /// - Returns: the number of its bytes that have arrived; nil if it was aborted before.
  private func removeIncoming(_ channel: Channel) throws(SegueError) -> UInt64? {
    if let total = incoming.remove(channel) { return total }
    try incoming.checkWasOpen(channel, next: nextChannel)
    return nil
  }

  // MARK: Output

  public var hasOutput: Bool {
    pendingBytes > 0 || !(retransmission?.preamble.isEmpty ?? true)
      || (mayFill && (!relayed.isEmpty || hasReadyChannel))
  }

  /// The number of pending bytes of messages.
  public var pendingBytes: Int { stagedBytes + queued.count }
  /// The same plus the sent bytes that are kept until acknowledged.
  public var heldBytes: Int { sendBuffer.count + queued.count }
  var stagedBytes: Int { sendBuffer.count - sent }
  /// Bytes of channels that wait for credit or for their turn.
  var channelBytes: Int { outgoing.reduce(relayed.size) { $0 + $1.bytes.count } }

  /// The descriptor that goes with the next byte of `takeOutput`.
  public var outgoingDescriptor: PassedDescriptor? { descriptors.next }

  /// Passes the next bytes to send to `body`, which returns the number that it has sent.
  /// - Returns: false if there is nothing (left), or `body` sent less than all.
  public func takeOutput(_ body: (UnsafeRawBufferPointer) -> Int) -> Bool {
    if let preamble = retransmission?.preamble, !preamble.isEmpty { return takeLead(preamble, body) }
    fillOutput()
    guard stagedBytes > 0 else { return false }
    let (taken, isAll) = Self.give(sendBuffer, from: sent, to: body)
    if taken > 0 { descriptors.next = nil }
    sent += taken
    if retransmission == nil {
      sendBuffer.removeFirst(sent)
      sent = 0
    }
    return isAll && hasOutput
  }

  private func takeLead(_ preamble: ByteQueue, _ body: (UnsafeRawBufferPointer) -> Int) -> Bool {
    let (taken, isAll) = Self.give(preamble, from: 0, to: body)
    retransmission?.preamble.removeFirst(taken)
    return isAll && hasOutput
  }

  private static func give(
    _ queue: ByteQueue, from start: Int, to body: (UnsafeRawBufferPointer) -> Int
  ) -> (taken: Int, isAll: Bool) {
    queue.withBytes(from: start) { bytes in
      let taken = max(0, min(body(bytes), bytes.count))
      return (taken, taken == bytes.count)
    }
  }

  private func isReady(_ channel: Outgoing) -> Bool {
    channel.bytes.isEmpty ? channel.isFinished : channel.credit > 0
  }
  /// Whether a channel has something to send.
  var hasReadyChannel: Bool { outgoing.contains { isReady($0) } }

  /// Queues frames of channels with data, in turn, until one data frame's worth is queued.
  private func fillOutput() {
    stageMessages()
    // A message may name a channel, so data of channels never overtakes a message.
    while queued.isEmpty, stagedBytes < Frame.dataLimit, mayFill, let index = nextReady {
      turn = index + 1
      if index < outgoing.count {
        appendFrame(of: index, atMost: Frame.dataLimit - stagedBytes)
      } else {
        relayed.moveFrames(of: index - outgoing.count, to: &sendBuffer, atMost: Frame.dataLimit - stagedBytes)
      }
    }
  }

  /// The channel whose turn it is: those of relays follow the others. Nil if none has something to send.
  private var nextReady: Int? {
    let count = outgoing.count + relayed.count
    for number in 0..<count {
      let index = (turn + number) % count
      if index >= outgoing.count || isReady(outgoing[index]) { return index }
    }
    return nil
  }

  /// Moves queued frames to `sendBuffer`, as few as keep urgent messages from being delayed. A message with a
  /// descriptor has to be first there, and waits for that.
  private func stageMessages() {
    guard !queued.isEmpty, stagedBytes < Frame.stagedSize else { return }
    // Usually everything is sent.
    var count = descriptors.waiting.isEmpty && stagedBytes + queued.count < Frame.stagedSize ? queued.count : 0
    while count < queued.count, stagedBytes + count < Frame.stagedSize {
      if !descriptors.waiting.isEmpty, queued[count] == Frame.Kind.transfer.rawValue {
        guard stagedBytes + count == 0 else { break }
        descriptors.next = descriptors.waiting.removeFirst()
      }
      count += Frame.headSize + Int(queued[count + 1]) << 16 + Int(queued[count + 2]) << 8 + Int(queued[count + 3])
    }
    if count == queued.count, sendBuffer.isEmpty {
      swap(&sendBuffer, &queued)
    } else {
      sendBuffer.append(queued, count: count)
      queued.removeFirst(count)
    }
  }

  private func appendFrame(of index: Int, atMost limit: Int) {
    let channel = outgoing[index].channel
    let most = min(outgoing[index].bytes.count, outgoing[index].credit, limit)
    if most > 0 {
      let size = outgoing[index].bytes.withBytes(from: 0) { bytes in
        let size = min(bytes.count, most)
        Frame.append(.data, channel: channel, UnsafeRawBufferPointer(rebasing: bytes[..<size]), to: &sendBuffer)
        return size
      }
      outgoing[index].bytes.removeFirst(size)
      outgoing[index].credit -= size
    }
    guard outgoing[index].bytes.isEmpty, outgoing[index].isFinished else { return }
    Frame.append(.end, channel: channel, outgoing[index].finalTotal ?? 0, to: &sendBuffer)
    outgoing.remove(at: index)
  }
}
