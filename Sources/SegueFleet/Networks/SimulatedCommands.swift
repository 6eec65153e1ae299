// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueModel
import SegueSystem

/// A command that leads from a host to a device (R14.4), as its user has set it.
public enum HostCommand {
  /// It ends at the agent of a host, in whatever network that is.
  case leads(to: Host)
  /// It ends at once, with a line on its standard error.
  case fails(String)
  /// It writes this, and ends.
  case says([UInt8])
  /// It never answers.
  case hangs
}

/// Stands for the commands of one process of a host.
final class SimulatedCommands: CommandTransport {
  /// The port that stands for the socket of the agent's folder.
  static let port: UInt16 = 0

  private let sockets: HostSockets
  var name: ((Identifier) -> String)?

  init(_ sockets: HostSockets) { self.sockets = sockets }

  func find(_ done: @escaping (Result<[DeviceCommand], SegueError>) -> Void) {
    sockets.later(0) { [sockets] in
      done(.success(sockets.host.commands.map { DeviceCommand($0.device, version: $0.version) }))
    }
  }

  func start(to device: Identifier) throws(SegueError) -> any LinkSocket {
    let host = sockets.host
    guard let command = host.commands.first(where: { $0.device == device })?.command else {
      throw SegueError(.notFound, "paths: there is no command for \(device.fingerprint)")
    }
    switch command {
    case .leads(let other):
      guard let wire = Wire(host, other, isRouted: false) else { throw Self.failed("no route to host") }
      wire.call(at: Self.port)
      return SimulatedSocket(wire, 0, in: sockets)
    case .fails(let reason): throw Self.failed(reason)
    case .says(let bytes):
      guard let wire = Wire(host, host, isRouted: false) else { throw Self.failed("no route to host") }
      wire.send(.connected, from: 1)
      wire.send(bytes, from: 1)
      wire.close(1)
      return SimulatedSocket(wire, 0, in: sockets)
    case .hangs:
      guard let wire = Wire(host, host, isRouted: false) else { throw Self.failed("no route to host") }
      return SimulatedSocket(wire, 0, in: sockets)
    }
  }

  private static func failed(_ reason: String) -> SegueError {
    SegueError(.connectionUnavailable, "\(reason) (the command ended with status 255)")
  }

  func listen(
    accepted: @escaping (any LinkSocket) -> Void, hasAccepted: @escaping () -> Void
  ) throws(SegueError) -> any LinkListener {
    let listener = SimulatedTransport.Listener(Self.port, sockets) { [sockets] wire in
      accepted(SimulatedSocket(wire, 1, in: sockets))
      hasAccepted()
    }
    sockets.listeners.append(listener)
    return listener
  }
}
