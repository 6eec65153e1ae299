// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The files of a generation of the hub: the lock that this process holds, and the listening socket.
public final class HubSocket {
  public let generation: UInt64
  public let fd: Int32
  private let folder: RuntimeFolder
  private let lock: Int32
  private let identity: FileIdentity?
  /// Closed to reject a connection when there is no descriptor left; otherwise the connection would stay and wake the
  /// loop for ever.
  private var reserve: Int32
  /// Milliseconds between two heartbeats.
  private static let beatInterval: Int64 = 100
  private var lastBeat: Int64 = 0

  /// Nil if another process has the generation.
  public convenience init?(_ generation: UInt64, in folder: RuntimeFolder) throws(SegueError) {
    guard let lock = try folder.lock(generation) else { return nil }
    do throws(SegueError) {
      self.init(generation, in: folder, lock, try folder.listen(generation))
    } catch {
      Descriptors.close(lock)
      throw error
    }
  }

  private init(_ generation: UInt64, in folder: RuntimeFolder, _ lock: Int32, _ fd: Int32) {
    self.generation = generation
    self.folder = folder
    self.lock = lock
    self.fd = fd
    identity = folder.socketIdentity(generation)
    reserve = HubSocket.openReserve()
    RuntimeFolder.beat(lock, Clock.uptime)
    folder.removeGenerations(upTo: generation, including: false)
  }

  /// Whether its name still leads to it.
  public var isNamed: Bool { identity != nil && folder.socketIdentity(generation) == identity }

  /// The result of accepting a connection.
  public enum Arrival {
    /// A connection of a process of this user.
    case connection(Int32)
    /// No connection is pending.
    case nobody
    /// The system has no descriptor left, not even to reject it. The connection stays pending: stop watching for a
    /// while.
    case exhausted
  }

  public func accept() -> Arrival {
    while true {
      let connection = linux_accept(fd)
      if connection >= 0 {
        if Socket.peerUser(connection) == geteuid() { return .connection(Descriptors.own(connection)) }
        Descriptors.closeConnection(connection)
        continue
      }
      switch linux_errno() {
      case EINTR, ECONNABORTED: continue
      case EAGAIN: return .nobody
      case EMFILE, ENFILE:
        // Reported whether or not a connection is pending.
        guard reserve >= 0 || takeReserve() else { return .exhausted }
        guard refuseOne() else { return .nobody }
      default: return .exhausted
      }
    }
  }

  /// Writes the heartbeat: the hub has served an app, and waiting apps can see that it is only busy.
  public func beat(_ uptime: Int64) {
    guard uptime - lastBeat >= Self.beatInterval else { return }
    lastBeat = uptime
    RuntimeFolder.beat(lock, uptime)
  }

  /// - Parameter removingFiles: whether to remove the socket, from which no app needs to learn the end.
  public func close(removingFiles: Bool) {
    // If its name is gone, the files now belong to another hub.
    if removingFiles, isNamed { folder.removeGenerations(upTo: generation, including: true) }
    ListeningSocket.close(fd)
    Descriptors.close(lock)
    Descriptors.close(reserve)
  }

  /// False if no connection is pending.
  private func refuseOne() -> Bool {
    Descriptors.close(reserve)
    let connection = linux_accept(fd)
    Descriptors.closeConnection(connection)
    _ = takeReserve()
    return connection >= 0
  }

  /// False if there is no descriptor left.
  private func takeReserve() -> Bool {
    reserve = HubSocket.openReserve()
    return reserve >= 0
  }

  private static func openReserve() -> Int32 {
    Descriptors.own(linux_openat(AT_FDCWD, Text.terminated("/dev/null"), O_RDONLY | O_CLOEXEC, 0))
  }
}
