// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// One end of a joining: `JoinClient` or `JoinServer`. It handles messages in order, and ends once.
protocol JoinSide {
  var framing: JoinFraming { get set }
  var hasEnded: Bool { get }
  /// Sets `hasEnded`.
  mutating func setEnded()
  /// Handles a whole message. Throws what ends the joining.
  mutating func receive(
    message: [UInt8], at now: Instant, _ cryptography: any Cryptography
  ) throws(SegueError) -> [JoinOutput]
}

extension JoinSide {
  /// Handles bytes of the connection, in any pieces. An error ends the joining.
  mutating func receive(_ bytes: [UInt8], at now: Instant, _ cryptography: any Cryptography) -> [JoinOutput] {
    guard !hasEnded else { return [] }
    var outputs: [JoinOutput] = []
    do throws(SegueError) {
      try framing.append(bytes)
      while !hasEnded, let message = try framing.next() {
        outputs += try receive(message: message, at: now, cryptography)
      }
    } catch {
      outputs += end(error)
    }
    return outputs
  }

  /// Ends it, and tells the other device why.
  mutating func end(_ error: SegueError) -> [JoinOutput] {
    guard !hasEnded else { return [] }
    setEnded()
    return JoinMessage.refusal(error) + [.ended(error)]
  }
}
