// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The channels of this device through relays (R14.3). For one thread.
final class RelayedSockets {
  private var all: [RelayedSocket] = []
  /// The number of the next channel: odd ones are those of the device that uses a relay.
  private var nextChannel: UInt32
  /// Does something in a later turn.
  let later: (_ body: @escaping () -> Void) -> Void
  /// Sends a step of a channel to its relay, in a later turn: the hub may be in the middle of a call.
  private let send: (_ message: RelayMessage, _ relay: Identifier) -> Void
  private let nameOf: (Identifier) -> String

  /// - Parameter number: a random one, so that a channel is none of a former process.
  init(
    after number: UInt64, later: @escaping (_ body: @escaping () -> Void) -> Void,
    send: @escaping (_ message: RelayMessage, _ relay: Identifier) -> Void, nameOf: @escaping (Identifier) -> String
  ) {
    nextChannel = UInt32(truncatingIfNeeded: number >> 34) | 1
    (self.later, self.send, self.nameOf) = (later, send, nameOf)
  }

  /// Asks a relay for a connection with a device.
  func dial(_ device: Identifier, through relay: Identifier) -> RelayedSocket {
    let socket = RelayedSocket(through: relay, as: nextChannel, to: device, isDialled: true, of: self)
    nextChannel = nextChannel < UInt32.max / 2 - 2 ? nextChannel + 2 : 1
    all.append(socket)
    send(.open(device), of: socket)
    return socket
  }

  /// A relay has sent a step of a channel.
  /// - Parameter accept: called with a connection that another device asks for; false: it is not taken.
  func take(_ step: RelayStep, _ channel: UInt32, from relay: Identifier, _ accept: (RelayedSocket) -> Bool) {
    if let socket = all.first(where: { $0.channel == channel && $0.relay == relay }) { return socket.take(step) }
    switch step {
    case .open(let device):
      let socket = RelayedSocket(through: relay, as: channel, to: device, isDialled: false, of: self)
      // Odd numbers are this device's.
      guard channel & 1 == 0 else { return send(.closed(.violated), of: socket) }
      all.append(socket)
      guard !accept(socket) else { return }
      release(socket)
      send(.closed(.refused), of: socket)
    // An end that is told nothing would hold it for ever.
    case .opened, .data, .credit: send(.toRelay(channel, .closed(.unknown)), relay)
    case .closed: break
    }
  }

  func send(_ step: RelayStep, of socket: RelayedSocket) { send(.toRelay(socket.channel, step), socket.relay) }
  func release(_ socket: RelayedSocket) { all.removeAll { $0 === socket } }
  func error(_ end: RelayEnd, of socket: RelayedSocket) -> SegueError {
    end.error(nameOf(socket.relay), nameOf(socket.device))
  }

  /// The promise that is broken; nil: none.
  /// - Parameter direct: the devices that are linked without a relay.
  func broken(_ direct: [Identifier]) -> StaticString? {
    all.contains { !$0.isOver && !direct.contains($0.relay) } ? "a connection goes through two relays, or none" : nil
  }

  /// Ends what goes through others than these devices, with which this one is linked without a relay.
  func keep(_ direct: [Identifier]) {
    for socket in all where !direct.contains(socket.relay) {
      socket.over(.cut)
      socket.report()
    }
  }
}
