// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueTransport

/// Standard output and standard error.
enum StandardStream: Int32 {
  case output = 1
  case error = 2

  /// Writes all of the text, unless the reader is gone.
  /// - Returns: nil, or what has kept it from being written.
  @discardableResult func write(_ text: String) -> SegueError? {
    let bytes = Array(text.utf8)
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { CLinux.write(rawValue, $0.baseAddress! + written, $0.count - written) }
      if count < 0, linux_errno() == EINTR { continue }
      guard count > 0 else { return .system(self == .output ? "standard output" : "standard error") }
      written += count
    }
    return nil
  }
}
