// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

@testable import SegueWire

/// Any bytes, in any pieces, as frames: the pieces make no difference, and frames are what they are made of.
func fuzzFrames(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  let cuts = input.bytes(atMost: 32)
  let stream = input.rest()
  let whole = read(stream, cuts: UnsafeRawBufferPointer(start: nil, count: 0))
  require(whole == read(stream, cuts: cuts), "pieces make a difference")
}

/// The frames that were read, as they would be sent. Bodies of data frames and relayed frames arrive in parts: a part
/// has a head only where its channel or offset does not continue the part before.
private struct Outcome: Equatable {
  var bytes: [UInt8] = []
  var error: SegueError?
}

/// - Parameter cuts: how long the pieces are, again and again.
private func read(_ stream: UnsafeRawBufferPointer, cuts: UnsafeRawBufferPointer) -> Outcome {
  var reader = FrameReader()
  var outcome = Outcome()
  var former: (kind: Frame.Kind, channel: UInt32, end: UInt64) = (.message, 0, 0)
  var offset = 0
  var turn = 0
  var size = 0
  repeat {
    let count = cuts.isEmpty ? stream.count : max(1, Int(cuts[turn % cuts.count]))
    let piece = stream[offset..<min(stream.count, offset + count)]
    turn += 1
    offset += piece.count
    reader.append(Array(piece))
    do throws(SegueError) {
      while let head = try reader.next() {
        let body = reader.withBody { Array($0) }
        require(body.count == head.length, "a body of another length")
        let isPart = head.kind == .data || head.kind == .relayed
        let isNext = head.kind == former.kind && head.channel == former.channel
        if !isPart || !isNext || (head.kind == .relayed && reader.offset != former.end) {
          outcome.bytes += Frame.bytes(head.kind, channel: head.channel, isPart ? [] : body[...])
          if head.kind == .relayed { outcome.bytes += withUnsafeBytes(of: reader.offset.bigEndian) { Array($0) } }
        }
        if isPart { outcome.bytes += body }
        former = (head.kind, head.channel, reader.offset &+ UInt64(body.count))
        size += body.count
      }
      require(size + reader.count <= offset, "more than came")
    } catch {
      outcome.error = error
      return outcome
    }
  } while offset < stream.count
  return outcome
}
