// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueOpenSSL

/// Any bytes from a stranger on a connection between devices, in pieces: no such bytes make a link, or join, and no
/// answer is long. The first byte says at which end the stranger is, whether it knows the knock key, and whether that
/// is the key of an invite.
nonisolated(unsafe) private let context = try! TLSContext(FixedCredentials.device)
private let invite = try! Invite(
  "segue:join?v=1&a=\(String(repeating: "1", count: 32))&f=\(String(repeating: "2", count: 64))"
    + "&t=\(String(repeating: "3", count: 64))&p=1&h=::1&n=n&c=6532b8de")

func fuzzStrangers(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  let choice = input.byte()
  let (isServer, knowsKey, joins) = (choice & 1 == 1, choice & 2 == 2, choice & 4 == 4)
  let keys = joins ? invite.knockKeys : FixedCredentials.epoch
  let (ours, theirs) = ([UInt8](repeating: 3, count: 16), [UInt8](repeating: 4, count: 16))
  let channel =
    if isServer {
      SecureChannel(answering: [FixedCredentials.epoch], invites: [invite], nonce: ours, context)
    } else if joins {
      try! SecureChannel(joiningWith: invite, nonce: ours)
    } else {
      SecureChannel(knockingUnder: FixedCredentials.epoch, nonce: ours, context)
    }
  if knowsKey {
    if isServer {
      var knock = KnockClient(keys, nonce: theirs)
      require(receive(try! knock.answer(channel.takeOutput()), channel), "a knock is refused")
    } else {
      var knock = KnockServer([keys], nonce: theirs)
      require(receive(knock.challenge, channel), "a challenge is refused")
      // TLS begins behind the knock.
      let answer = Array(channel.takeOutput().prefix(Knock.answerSize))
      require(receive(try! knock.answer(answer), channel), "a proof is refused")
    }
    require(channel.hasKnocked, "a knock was not heard")
  }
  var sent = channel.takeOutput().count
  var isOpen = true
  while isOpen, !input.isEmpty { isOpen = receive(Array(input.bytes()), channel) }
  sent += channel.takeOutput().count
  require(channel.peer == nil && !channel.isUp, "a stranger is a device")
  require(channel.hasKnocked == knowsKey, "a stranger has knocked")
  require(sent < 4_096, "a stranger gets \(sent) bytes")
}

/// Whether the connection goes on.
private func receive(_ bytes: [UInt8], _ channel: SecureChannel) -> Bool {
  bytes.withUnsafeBytes { bytes in
    do throws(SegueError) {
      try channel.receive(bytes) { _ in require(false, "a stranger says something under TLS") }
      return true
    } catch {
      return false
    }
  }
}
