// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Sends messages with one shared buffer.
public struct MessageWriter {
  private var coder = MessageCoder()

  public init() {}

  /// Queues a message on a link. Throws LIMIT_EXCEEDED if the message is too long to be sent.
  /// - Parameter isUrgent: goes before queued messages.
  public mutating func send(
    _ message: Message, over link: FramedConnection, isUrgent: Bool = false, with descriptor: PassedDescriptor? = nil
  ) throws(SegueError) {
    try coder.write(message)
    coder.withWritten { link.send($0, isUrgent: isUrgent, with: descriptor) }
  }

  /// The encoding of a message that is sent more than once.
  public mutating func encoding(of message: Message) throws(SegueError) -> [UInt8] {
    try coder.write(message)
    return coder.withWritten { Array($0) }
  }
}
