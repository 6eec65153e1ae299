// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// The system's random numbers.
public enum RandomBytes {
  /// Throws SYSTEM if a sandbox refuses them.
  public static func fill(_ bytes: UnsafeMutableRawBufferPointer) throws(SegueError) {
    var filled = 0
    while filled < bytes.count {
      // Blocks only once, shortly after the system has started.
      let count = getrandom(bytes.baseAddress! + filled, bytes.count - filled, 0)
      if count > 0 {
        filled += count
      } else if linux_errno() != EINTR {
        throw .system("random numbers")
      }
    }
  }

  /// Draws so many bytes. Throws SYSTEM.
  public static func draw(_ count: Int) throws(SegueError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let result = bytes.withUnsafeMutableBytes { bytes -> Result<Void, SegueError> in
      do throws(SegueError) { return .success(try fill(bytes)) } catch { return .failure(error) }
    }
    try result.get()
    return bytes
  }
}
