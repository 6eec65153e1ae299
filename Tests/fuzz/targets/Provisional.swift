// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

@testable import SegueWire

/// Any frames of a hub over a connection that is no link yet, in any pieces: the messages about the account come out,
/// all else is held within bounds, and how the bytes arrive makes no difference.
func fuzzProvisional(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  var said: [UInt8] = []
  var pieces: [[UInt8]] = []
  while !input.isEmpty {
    let words = say(&input)
    said += words
    let cut = min(Int(input.byte()), words.count)
    pieces += [Array(words[..<cut]), Array(words[cut...])]
  }
  let (whole, inPieces) = (heard([said]), heard(pieces))
  require((whole == nil) == (inPieces == nil), "pieces make a difference")
  guard let whole, let inPieces else { return }
  require(whole.messages == inPieces.messages && whole.held == inPieces.held, "pieces make another story")
  require(whole.held.count <= said.count, "more is held than was said")
  check(whole.held)
}

/// Messages, some of them about the account, or any bytes; often the same many times.
private func say(_ input: inout Input) -> [UInt8] {
  let words: [UInt8]
  switch input.number(below: 4) {
  case 0: words = Array(input.bytes())
  case 1:
    guard let frame = try? ProvisionalStream.frame(Array(input.bytes())) else { fatalError("a message without frame") }
    words = frame
  case 2: words = Peer.words(&input)
  default: words = Peer.words(input.message())
  }
  let times = input.bool() ? Int(input.byte()) : 1
  return [[UInt8]](repeating: words, count: times).flatMap { $0 }
}

/// Nil if the connection was ended.
private func heard(_ pieces: [[UInt8]]) -> (messages: [[UInt8]], held: [UInt8])? {
  var stream = ProvisionalStream()
  var messages: [[UInt8]] = []
  for piece in pieces {
    do throws(SegueError) {
      messages += try stream.receive(piece)
    } catch {
      return nil
    }
  }
  let held = stream.takeHeld()
  require(stream.takeHeld().isEmpty, "it is held twice")
  return (messages, held)
}

/// The hub gets whole frames, none about the account, and the start of the next one behind them.
private func check(_ held: [UInt8]) {
  var reader = FrameReader()
  reader.append(held)
  var count = held.count
  do throws(SegueError) {
    while let head = try reader.next() {
      require(head.kind == .message, "another frame than a message is held")
      let message = try reader.withBody { (body) throws(SegueError) in try Message.decode(body) }
      if case .account? = message { fatalError("a message about the account is held") }
      count -= Frame.headSize + head.length
    }
  } catch {
    fatalError("no frames are held: \(error.message)")
  }
  require(held.count - count <= ProvisionalStream.limit, "more is held than may be")
  require(count <= Frame.headSize + Frame.messageLimit, "more than the start of a frame is left")
}
