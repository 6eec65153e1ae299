// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

@testable import SegueWire

/// The bytes on the stream of an attachment (R7.6).
@Suite struct AttachmentFormatTests {
  @Test(arguments: [0, 1, 255, 256, 1 << 40, UInt64.max])
  func `the head holds any size (R7.6)`(size: UInt64) {
    let head = AttachmentFormat.head(size: size)
    #expect(head.count == AttachmentFormat.headSize)
    #expect(head.withUnsafeBytes { AttachmentFormat.size(head: $0) } == size)
  }

  @Test(arguments: [0, 1, UInt32(AttachmentFormat.pieceLimit), AttachmentFormat.stillHere])
  func `each piece has its length before it (R7.6)`(length: UInt32) {
    var bytes = [UInt8](repeating: 0xff, count: AttachmentFormat.lengthSize)
    bytes.withUnsafeMutableBytes { AttachmentFormat.write(length: length, to: $0) }
    #expect(bytes.withUnsafeBytes { AttachmentFormat.length($0) } == length)
  }

  @Test(arguments: [0, -1, 1_800_000_000, Int64.min, Int64.max])
  func `what is handed over has its time to the nanosecond (R7.6)`(seconds: Int64) {
    let bytes = AttachmentFormat.handedOver(changedAt: seconds, 999_999_999)
    #expect(bytes.count == AttachmentFormat.lengthSize + AttachmentFormat.timeSize)
    bytes.withUnsafeBytes { bytes in
      #expect(AttachmentFormat.length(UnsafeRawBufferPointer(rebasing: bytes[..<4])) == AttachmentFormat.handedOver)
      let time = AttachmentFormat.time(UnsafeRawBufferPointer(rebasing: bytes[4...]))
      #expect(time == (seconds, 999_999_999))
    }
  }

  @Test(arguments: [AttachmentFormat.Verdict.complete, .changed, .unreadable])
  func `the end is as long with a digest as without (R7.6)`(verdict: AttachmentFormat.Verdict) {
    let digest = [UInt8](repeating: 7, count: 32)
    for given in [[], digest] {
      let end = AttachmentFormat.end(verdict, digest: given)
      #expect(end.prefix(AttachmentFormat.lengthSize).allSatisfy { $0 == 0 })
      #expect(end[AttachmentFormat.lengthSize] == verdict.rawValue)
      #expect(
        Array(end.dropFirst(AttachmentFormat.lengthSize + 1))
          == (given.isEmpty ? [UInt8](repeating: 0, count: 32) : digest))
    }
  }
}
