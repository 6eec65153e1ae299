// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueWire

/// A descriptor that travels with a message within a device of a fleet.
public final class FleetDescriptor: PassedDescriptor {
  enum Content {
    /// The end of a stream.
    case socket(FleetSocket)
    /// A connection to another device.
    case link(DeviceLink)
    case nothing
  }

  private(set) var content: Content

  init(_ content: Content) { self.content = content }

  public convenience init(_ socket: FleetSocket) { self.init(.socket(socket)) }

  /// An unusable descriptor.
  public convenience init() { self.init(.nothing) }

  /// Takes the end of a stream; nil if it is something else, or was taken.
  func takeSocket() -> FleetSocket? {
    guard case .socket(let socket) = content else { return nil }
    content = .nothing
    return socket
  }

  /// Marks that it travels with bytes in flight.
  func leave() {
    guard case .socket(let socket) = content else { return }
    socket.process?.release(socket)
    socket.give(to: .nobody)
  }

  deinit { takeSocket()?.close() }
}
