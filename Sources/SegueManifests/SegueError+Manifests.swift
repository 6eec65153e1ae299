// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

extension SegueError {
  /// The same error about something, such as a file. Its message is cut: values that it quotes may be as long as files.
  func cut(naming what: String) -> SegueError {
    SegueError(status, "\(what): \(Text.start(of: message, atMost: Limits.title))")
  }
}
