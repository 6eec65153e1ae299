// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// The identity of a machine as it stands in a state folder: an HMAC over the machine id, which itself is not to be
/// passed on (machine-id(5)). So a folder that was copied to another machine can be told from one that belongs there.
public struct MachineIdentity: Sendable {
  /// 64 hexadecimal digits.
  let text: String

  /// The identity of the machine with this id.
  public init(ofMachine id: String) {
    let key = Array("org.segue.state-folder".utf8)
    text = Self.hexadecimal(SecureHash.hmacSHA256(Array(id.utf8), key: key))
  }

  /// The identity of this machine; nil if it has no machine id, as some containers.
  public static func ofThisMachine() -> MachineIdentity? {
    for path in ["/etc/machine-id", "/var/lib/dbus/machine-id"] {
      let fd = linux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0)
      guard fd >= 0 else { continue }
      defer { _ = close(fd) }
      // 32 hexadecimal digits; "uninitialized" while the system boots for the first time.
      if let id = FileBytes.text(of: fd, atMost: 64), id.utf8.count == 32 { return MachineIdentity(ofMachine: id) }
    }
    return nil
  }

  /// Whether it is the text of an identity.
  static func isOne(_ text: String) -> Bool {
    text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
