// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

@testable import SegueWire

/// The other side of a link of ours, which says whatever the input wants, and listens.
struct Peer {
  private var heard = FrameReader()

  /// Something to say: a message, bytes or the end of a channel, or any bytes at all.
  static func words(_ input: inout Input) -> [UInt8] {
    var bytes: [UInt8] = []
    switch input.number(below: 9) {
    case 0: append(.data, input.channel(), Array(input.bytes())[...], to: &bytes)
    case 1:
      let isEnd = input.number(below: 2) == 0
      append(
        isEnd ? .end : .reset, input.channel(), isEnd ? [0, 0, 0, 0, 0, 0, 0, input.byte()] : [], to: &bytes)
    case 2:
      let credit = withUnsafeBytes(of: UInt32(truncatingIfNeeded: input.number()).bigEndian) { Array($0) }
      append(.credit, input.channel(), credit[...], to: &bytes)
    case 3: append(.ack, 0, Identifier(high: input.number(), low: 0).bytes.dropLast(8), to: &bytes)
    case 4: append(.message, 0, Array(input.bytes())[...], to: &bytes)
    case 5: bytes = Array(input.bytes())
    default: bytes = words(input.message())
    }
    return bytes
  }

  static func words(_ message: Message) -> [UInt8] {
    guard let body = try? message.encoded() else { return [] }
    var bytes: [UInt8] = []
    append(hasDescriptor(message) ? .transfer : .message, 0, body[...], to: &bytes)
    return bytes
  }

  private static func hasDescriptor(_ message: Message) -> Bool {
    switch message {
    case .stream, .openLink: true
    default: false
    }
  }

  /// The descriptor that comes with these words, if they begin with a message that has one.
  static func descriptor(of words: [UInt8]) -> PassedDescriptor? {
    words.first == Frame.Kind.transfer.rawValue ? PassedDescriptor() : nil
  }

  private static func append(
    _ kind: Frame.Kind, _ channel: FramedConnection.Channel, _ body: ArraySlice<UInt8>, to bytes: inout [UInt8]
  ) {
    bytes += Frame.bytes(kind, channel: channel, body)
  }

  /// Takes all that a link has to say, which must make sense.
  /// - Returns: the messages in it.
  mutating func hear(_ link: FramedConnection) -> [Message] {
    var messages: [Message] = []
    // The bytes of one write are read before those of the next come.
    while link.takeOutput({ bytes in
      heard.append(Array(bytes), link.outgoingDescriptor)
      messages += read()
      return bytes.count
    }) {}
    return messages
  }

  private mutating func read() -> [Message] {
    var messages: [Message] = []
    do throws(SegueError) {
      while let head = try heard.next() {
        guard head.kind == .message || head.kind == .transfer else { continue }
        guard let message = try heard.withBody(Message.decode) else { fatalError("a message of no kind was sent") }
        messages.append(message)
      }
    } catch {
      fatalError("what was sent cannot be read: \(error.message)")
    }
    return messages
  }
}

extension Frame {
  static func bytes(_ kind: Kind, channel: FramedConnection.Channel, _ body: ArraySlice<UInt8>) -> [UInt8] {
    var queue = ByteQueue()
    body.withUnsafeBytes { append(kind, channel: channel, $0, to: &queue) }
    return queue.withBytes(from: 0) { Array($0) }
  }
}
