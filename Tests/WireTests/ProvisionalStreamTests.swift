// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueWire

/// Bytes over a connection that is no link yet: messages about the account count at once, all else waits (A24).
@Suite struct ProvisionalStreamTests {
  private static func frame(_ kind: Frame.Kind, _ body: [UInt8]) -> [UInt8] {
    var queue = ByteQueue()
    body.withUnsafeBytes { Frame.append(kind, channel: 0, $0, to: &queue) }
    return queue.withBytes(from: 0) { [UInt8]($0) }
  }

  private static func ping(_ number: UInt64) throws -> [UInt8] {
    frame(.message, try Message.ping(number).encoded().withUnsafeBytes { [UInt8]($0) })
  }

  @Test(arguments: [1, 3, 1_000])
  func `A24: messages about the account come out in any pieces, and all else is held once`(
    _ size: Int
  ) throws {
    var stream = ProvisionalStream()
    let told: [[UInt8]] = [[1, 2], [3]]
    let said = try Self.ping(1) + ProvisionalStream.frame(told[0]) + Self.ping(2) + ProvisionalStream.frame(told[1])
    let begun = try Array(Self.ping(3).dropLast())
    var heard: [[UInt8]] = []
    for start in stride(from: 0, to: said.count, by: size) {
      heard += try stream.receive(Array(said[start..<min(start + size, said.count)]))
    }
    #expect(try stream.receive(begun).isEmpty && heard == told)
    #expect(try stream.takeHeld() == Self.ping(1) + Self.ping(2) + begun)
    #expect(stream.takeHeld().isEmpty)
  }

  @Test func `A24: 64 KiB are held, and not one frame more`() throws {
    var stream = ProvisionalStream()
    let frame = try Self.ping(1)
    let most = ProvisionalStream.limit / frame.count
    for _ in 0..<most { #expect(try stream.receive(frame).isEmpty) }
    // A message that is heard at once takes no room.
    #expect(try stream.receive(ProvisionalStream.frame([9])) == [[9]])
    var full = stream
    #expect(throws: SegueError.self) { _ = try full.receive(frame) }
    #expect(stream.takeHeld().count == most * frame.count)
  }

  @Test func `A24: before there is a session nothing but messages comes`() {
    var stream = ProvisionalStream()
    #expect(throws: SegueError.self) { _ = try stream.receive(Self.frame(.data, [1])) }
  }
}
