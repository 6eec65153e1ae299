import CLinux
import SegueModel

/// A generation of the hub as files: the lock that this process holds, and the socket on which it listens.
public final class HubSocket {
  public let generation: UInt64
  public let fd: Int32
  private let folder: RuntimeFolder
  private let lock: Int32
  /// Given up to say no to a connection when there is no descriptor left; else it would stay, and wake us for ever.
  private var reserve: Int32

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
    reserve = HubSocket.openReserve()
    folder.removeGenerations(upTo: generation, including: false)
  }

  /// The next connection of this user's processes; nil: there is none for now.
  public func accept() -> Int32? {
    while true {
      let connection = linux_accept(fd)
      if connection >= 0 {
        if Socket.peerUser(connection) == geteuid() { return Descriptors.own(connection) }
        _ = CLinux.close(connection)
        continue
      }
      switch linux_errno() {
      case EINTR, ECONNABORTED: continue
      // Said whether or not anybody waits.
      case EMFILE, ENFILE: guard refuseOne() else { return nil }
      default: return nil
      }
    }
  }

  /// - Parameter removingFiles: nobody needs to learn from the dead socket that this generation is over.
  public func close(removingFiles: Bool) {
    if removingFiles { folder.removeGenerations(upTo: generation, including: true) }
    Descriptors.close(fd)
    Descriptors.close(lock)
    Descriptors.close(reserve)
  }

  /// False: nobody waits.
  private func refuseOne() -> Bool {
    Descriptors.close(reserve)
    let connection = linux_accept(fd)
    if connection >= 0 { _ = CLinux.close(connection) }
    reserve = HubSocket.openReserve()
    return connection >= 0
  }

  private static func openReserve() -> Int32 {
    Descriptors.own(linux_openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0))
  }
}
