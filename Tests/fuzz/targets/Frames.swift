import SegueModel

@testable import SegueWire

/// Any bytes, in any pieces, as frames: the pieces make no difference, and frames are what they are made of.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  let cuts = input.bytes(atMost: 32)
  let stream = input.rest()
  let whole = read(stream, cuts: UnsafeRawBufferPointer(start: nil, count: 0))
  require(whole == read(stream, cuts: cuts), "pieces make a difference")
  require(stream.starts(with: whole.frames), "a frame is not what came")
}

private struct Outcome: Equatable {
  /// All frames, as they would be sent.
  var frames: [UInt8] = []
  var error: SegueError?
}

/// - Parameter cuts: how long the pieces are, again and again.
private func read(_ stream: UnsafeRawBufferPointer, cuts: UnsafeRawBufferPointer) -> Outcome {
  var reader = FrameReader()
  var outcome = Outcome()
  var offset = 0
  var turn = 0
  repeat {
    let size = cuts.isEmpty ? stream.count : max(1, Int(cuts[turn % cuts.count]))
    let piece = stream[offset..<min(stream.count, offset + size)]
    turn += 1
    offset += piece.count
    reader.append(UnsafeRawBufferPointer(rebasing: piece))
    do throws(SegueError) {
      while let head = try reader.next() {
        let body = reader.withBody { Array($0) }
        require(body.count == head.length, "a body of another length")
        outcome.frames += Frame.bytes(head.kind, channel: head.channel, body[...])
      }
    } catch {
      outcome.error = error
      return outcome
    }
  } while offset < stream.count
  return outcome
}
