// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

extension Text {
  /// The text of a C string of the system; bytes that are not UTF-8 as for other bytes.
  @inline(never)
  public static func decoded(cString: UnsafePointer<CChar>) -> String {
    decoded(UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
  }
}
