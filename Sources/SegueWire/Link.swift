import SegueModel

/// Which end of a link one is: it decides the numbers of the channels that one opens.
public enum LinkSide: Sendable {
  /// Opened the connection: odd channels.
  case connecting
  /// Accepted it: even channels.
  case accepting
}

/// One end of a connection: messages, and channels of bytes with credit, multiplexed into frames.
///
/// Bytes in by `receive`, bytes out by `takeOutput`; what they mean comes out of `nextEvent`. Messages overtake the
/// bytes of channels, and channels take turns. What waits to go out is bounded by the credit of the peer for channels;
/// for messages whoever sends looks at `pendingBytes`.
///
/// A link can outlive its connection (R7.4): from `keep` on it keeps what it sent until the peer has said that it came,
/// so that `resume` can go on over another connection without loss or repetition.
public final class Link {
  public typealias Channel = UInt32

  public enum Event {
    /// `takeMessage` gives it.
    case message
    /// The next of the channel.
    case data(Channel, ArraySlice<UInt8>)
    /// The peer has sent all of the channel, and all has come: so many bytes.
    case end(Channel, UInt64)
    /// The peer gave the channel up, or some of its bytes are missing.
    case reset(Channel)
    /// The peer takes this many more bytes of the channel.
    case room(Channel, Int)
  }

  /// Bytes that are best written at a time: a whole frame.
  public static let pieceSize = Frame.dataLimit
  /// Bytes that a channel may carry before its receiver grants more.
  public static let window = 256 * 1024
  /// Channels that a peer may have open at a time.
  public static let channelLimit = 256

  var input = FrameReader()
  /// Whole frames that go out next, in this order: a few, so that what is urgent does not wait long. Behind those that
  /// went and are kept.
  var output = ByteQueue()
  /// Bytes of `output` that went.
  var sent = 0
  /// Frames of messages and of control that wait for that.
  var waiting = ByteQueue()
  /// Of the messages that wait, in the same order.
  private var descriptors: [PassedDescriptor] = []
  /// Goes with the first byte that `takeOutput` gives next.
  public private(set) var outgoingDescriptor: PassedDescriptor?
  var kept: Kept?
  private var outgoing: [Outgoing] = []
  private var incoming: [Incoming] = []
  var nextChannel: Channel
  private var turn = 0
  /// The highest channel of the peer that a message named: frames of lower ones may still come when we have forgotten it.
  private var highestAccepted: Channel = 0
  private var peerParity: Channel

  /// A channel that we opened and write to.
  private struct Outgoing {
    let channel: Channel
    var credit = Link.window
    var bytes = ByteQueue()
    /// Bytes that were queued so far.
    var total: UInt64 = 0
    /// What the peer is told that these are; nil: more may follow.
    var finalTotal: UInt64?
    var isFinished: Bool { finalTotal != nil }
  }

  /// A channel of the peer that we read.
  private struct Incoming {
    let channel: Channel
    /// Bytes that the peer may still send.
    var credit = Link.window
    /// Bytes that were used up, but not granted again.
    var used = 0
    /// Bytes that have come.
    var total: UInt64 = 0
  }

  public init(side: LinkSide) {
    nextChannel = 1
    peerParity = 0
    take(side)
  }

  /// Before any channel is open.
  public func take(_ side: LinkSide) {
    nextChannel = side == .connecting ? 1 : 2
    peerParity = side == .connecting ? 0 : 1
  }

  // MARK: Sending

  /// Queues a message; it is at most 64 KiB long (its maker knows).
  /// - Parameter isUrgent: before those that wait; for what does not depend on them.
  /// - Parameter descriptor: goes with it, and nothing is urgent about it.
  public func send(_ message: [UInt8], isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil) {
    message.withUnsafeBytes { send($0, isUrgent: isUrgent, with: descriptor) }
  }

  public func send(
    _ message: UnsafeRawBufferPointer, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil
  ) {
    precondition(message.count <= Frame.messageLimit)
    if let descriptor {
      descriptors.append(descriptor)
      Frame.append(.transfer, channel: 0, message, to: &waiting)
    } else if isUrgent {
      Frame.append(.message, channel: 0, message, to: &output)
    } else {
      Frame.append(.message, channel: 0, message, to: &waiting)
    }
  }

  /// A new channel, to be named to the peer in a message that is sent before any byte of it. Only while `openCount` is less than
  /// `channelLimit`.
  public func open() -> Channel {
    let channel = nextChannel
    nextChannel += 2
    outgoing.append(Outgoing(channel: channel))
    return channel
  }

  /// Channels of ours that are open; as many as there may be at most, once the numbers of channels have run out.
  public var openCount: Int { nextChannel < .max - 1 ? outgoing.count : Link.channelLimit }
  /// Whether a channel is open in either direction.
  public var hasChannels: Bool { !outgoing.isEmpty || !incoming.isEmpty }

  /// How many bytes `write` takes now; 0 for a channel that is not open.
  public func room(in channel: Channel) -> Int {
    guard let index = outgoing.firstIndex(where: { $0.channel == channel }), !outgoing[index].isFinished else {
      return 0
    }
    return max(0, outgoing[index].credit - outgoing[index].bytes.count)
  }

  /// Queues bytes of a channel that `body` fills in, `limit` at most, and fewer if it is given less room. A limit of more than
  /// `room(in:)` is a mistake of ours.
  /// - Parameter body: returns how many bytes it filled in.
  /// - Returns: as many; 0 for a channel that is not open.
  @discardableResult public func write(
    to channel: Channel, atMost limit: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Int {
    guard let index = outgoing.firstIndex(where: { $0.channel == channel }) else { return 0 }
    precondition(limit <= room(in: channel))
    guard outgoing[index].bytes.isEmpty, waiting.isEmpty, stagedBytes == 0, mayFill else {
      let count = outgoing[index].bytes.append(atMost: limit, body)
      outgoing[index].total += UInt64(count)
      return count
    }
    // It would be next.
    turn = index + 1
    let count = Frame.appendData(channel: channel, atMost: min(limit, Frame.dataLimit), to: &output, body)
    outgoing[index].credit -= count
    outgoing[index].total += UInt64(count)
    return count
  }

  /// The same of bytes that are there: all of them are queued.
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

  /// No more bytes follow.
  /// - Parameter total: how many there were at their source, of which the peer is told; nil: as many as were written here.
  public func finish(_ channel: Channel, total: UInt64? = nil) {
    guard let index = outgoing.firstIndex(where: { $0.channel == channel }) else { return }
    outgoing[index].finalTotal = total ?? outgoing[index].total
  }

  /// Gives a channel up, ours or the peer's; unsent bytes are dropped. Of one that is closed: nothing.
  public func reset(_ channel: Channel) {
    if let index = outgoing.firstIndex(where: { $0.channel == channel }) {
      outgoing.remove(at: index)
    } else if let index = incoming.firstIndex(where: { $0.channel == channel }) {
      incoming.remove(at: index)
    } else {
      return
    }
    Frame.append(.reset, channel: channel, to: &waiting)
  }

  // MARK: Receiving

  /// Expects the channel that a message of the peer named.
  public func accept(_ channel: Channel) throws(SegueError) {
    guard channel != 0, channel & 1 == peerParity, channel > highestAccepted else {
      throw SegueError(.malformed, "link: channel \(channel) cannot be opened")
    }
    guard incoming.count < Link.channelLimit else { throw SegueError(.malformed, "link: too many channels") }
    highestAccepted = channel
    incoming.append(Incoming(channel: channel))
  }

  /// Bytes of a channel that are used up before the peer hears of it: a small document costs no frame of credit.
  static let grantSize = window - Frame.dataLimit

  /// So many bytes were used up: the peer may send as many more, and hears of it when enough have come together.
  public func grant(_ count: Int, to channel: Channel) {
    guard let index = incoming.firstIndex(where: { $0.channel == channel }), count > 0 else { return }
    incoming[index].used += count
    let used = incoming[index].used
    guard used >= Link.grantSize else { return }
    incoming[index].used = 0
    incoming[index].credit += used
    Frame.append(.credit, channel: channel, UInt32(clamping: used), to: &waiting)
    // It wakes the peer anyway.
    acknowledge()
  }

  /// Bytes from the peer, of one read.
  /// - Parameter descriptor: came with that read.
  public func receive(_ bytes: consuming [UInt8], _ descriptor: PassedDescriptor? = nil) {
    if let received = kept?.received { kept?.received = received + UInt64(bytes.count) }
    input.append(bytes, descriptor)
    acknowledge(atLeast: Link.ackSize)
  }

  /// Bytes that are best read from the connection next.
  public var readSize: Int { input.readSize }

  /// What came, in order. Nil: more bytes are needed. After an error the connection is of no further use.
  public func nextEvent() throws(SegueError) -> Event? {
    while let head = try input.next() {
      if let event = try event(of: head) { return event }
    }
    return nil
  }

  /// Gives the message that has come to `body`, in place, and drops it. To be called before the next event is asked for.
  public func takeMessage<Result>(
    _ body: (UnsafeRawBufferPointer) throws(SegueError) -> Result
  ) throws(SegueError) -> Result {
    defer { input.drop() }
    return try input.withBody(body)
  }

  /// The descriptor that came with the message that has come, once. To be called before `takeMessage`.
  public func takeDescriptor() -> PassedDescriptor? { input.takeDescriptor() }

  private func event(of head: Frame.Head) throws(SegueError) -> Event? {
    switch head.kind {
    case .message, .transfer: return .message
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
      // What was used up is granted again, so it never is more than at first.
      guard !overflow, credit <= Link.window else { throw SegueError(.malformed, "link: credit without bound") }
      outgoing[index].credit = credit
      return .room(head.channel, more)
    }
  }

  private func data(_ body: ArraySlice<UInt8>, of channel: Channel) throws(SegueError) -> Event? {
    guard let index = incoming.firstIndex(where: { $0.channel == channel }) else {
      try checkWasOpen(channel)
      return nil
    }
    guard body.count <= incoming[index].credit else { throw SegueError(.malformed, "link: more bytes than credit") }
    incoming[index].credit -= body.count
    incoming[index].total += UInt64(body.count)
    return .data(channel, body)
  }

  /// - Returns: how many bytes of it have come; nil: it was given up before.
  private func removeIncoming(_ channel: Channel) throws(SegueError) -> UInt64? {
    guard let index = incoming.firstIndex(where: { $0.channel == channel }) else {
      try checkWasOpen(channel)
      return nil
    }
    return incoming.remove(at: index).total
  }

  /// Late frames of a channel that we gave up are fine; of one that never was they are not.
  private func checkWasOpen(_ channel: Channel) throws(SegueError) {
    // The peer's highest may be the highest of all, so nothing is added to it.
    let wasOpen = channel & 1 == peerParity ? channel <= highestAccepted : channel < nextChannel
    guard channel != 0, wasOpen else { throw SegueError(.malformed, "link: no channel \(channel)") }
  }

  // MARK: Output

  public var hasOutput: Bool {
    pendingBytes > 0 || !(kept?.lead.isEmpty ?? true) || (mayFill && outgoing.contains { isReady($0) })
  }

  /// Bytes of messages that wait to be taken.
  public var pendingBytes: Int { stagedBytes + waiting.count }
  /// The same, and those that went, but are kept until the peer says that they came.
  public var heldBytes: Int { output.count + waiting.count }
  private var stagedBytes: Int { output.count - sent }
  /// Bytes of channels that wait for credit or for their turn.
  var channelBytes: Int { outgoing.reduce(0) { $0 + $1.bytes.count } }

  /// Gives the bytes that are next to go out to `body`, which returns how many of them went.
  /// - Returns: false when there is nothing (left), or `body` took less than all.
  public func takeOutput(_ body: (UnsafeRawBufferPointer) -> Int) -> Bool {
    if let lead = kept?.lead, !lead.isEmpty { return takeLead(lead, body) }
    fillOutput()
    guard stagedBytes > 0 else { return false }
    let (taken, isAll) = Self.give(output, from: sent, to: body)
    if taken > 0 { outgoingDescriptor = nil }
    sent += taken
    if kept == nil {
      output.removeFirst(sent)
      sent = 0
    }
    return isAll && hasOutput
  }

  private func takeLead(_ lead: ByteQueue, _ body: (UnsafeRawBufferPointer) -> Int) -> Bool {
    let (taken, isAll) = Self.give(lead, from: 0, to: body)
    kept?.lead.removeFirst(taken)
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

  /// Frames of channels that have something, in turn, until one data frame's worth is waiting.
  private func fillOutput() {
    stageMessages()
    // A message may name a channel, so nothing of channels overtakes one.
    while waiting.isEmpty, stagedBytes < Frame.dataLimit, !outgoing.isEmpty, mayFill {
      guard let ready = outgoing.indices.first(where: { isReady(outgoing[(turn + $0) % outgoing.count]) }) else {
        return
      }
      let index = (turn + ready) % outgoing.count
      turn = index + 1
      appendFrame(of: index, atMost: Frame.dataLimit - stagedBytes)
    }
  }

  /// Whole frames that wait, until so many bytes of them go out next that what is urgent does not wait long. A message with a
  /// descriptor begins what goes out next, and waits for its turn to do so.
  private func stageMessages() {
    guard !waiting.isEmpty, stagedBytes < Frame.stagedSize else { return }
    // As a rule all of it goes.
    var count = descriptors.isEmpty && stagedBytes + waiting.count < Frame.stagedSize ? waiting.count : 0
    while count < waiting.count, stagedBytes + count < Frame.stagedSize {
      if !descriptors.isEmpty, waiting[count] == Frame.Kind.transfer.rawValue {
        guard stagedBytes + count == 0 else { break }
        outgoingDescriptor = descriptors.removeFirst()
      }
      count += Frame.headSize + Int(waiting[count + 1]) << 16 + Int(waiting[count + 2]) << 8 + Int(waiting[count + 3])
    }
    if count == waiting.count, output.isEmpty {
      swap(&output, &waiting)
    } else {
      output.append(waiting, count: count)
      waiting.removeFirst(count)
    }
  }

  private func appendFrame(of index: Int, atMost limit: Int) {
    let channel = outgoing[index].channel
    let most = min(outgoing[index].bytes.count, outgoing[index].credit, limit)
    if most > 0 {
      let size = outgoing[index].bytes.withBytes(from: 0) { bytes in
        let size = min(bytes.count, most)
        Frame.append(.data, channel: channel, UnsafeRawBufferPointer(rebasing: bytes[..<size]), to: &output)
        return size
      }
      outgoing[index].bytes.removeFirst(size)
      outgoing[index].credit -= size
    }
    guard outgoing[index].bytes.isEmpty, outgoing[index].isFinished else { return }
    Frame.append(.end, channel: channel, outgoing[index].finalTotal ?? 0, to: &output)
    outgoing.remove(at: index)
  }
}
