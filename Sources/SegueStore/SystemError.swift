// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

extension SegueError {
  /// The error for something that the system refused, with the cause.
  static func refused(_ what: DiagnosticText, _ number: Int32 = linux_errno()) -> SegueError {
    SegueError(.system, "\(what.string): \(String(cString: strerror(number)))")
  }
}
