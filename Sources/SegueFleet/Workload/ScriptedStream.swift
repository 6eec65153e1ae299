// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel

/// One end of a stream between two apps of a workload. The stream's name determines what it writes, and what it has to
/// read.
/// On the stream of an attachment only the origin writes, and then closes.
final class ScriptedStream {
  /// The script of one side.
  struct Script: Equatable {
    enum End: Equatable {
      case finish
      case abort(UInt32)
      /// A bare close.
      case close
    }

    let size: Int
    let end: End

    init(_ id: Identifier, ofRequester: Bool) {
      let bytes = id.bytes[ofRequester ? 0..<2 : 2..<4]
      let (first, second) = (Int(bytes[bytes.startIndex]), UInt32(bytes[bytes.startIndex + 1]))
      size = first % 8 == 0 ? 0 : first % 8 < 7 ? first * 10 : first * 1_500
      end =
        switch second % 8 {
        case 0: .abort(1 + second)
        case 1: .close
        default: .finish
        }
    }

    /// Whether it is more than a socket holds, and no side aborts.
    var isLong: Bool { size > 150_000 && end == .finish }
  }

  let id: Identifier
  let socket: FleetSocket
  let isRequester: Bool
  /// Nil for the stream of an attachment, which no host sees.
  let live: LiveStream?
  let script: Script
  let expected: Script
  private(set) var written = 0
  private(set) var read = 0
  /// Both sides have it.
  var isThere = false
  /// Whether it has done what its script says about the end.
  var hasEnded = false
  /// Whether it has read the end, and asked for the status.
  var hasReadEnd = false
  /// The reported status of the other end.
  var status: StreamStatus?

  /// An app's stream.
  convenience init(_ live: LiveStream, isRequester: Bool) {
    // A scripted app has no others.
    self.init(live.id, unsafeDowncast(live.socket, to: ScriptedStreamEnd.self).socket, live, isRequester: isRequester)
  }

  /// The stream of an attachment.
  convenience init(_ id: Identifier, _ socket: FleetSocket, isRequester: Bool) {
    self.init(id, socket, nil, isRequester: isRequester)
  }

  private init(_ id: Identifier, _ socket: FleetSocket, _ live: LiveStream?, isRequester: Bool) {
    self.id = id
    self.socket = socket
    self.live = live
    self.isRequester = isRequester
    script = Script(id, ofRequester: isRequester)
    expected = Script(id, ofRequester: !isRequester)
  }

  var isAttachment: Bool { live == nil }

  /// Whether it has read everything.
  var isComplete: Bool { read == expected.size }

  /// - Returns: whether everything is written.
  func write() -> Bool {
    while written < script.size {
      let bytes = Self.bytes(written..<min(written + 8_192, script.size), ofRequester: isRequester)
      guard let count = bytes.withUnsafeBytes({ socket.write($0) }) else { return true }
      written += count
      if count < bytes.count { return false }
    }
    return true
  }

  /// - Returns: the violation, or nil.
  func readAll() -> StaticString? {
    var isRight = true
    while true {
      let count = socket.read(atMost: 8_192) { bytes in
        isRight =
          isRight
          && Self.allPieces(read..<read + bytes.count, ofRequester: !isRequester) { offset, piece in
            ByteOrder.isSame(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + piece.count]), piece)
          }
      }
      guard let count else {
        hasReadEnd = true
        break
      }
      if count == 0 { break }
      read += count
    }
    return isRight && read <= expected.size ? nil : "R7.2: a stream gives what was not written"
  }

  /// Whether the other end may have written these bytes first.
  func isStart(_ bytes: [UInt8]) -> Bool {
    bytes.count <= expected.size
      && Self.allPieces(0..<bytes.count, ofRequester: !isRequester) { offset, piece in
        bytes[offset..<offset + piece.count].elementsEqual(piece)
      }
  }

  /// The number of bytes that the other end writes.
  var expectedSize: Int { expected.size }

  /// Handles the reported status of the other end.
  /// - Returns: the violation, or nil.
  func end(_ status: StreamStatus) -> StaticString? {
    self.status = status
    switch status {
    case .ended:
      return expected.end == .finish && isComplete ? nil : "R7.3: a stream ends before all of it has come"
    case .aborted(let code):
      // A side that learns of a broken stream aborts, too.
      if code == 0 || expected.end == .abort(code) { return nil }
      return "R7.3: a stream was aborted with another code"
    case .broken: return nil
    case .open: return "R7.3: a stream has ended, and is open"
    }
  }

  /// Byte n of a side is 167 n, and one more for each 256 bytes before it, and one more for the receiver: a lost or
  /// foreign piece shows. As 167 · 23 is 1 (modulo 256), each 256 bytes are the same ones with another start.
  ///
  /// Passes the bytes of a range to `condition`, piece by piece, each with its offset in the range, while it holds.
  private static func allPieces(
    _ range: Range<Int>, ofRequester: Bool, _ condition: (Int, UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    // 167 n, twice around. Not kept: a fork could find it half made.
    withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { pattern in
      for index in 0..<512 { pattern[index] = UInt8(truncatingIfNeeded: 167 &* index) }
      var next = range.lowerBound
      while next < range.upperBound {
        let first = next & 255 + (23 &* (next >> 8 + (ofRequester ? 1 : 0))) & 255
        let size = min(256 - next & 255, range.upperBound - next)
        let piece = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(pattern)[first..<first + size])
        guard condition(next - range.lowerBound, piece) else { return false }
        next += size
      }
      return true
    }
  }

  private static func bytes(_ range: Range<Int>, ofRequester: Bool) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      let buffer = UnsafeMutableRawBufferPointer(buffer)
      _ = allPieces(range, ofRequester: ofRequester) { offset, piece in
        UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]).copyMemory(from: piece)
        return true
      }
      count = range.count
    }
  }
}
