import SegueWire

/// What goes with a message within a device of a fleet.
public final class FleetDescriptor: PassedDescriptor {
  enum Content {
    /// The end of a stream.
    case socket(FleetSocket)
    /// What leads to another device.
    case link(DeviceLink)
    case nothing
  }

  private(set) var content: Content

  init(_ content: Content) { self.content = content }

  public convenience init(_ socket: FleetSocket) { self.init(.socket(socket)) }

  /// It is of no use.
  public convenience init() { self.init(.nothing) }

  /// The end of a stream, which is the caller's from now on; nil: it is something else, or was taken.
  func takeSocket() -> FleetSocket? {
    guard case .socket(let socket) = content else { return nil }
    content = .nothing
    return socket
  }

  /// It goes with bytes that are under way.
  func leave() {
    guard case .socket(let socket) = content else { return }
    socket.process?.release(socket)
    socket.give(to: .nobody)
  }

  deinit { takeSocket()?.close() }
}
