import CLinux

/// The lock of a file, by which processes agree which of them has a place.
///
/// Two locks: `flock` decides, also between two openings by one process, and is gone with the last descriptor. The
/// record lock beside it says which process has the place: by the kernel, not by the file, into which any process may
/// write that reaches the folder.
public enum FileLock {
  /// Locks an open file for this process, as long as the descriptor is open.
  /// - Returns: 0, or the number of the system's error: EWOULDBLOCK if another has it.
  public static func take(_ fd: Int32) -> Int32 {
    guard flock(fd, LOCK_EX | LOCK_NB) == 0 else { return linux_errno() }
    // Whoever has this one without the other keeps the name from being told, and nothing else.
    _ = linux_lock_record(fd)
    return 0
  }

  /// Whether another one holds the lock.
  public static func isHeld(_ fd: Int32) -> Bool {
    guard flock(fd, LOCK_SH | LOCK_NB) == 0 else { return true }
    _ = flock(fd, LOCK_UN)
    return false
  }

  /// The process that holds the lock of an open file; 0: none does, it is this one, or it is not visible here.
  public static func holder(_ fd: Int32) -> Int32 { linux_record_holder(fd) }
}
