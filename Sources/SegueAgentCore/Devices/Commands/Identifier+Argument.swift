// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A device as an argument of a process.
extension Identifier {
  /// Its UUID (RFC 9562 §4).
  public var text: String {
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.textSize) { buffer, count in
      guard let base = buffer.baseAddress else { return }
      writeText(to: base)
      count = Self.textSize
    }
    return Text.decoded(bytes)
  }

  /// Nil unless the text is a UUID.
  public init?(text: String) {
    guard let identifier = Text.withBytes(text, { Identifier(hexadecimal: $0) }) else { return nil }
    self = identifier
  }
}
