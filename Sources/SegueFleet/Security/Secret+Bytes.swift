// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

extension Secret {
  /// A copy that is not erased.
  var bytes: [UInt8] { (try? withBytes { Array($0) }) ?? [] }

  static func copy(of bytes: [UInt8]) throws(SegueError) -> Secret {
    let result = bytes.withUnsafeBytes { bytes -> Result<Secret, SegueError> in
      do throws(SegueError) { return .success(try copy(of: bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}
