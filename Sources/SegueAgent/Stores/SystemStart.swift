// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// The last start of the system.
enum SystemStart {
  /// Differs each time that the system starts; empty if the system does not say it.
  static var identity: String {
    let fd = linux_openat(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC, 0)
    guard fd >= 0 else { return "" }
    defer { _ = close(fd) }
    let line = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, read(fd, buffer.baseAddress, buffer.count))
    }
    return Text.decoded(Array(line.prefix { $0 != 0x0A }))
  }
}
