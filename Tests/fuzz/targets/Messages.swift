// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// Any bytes as a message: what was read can be sent, and is then read as the same.
func fuzzMessages(_ bytes: UnsafeRawBufferPointer) {
  guard let message = try? Message.decode(bytes) else { return }
  guard let sent = try? message.encoded() else { fatalError("a message that came cannot be sent") }
  guard let again = sent.withUnsafeBytes({ try? Message.decode($0) }) else {
    fatalError("a message that was sent cannot be read")
  }
  require((try? again.encoded()) == sent, "it changes each time")
}
