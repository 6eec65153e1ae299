// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// The name of this device for people.
public enum DeviceName {
  /// The host's name, without its domain.
  public static var current: String {
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
      guard gethostname(buffer.baseAddress!.assumingMemoryBound(to: CChar.self), 255) == 0 else { return "this device" }
      buffer[255] = 0
      let name = buffer.prefix { $0 != 0 && $0 != UInt8(ascii: ".") }
      let text = Text.decoded(UnsafeRawBufferPointer(rebasing: name))
      return text.utf8.isEmpty ? "this device" : text
    }
  }
}
