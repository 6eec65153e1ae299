import SegueDevices
import SegueModel
import SegueTLS

/// Any bytes from a stranger on a connection between devices, in pieces: no such bytes make a link, and no answer is
/// long. The first byte says at which end the stranger is, and whether it knows the knock key.
nonisolated(unsafe) private let context = try! TLSContext(FixedCredentials.device)

func fuzz(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  let choice = input.byte()
  let (isServer, knowsKey) = (choice & 1 == 1, choice & 2 == 2)
  let (ours, theirs) = ([UInt8](repeating: 3, count: 16), [UInt8](repeating: 4, count: 16))
  let channel =
    isServer
    ? SecureChannel(answering: [FixedCredentials.epoch], nonce: ours, context)
    : SecureChannel(knockingUnder: FixedCredentials.epoch, nonce: ours, context)
  if knowsKey {
    if isServer {
      var knock = KnockClient(FixedCredentials.epoch, nonce: theirs)
      require(receive(try! knock.answer(take(channel)), channel), "a knock is refused")
    } else {
      var knock = KnockServer([FixedCredentials.epoch], nonce: theirs)
      require(receive(knock.challenge, channel), "a challenge is refused")
      require(receive(try! knock.answer(take(channel)), channel), "a proof is refused")
    }
    require(channel.hasKnocked, "a knock was not heard")
  }
  var sent = take(channel).count
  var isOpen = true
  while isOpen, !input.isEmpty { isOpen = receive(Array(input.bytes()), channel) }
  sent += take(channel).count
  require(channel.peer == nil && !channel.isUp, "a stranger is a device")
  require(channel.hasKnocked == knowsKey, "a stranger has knocked")
  require(sent < 4_096, "a stranger gets \(sent) bytes")
}

private func take(_ channel: SecureChannel) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
    count = channel.takeOutput(into: UnsafeMutableRawBufferPointer(buffer))
  }
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
