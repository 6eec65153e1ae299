// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// Whole reads and writes of descriptors, whatever the system interrupts.
enum FileBytes {
  /// Reads up to `buffer.count` bytes at an offset.
  /// - Returns: how many there were; -1 with `errno`.
  static func read(_ fd: Int32, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var filled = 0
    while filled < buffer.count {
      let count = pread(fd, buffer.baseAddress! + filled, buffer.count - filled, off_t(offset) + off_t(filled))
      if count == 0 { break }
      if count > 0 {
        filled += count
      } else if linux_errno() != EINTR {
        return -1
      }
    }
    return filled
  }

  /// Writes all of it at the descriptor's place. False with `errno`.
  static func write(_ fd: Int32, _ bytes: UnsafeRawBufferPointer) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = CLinux.write(fd, bytes.baseAddress! + done, bytes.count - done)
      if count >= 0 {
        done += count
      } else if linux_errno() != EINTR {
        return false
      }
    }
    return true
  }

  /// The text of a small file without the newline at its end; nil if it is longer, no UTF-8, or cannot be read.
  static func text(of fd: Int32, atMost limit: Int) -> String? {
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    let count = bytes.withUnsafeMutableBytes { read(fd, at: 0, into: $0) }
    guard count >= 0, count <= limit else { return nil }
    bytes.removeLast(bytes.count - count)
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    guard bytes.withUnsafeBytes({ UTF8Text.isValid($0) }) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
