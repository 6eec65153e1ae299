// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The owner of the channels through relays, which sends for them. For one thread.
protocol RelayedSocketsOwner: AnyObject {
  /// Does something at the end of this turn, or in a later one.
  func later(_ body: @escaping () -> Void)
  /// Sends a step of a channel to its relay, in a later turn: the hub may be in the middle of a call.
  func send(_ message: RelayMessage, through relay: Identifier)
  /// The name of a device.
  func name(of device: Identifier) -> String
}

/// The channels of this device through relays (R14.3). For one thread.
final class RelayedSockets {
  private var all: [RelayedSocket] = []
  /// The number of the next channel: odd ones are those of the device that uses a relay.
  private var nextChannel: UInt32
  /// The owner outlives it, as the connections of the channels end before the owner goes.
  private unowned(unsafe) let owner: any RelayedSocketsOwner

  /// - Parameter number: a random one, so that a channel is none of a former process.
  init(after number: UInt64, of owner: any RelayedSocketsOwner) {
    nextChannel = UInt32(truncatingIfNeeded: number >> 34) | 1
    self.owner = owner
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
    case .opened, .data, .credit: owner.send(.toRelay(channel, .closed(.unknown)), through: relay)
    case .closed: break
    }
  }

  /// Sends a step of a channel to its relay.
  func send(_ step: RelayStep, of socket: RelayedSocket) {
    owner.send(.toRelay(socket.channel, step), through: socket.relay)
  }

  /// Does something in a later turn.
  func later(_ body: @escaping () -> Void) { owner.later(body) }

  /// Lets go of a channel that is closed.
  func release(_ socket: RelayedSocket) { all.removeAll { $0 === socket } }

  /// The error of a channel that has ended.
  func error(_ end: RelayEnd, of socket: RelayedSocket) -> SegueError {
    end.error(owner.name(of: socket.relay), owner.name(of: socket.device))
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
