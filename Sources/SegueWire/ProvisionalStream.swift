// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Splits what another hub says over a connection that is no link: messages about the account are handled at once, all
/// else is held until the connection becomes a link.
public struct ProvisionalStream {
  /// The most bytes that are held.
  public static let limit = 64 * 1024

  private var reader = FrameReader()
  private var frames: [UInt8] = []

  public init() {}

  /// The frame of a message about the account. Throws LIMIT_EXCEEDED.
  public static func frame(_ message: [UInt8]) throws(SegueError) -> [UInt8] {
    try Message.account(message).encoded().withUnsafeBytes { frame(of: $0) }
  }

  private static func frame(of body: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes = ByteQueue()
    Frame.append(.message, channel: 0, body, to: &bytes)
    return bytes.withBytes(from: 0) { [UInt8]($0) }
  }

  /// Takes bytes that have arrived.
  /// - Returns: the messages about the account that are whole. Throws MALFORMED, LIMIT_EXCEEDED.
  public mutating func receive(_ bytes: consuming [UInt8]) throws(SegueError) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    reader.append(bytes)
    while let head = try reader.next() {
      // Before its session a hub opens no channel.
      guard head.kind == .message else {
        throw SegueError(.malformed, "link: a frame of kind \(head.kind.rawValue) came before there is a session")
      }
      if case .account(let message)? = try reader.withBody({ (body) throws(SegueError) in try Message.decode(body) }) {
        messages.append(message)
      } else {
        frames += reader.withBody { Self.frame(of: $0) }
      }
      guard frames.count <= Self.limit else {
        throw SegueError(.limitExceeded, "link: more than \(Self.limit) bytes came before it is one")
      }
    }
    return messages
  }

  /// Takes the bytes that the hub gets once the connection is a link.
  public mutating func takeHeld() -> [UInt8] {
    defer { frames = [] }
    return frames + reader.takeAll()
  }
}
