// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueFleet
import SegueModel
import SegueTransport

/// A stream of an app of a fleet (R7.1): the host has one end of a real socket pair. Its bytes go into the fleet when
/// the fleet advances, and bytes from the fleet go to it. Guarded by the fleet's lock.
final class FleetStream {
  /// Seconds of real time after which a blocking read or write of the host fails.
  static let blockingTime: Int32 = 10

  let socket: FleetSocket
  /// The other end of the host's socket; closed with this object.
  private let host: StreamSocket
  /// Whether the host has written everything, or there is no reader.
  private var hasEnded = false
  /// Whether the host has got everything up to the end.
  private var isShut = false

  /// Takes ownership of the descriptor. Nil if it is unusable, and then closed.
  convenience init?(_ socket: FleetSocket, _ fd: Int32) {
    guard let host = StreamSocket(fd), (try? host.stopBlocking()) != nil else {
      Descriptors.close(fd)
      return nil
    }
    self.init(socket, host)
  }

  private init(_ socket: FleetSocket, _ host: StreamSocket) {
    self.socket = socket
    self.host = host
  }

  deinit { Descriptors.close(host.fd) }

  /// Whether it can be released.
  var isOver: Bool { socket.isClosed }

  /// The events to wait for at the host's end; nil if there are none.
  var wanted: pollfd? {
    let mayRead = !hasEnded && socket.room.map { $0 > 0 } ?? false
    guard mayRead || socket.hasArrived else { return nil }
    let events = (mayRead ? Int16(POLLIN) : 0) | (socket.hasArrived ? Int16(POLLOUT) : 0)
    return pollfd(fd: host.fd, events: events, revents: 0)
  }

  /// Whether `carry` would make progress with the host's end. Otherwise time would stand still.
  var isReady: Bool {
    if hasEnded, host.isReady(reading: false, writing: false) { return true }
    let mayRead = !hasEnded && socket.room.map { $0 > 0 } ?? false
    guard mayRead || socket.hasArrived else { return false }
    return host.isReady(reading: mayRead, writing: socket.hasArrived)
  }

  /// Moves as many bytes as possible.
  func carry() {
    giveToHost()
    takeFromHost()
    // Distinguishes a close from a shutdown before that: both look the same once both ends are shut down.
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
