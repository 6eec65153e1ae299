// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

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
    // Another process may have this one without the other: then the kernel's list of locks says who is named.
    _ = linux_lock_record(fd)
    return 0
  }

  /// Whether another one holds the lock.
  public static func isHeld(_ fd: Int32) -> Bool {
    guard flock(fd, LOCK_SH | LOCK_NB) == 0 else { return true }
    _ = flock(fd, LOCK_UN)
    return false
  }

  /// The process that holds both locks of an open file; 0: none does, it is this one, or it is not visible here. The
  /// list of locks is not asked where it does not show the first one, as to a container.
  public static func holder(_ fd: Int32) -> Int32 {
    let (process, taker) = (linux_record_holder(fd), taker(fd))
    return taker == 0 || taker == process ? process : 0
  }

  // MARK: Without the second lock

  /// The process that has taken the first lock of an open file, by the kernel's list of locks: one of an earlier
  /// version has that alone. 0: none has, it is this one, or it is not visible here. The lock stays with the
  /// descriptor, which another process may have by now, while the number may be that of a third one (`hasOpen`).
  public static func taker(_ fd: Int32) -> Int32 {
    var status = stat()
    let list = linux_openat(AT_FDCWD, "/proc/locks", O_RDONLY | O_CLOEXEC, 0)
    guard list >= 0 else { return 0 }
    defer { _ = close(list) }
    guard fstat(fd, &status) == 0 else { return 0 }
    for line in read(list).split(separator: 0x0a) {
      // 1: FLOCK  ADVISORY  WRITE 1234 00:2d:1234567 0 EOF
      let words = line.split(separator: 0x20)
      guard words.count == 8, words[1].elementsEqual("FLOCK".utf8), words[3].elementsEqual("WRITE".utf8),
        let process = number(words[4], 10), process != getpid()
      else { continue }
      let file = words[5].split(separator: 0x3a)
      guard file.count == 3, number(file[0], 16) == Int(linux_major(status.st_dev)),
        number(file[1], 16) == Int(linux_minor(status.st_dev)), number(file[2], 10) == Int(exactly: status.st_ino)
      else { continue }
      return Int32(exactly: process) ?? 0
    }
    return 0
  }

  /// Whether a process has an open file open, too; nil if this one may not know, as of one that holds keys.
  public static func hasOpen(_ process: Int32, _ fd: Int32) -> Bool? {
    var (own, other) = (stat(), stat())
    guard fstat(fd, &own) == 0, let folder = opendir(String(joining: "/proc/\(process)/fd")) else { return nil }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let isSame = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        let name = UnsafeRawPointer(pointer).assumingMemoryBound(to: CChar.self)
        return fstatat(dirfd(folder), name, &other, 0) == 0 && other.st_dev == own.st_dev && other.st_ino == own.st_ino
      }
      if isSame { return true }
    }
    return false
  }

  private static func number(_ digits: ArraySlice<UInt8>, _ base: Int) -> Int? {
    var number = 0
    for digit in digits {
      let value: Int
      switch digit {
      case 0x30...0x39: value = Int(digit) - 0x30
      case 0x61...0x66 where base == 16: value = Int(digit) - 0x57
      default: return nil
      }
      let (product, overflows) = number.multipliedReportingOverflow(by: base)
      let (sum, overflowsToo) = product.addingReportingOverflow(value)
      guard !overflows, !overflowsToo else { return nil }
      number = sum
    }
    return digits.isEmpty ? nil : number
  }

  /// At most 1 MiB.
  private static func read(_ file: Int32) -> [UInt8] {
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 64 * 1024)
    while bytes.count < 1 << 20 {
      let count = CLinux.read(file, &part, part.count)
      if count < 0, linux_errno() == EINTR { continue }
      guard count > 0 else { break }
      bytes += part[..<count]
    }
    return bytes
  }
}
