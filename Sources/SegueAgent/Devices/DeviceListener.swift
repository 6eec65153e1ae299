import SegueModel
import SegueSystem
import SegueTransport

/// The socket at which this device listens for others. For the loop's thread.
final class DeviceListener {
  /// Connections accepted in a turn.
  private static let acceptsInTurn = 64
  /// Milliseconds without accepting after the system refused a connection.
  private static let acceptPause: Int64 = 250

  private var socket: (fd: Int32, watch: Watch)?
  /// The uptime at which it accepts again; nil while it does.
  private(set) var nextDeadline: Int64?
  /// Called with each connection, which the callee owns.
  private let accepted: (_ fd: Int32, _ address: NetworkAddress) -> Void
  /// Called after those of a turn.
  private let hasAccepted: () -> Void

  init(_ accepted: @escaping (_ fd: Int32, _ address: NetworkAddress) -> Void, _ hasAccepted: @escaping () -> Void) {
    (self.accepted, self.hasAccepted) = (accepted, hasAccepted)
  }

  var isOpen: Bool { socket != nil }

  /// Listens, in place of where it does now. If this throws, all is as before.
  /// - Parameter port: 0: one that is free.
  /// - Returns: the port. Throws SYSTEM.
  func open(port: UInt16, on loop: Loop) throws(SegueError) -> UInt16 {
    let (fd, port) = try TCPSocket.listen(port: port)
    do throws(SegueError) {
      // `close` ends it before this object is released.
      let watch = try Watch(fd, on: loop) { [unowned(unsafe) self] _, _ in self.accept() }
      close()
      socket = (fd, watch)
    } catch {
      Descriptors.close(fd)
      throw error
    }
    return port
  }

  func close() {
    nextDeadline = nil
    guard let socket else { return }
    self.socket = nil
    socket.watch.close()
    Descriptors.close(socket.fd)
  }

  func tick(_ uptime: Int64) {
    guard let at = nextDeadline, at <= uptime else { return }
    nextDeadline = nil
    socket?.watch.watch(reading: true, writing: false)
  }

  private func accept() {
    guard let socket, nextDeadline == nil else { return }
    loop: for _ in 0..<Self.acceptsInTurn {
      switch TCPSocket.accept(socket.fd) {
      case .connection(let fd, let address): accepted(fd, address)
      case .none: break loop
      case .exhausted:
        socket.watch.watch(reading: false, writing: false)
        nextDeadline = Clock.uptime + Self.acceptPause
        break loop
      }
    }
    hasAccepted()
  }
}
