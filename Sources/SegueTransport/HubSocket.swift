import CLinux
import SegueModel

/// A generation of the hub as files: the lock that this process holds, and the socket on which it listens.
public final class HubSocket {
  public let generation: UInt64
  public let fd: Int32
  private let folder: RuntimeFolder
  private let lock: Int32
  private let identity: FileIdentity?
  /// Given up to say no to a connection when there is no descriptor left; else it would stay, and wake us for ever.
  private var reserve: Int32
  /// Milliseconds between two heartbeats.
  private static let beatInterval: Int64 = 100
  private var lastBeat: Int64 = 0

  /// Nil: another process has the generation.
  public init?(_ generation: UInt64, in folder: RuntimeFolder) throws(SegueError) {
    guard let lock = try folder.lock(generation) else { return nil }
    self.generation = generation
    self.folder = folder
    self.lock = lock
    do throws(SegueError) {
      fd = try folder.listen(generation)
    } catch {
      Descriptors.close(lock)
      throw error
    }
    identity = folder.socketIdentity(generation)
    reserve = HubSocket.openReserve()
    RuntimeFolder.beat(lock, Clock.uptime)
    folder.removeGenerations(upTo: generation, including: false)
  }

  /// Its name still leads to it: nobody has removed it.
  public var isNamed: Bool { identity != nil && folder.socketIdentity(generation) == identity }

  /// What came of looking for a connection.
  public enum Arrival {
    /// One of this user's processes.
    case connection(Int32)
    /// Nobody waits.
    case nobody
    /// The system has nothing left for one, not even to say no. Whoever waits still waits: better not be told of it for a
    /// while.
    case exhausted
  }

  public func accept() -> Arrival {
    while true {
      let connection = linux_accept(fd)
      if connection >= 0 {
        if Socket.peerUser(connection) == geteuid() { return .connection(Descriptors.own(connection)) }
        _ = CLinux.close(connection)
        continue
      }
      switch linux_errno() {
      case EINTR, ECONNABORTED: continue
      case EAGAIN: return .nobody
      case EMFILE, ENFILE:
        // Said whether or not anybody waits.
        guard reserve >= 0 || takeReserve() else { return .exhausted }
        guard refuseOne() else { return .nobody }
      default: return .exhausted
      }
    }
  }

  /// The hub has served somebody: whoever waits for it may see that it is only busy.
  public func beat(_ uptime: Int64) {
    guard uptime - lastBeat >= Self.beatInterval else { return }
    lastBeat = uptime
    RuntimeFolder.beat(lock, uptime)
  }

  /// - Parameter removingFiles: nobody needs to learn from the dead socket that this generation is over.
  public func close(removingFiles: Bool) {
    // If its name is gone, what has it now is the hub of others.
    if removingFiles, isNamed { folder.removeGenerations(upTo: generation, including: true) }
    Descriptors.close(fd)
    Descriptors.close(lock)
    Descriptors.close(reserve)
  }

  /// False: nobody waits.
  private func refuseOne() -> Bool {
    Descriptors.close(reserve)
    let connection = linux_accept(fd)
    if connection >= 0 { _ = CLinux.close(connection) }
    _ = takeReserve()
    return connection >= 0
  }

  /// False: there is no descriptor left.
  private func takeReserve() -> Bool {
    reserve = HubSocket.openReserve()
    return reserve >= 0
  }

  private static func openReserve() -> Int32 {
    Descriptors.own(linux_openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0))
  }
}
