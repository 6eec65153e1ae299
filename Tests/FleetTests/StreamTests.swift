// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet

/// Streams of the fleet behave as sockets do, and a broken promise of theirs is found.
@Suite struct StreamTests {
  private let fleet = Fleet(seed: 1)

  private func write(_ count: Int, to socket: FleetSocket) -> Int? {
    [UInt8](repeating: 7, count: count).withUnsafeBytes { socket.write($0) }
  }

  private func read(_ socket: FleetSocket) -> Int? { socket.read(atMost: .max) { _ in } }

  @Test func `what is written comes, as far as there is room, and the end behind it (R7.2)`() {
    let (one, two) = FleetSocket.pair()
    #expect(read(two) == 0 && two.otherEnd == .open)
    #expect(write(100_000, to: one) == 65_536 && write(1, to: one) == 0)
    one.shutDown(reading: false, writing: true)
    #expect(write(1, to: one) == nil && two.otherEnd == .finished)
    #expect(read(two) == 65_536 && read(two) == nil)
    #expect(write(5, to: two) == 5 && read(one) == 5)
    two.shutDown(reading: false, writing: true)
    #expect(one.otherEnd == .closed && read(one) == nil)
  }

  @Test func `who closes leaves what was written, and reads nothing more (R7.3)`() {
    let (one, two) = FleetSocket.pair()
    _ = write(10, to: one)
    one.close()
    #expect(one.isClosed && two.otherEnd == .closed && !two.isClosed)
    #expect(write(1, to: two) == nil && read(two) == 10 && read(two) == nil)
  }

  /// A stream whose other side writes something and then does what is said.
  private func stream(_ end: ScriptedStream.Script.End) throws -> (ScriptedStream, FleetSocket) {
    let (near, far) = FleetSocket.pair()
    let id = try #require(
      (0..<100_000).lazy.map { Identifier(high: $0 &* 0x9e37_79b9_7f4a_7c15, low: 0) }.first {
        let script = ScriptedStream.Script($0, ofRequester: true)
        return script.end == end && (10..<60_000).contains(script.size)
      })
    return (ScriptedStream(id, near, isRequester: false), far)
  }

  @Test func `bytes that were not written so are wrong (R7.2)`() throws {
    let (stream, other) = try stream(.finish)
    let requester = ScriptedStream(stream.id, other, isRequester: true)
    #expect(requester.write() && stream.readAll() == nil && stream.read == stream.expected.size)
    #expect(write(1, to: other) == 1 && stream.readAll() != nil)
    let (again, third) = try self.stream(.finish)
    #expect(write(3, to: third) == 3 && again.readAll() != nil)
  }

  @Test func `an end that comes too soon, or another, is wrong (R7.3)`() throws {
    let (whole, other) = try stream(.finish)
    #expect(whole.end(.ended) != nil && whole.end(.open) != nil && whole.end(.aborted(9)) != nil)
    #expect(ScriptedStream(whole.id, other, isRequester: true).write() && whole.readAll() == nil)
    #expect(whole.end(.ended) == nil && whole.end(.broken) == nil)
    let (aborted, _) = try stream(.abort(1))
    #expect(aborted.end(.aborted(1)) == nil && aborted.end(.aborted(2)) != nil && aborted.end(.ended) != nil)
  }
}
