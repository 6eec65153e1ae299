// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// The environment variables of the process.
public enum Environment {
  /// The value of a variable; nil if it is missing, empty, or set by another user than the one with whose rights the
  /// program runs (setuid).
  public static func variable(_ name: String) -> String? {
    guard let value = secure_getenv(Text.terminated(name)) else { return nil }
    let text = Text.decoded(cString: value)
    return text.utf8.isEmpty ? nil : text
  }
}
