// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// Tells whether a descriptor is of a file on one of the kernel's own file systems. On others (FUSE, network) any call
/// may block for ever; so this asks the kernel, not the file.
enum LocalFiles {
  private static let fileSystems: [StaticString] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs", "tmpfs", "overlay",
  ]
  /// The most bytes that are read of the list of mounts.
  private static let listLimit = 1 << 20

  /// False also if the mount is not visible to the process.
  /// - Parameter process: in whose namespace the file is mounted.
  static func has(_ fd: Int32, of process: DiagnosticText = "self") -> Bool {
    if linux_is_in_memory(fd) == 1 { return true }
    var mount = -1
    var isNext = false
    read(String(joining: "/proc/self/fdinfo/\(fd)")) { _, word in
      if isNext { mount = number(word) }
      isNext = isSame(word, "mnt_id:")
    }
    guard mount >= 0 else { return false }
    // In each line of proc_pid_mountinfo(5) the number of a mount is first, and its kind behind a dash.
    var isKnown = false
    var isIts = false
    isNext = false
    read(String(joining: "/proc/\(process)/mountinfo")) { place, word in
      if place == 0 { isIts = number(word) == mount }
      if isNext, isIts { isKnown = fileSystems.contains { isSame(word, $0) } }
      isNext = isSame(word, "-")
    }
    return isKnown
  }

  private static func isSame(_ word: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
    word.count == text.utf8CodeUnitCount && memcmp(word.baseAddress!, text.utf8Start, word.count) == 0
  }

  private static func number(_ word: UnsafeRawBufferPointer) -> Int {
    var number = 0
    for byte in word { number = number &* 10 &+ Int(byte) &- 0x30 }
    return number
  }

  /// The words of a file of procfs, with their position in the line; none if it cannot be read, or is too long.
  private static func read(_ path: String, _ body: (_ place: Int, _ word: UnsafeRawBufferPointer) -> Void) {
    let fd = Descriptors.own(linux_openat(AT_FDCWD, Text.terminated(path), O_RDONLY | O_CLOEXEC, 0))
    guard fd >= 0 else { return }
    defer { Descriptors.close(fd) }
    let text = UnsafeMutableRawBufferPointer.allocate(byteCount: listLimit, alignment: 16)
    defer { text.deallocate() }
    var size = 0
    while true {
      let count = CLinux.read(fd, text.baseAddress! + size, listLimit - size)
      if count < 0, linux_errno() == EINTR { continue }
      if count == 0, size < listLimit { break }
      guard count > 0 else { return }
      size += count
    }
    var (place, start) = (0, 0)
    for end in 0..<size where text[end] <= 0x20 {
      if end > start { body(place, UnsafeRawBufferPointer(rebasing: text[start..<end])) }
      place = text[end] == 0x0a ? 0 : place + 1
      start = end + 1
    }
  }
}
