// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// The name of a process, for people.
public enum ProcessName {
  /// The name that the system has for a process of this machine; "unknown" if it is not visible here.
  public static func of(_ process: Int32) -> String {
    let path = Text.terminated(String(joining: "/proc/\(process)/comm"))
    let fd = linux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)
    guard process > 0, fd >= 0 else { return "unknown" }
    defer { _ = close(fd) }
    // The kernel cuts names at 15 bytes.
    let name = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, read(fd, buffer.baseAddress, buffer.count))
    }
    return Text.decoded(Array(name.prefix { $0 != 0x0A }))
  }
}
