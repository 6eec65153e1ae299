import CLinux
import SegueFleet
import SegueTransport

/// A stream of an app of a fleet (R7.1): the host has one end of a pair of sockets, as everywhere; what it writes there goes
/// into the fleet when the fleet moves, and what comes from there to it. Guarded by the fleet's lock.
final class FleetStream {
  let socket: FleetSocket
  /// The other end of the host's; closed with this object.
  private let host: StreamSocket
  /// The host has written all, or nobody reads it.
  private var hasEnded = false
  /// All that ever comes for the host has been given to it.
  private var isShut = false

  /// Takes the descriptor over. Nil: it is no good, and is closed.
  init?(_ socket: FleetSocket, _ fd: Int32) {
    guard let host = StreamSocket(fd), (try? host.stopBlocking()) != nil else {
      Descriptors.close(fd)
      return nil
    }
    self.socket = socket
    self.host = host
  }

  deinit { Descriptors.close(host.fd) }

  /// It can be let go of.
  var isOver: Bool { socket.isClosed }

  /// What is to be waited for at the host's end; nil: nothing.
  var wanted: pollfd? {
    let mayRead = !hasEnded && socket.room.map { $0 > 0 } ?? false
    guard mayRead || socket.hasArrived else { return nil }
    let events = (mayRead ? Int16(POLLIN) : 0) | (socket.hasArrived ? Int16(POLLOUT) : 0)
    return pollfd(fd: host.fd, events: events, revents: 0)
  }

  /// Whether `carry` would do something about what the host did. If it did not, time would stand still.
  var isReady: Bool {
    if hasEnded, host.isReady(reading: false, writing: false) { return true }
    let mayRead = !hasEnded && socket.room.map { $0 > 0 } ?? false
    guard mayRead || socket.hasArrived else { return false }
    return host.isReady(reading: mayRead, writing: socket.hasArrived)
  }

  /// Moves what can be moved.
  func carry() {
    giveToHost()
    takeFromHost()
    // What it closes before that is closed, and not just written: both look the same once both are shut.
    if hasEnded, isShut || host.otherEnd == .closed { socket.close() }
  }

  private func giveToHost() {
    guard !isShut else { return }
    var isUnread = false
    socket.give { bytes in
      if case .bytes(let count) = host.write(bytes) { return count }
      isUnread = true
      return bytes.count
    }
    if isUnread { socket.shutDown(reading: true, writing: false) }
    guard socket.isAtEnd else { return }
    isShut = true
    host.shutDown(reading: false, writing: true)
  }

  private func takeFromHost() {
    guard !hasEnded else { return }
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { buffer in
      while let room = socket.room {
        guard room > 0 else { return }
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(room, buffer.count)])
        switch host.read(into: piece) {
        case .bytes(0): return
        case .bytes(let count): socket.write(UnsafeRawBufferPointer(rebasing: piece[..<count]))
        case .end:
          hasEnded = true
          return socket.shutDown(reading: false, writing: true)
        }
      }
      hasEnded = true
      host.shutDown(reading: true, writing: false)
    }
  }
}
