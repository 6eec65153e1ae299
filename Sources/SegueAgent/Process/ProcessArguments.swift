// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux

/// The arguments of this process. Embedded Swift has no `CommandLine`.
enum ProcessArguments {
  /// More bytes than the agent has use for.
  private static let sizeLimit = 64 * 1024

  /// Without the name of the program.
  static var all: [String] { Array(words.dropFirst()) }

  /// The name of the program, without folders.
  static var program: String {
    let path = words.first ?? ""
    let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { Array($0) } ?? []
    return String(decoding: name, as: UTF8.self)
  }

  private static var words: [String] {
    let fd = linux_openat(AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0)
    guard fd >= 0 else { return [] }
    defer { _ = close(fd) }
    let bytes = [UInt8](unsafeUninitializedCapacity: sizeLimit) { buffer, count in
      while count < sizeLimit {
        let more = read(fd, buffer.baseAddress! + count, sizeLimit - count)
        guard more > 0 else { return }
        count += more
      }
    }
    let words = bytes.split(separator: 0, omittingEmptySubsequences: false)
    // Each argument ends with a NUL.
    return words.dropLast().map { String(decoding: $0, as: UTF8.self) }
  }
}
