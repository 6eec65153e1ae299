// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Reads the headers of the TLS records that arrive before a session is up, and refuses what TLS 1.3 would let pass:
/// RFC 8446 §5.1 has `legacy_record_version` ignored for all purposes, so that a bit turned over in it would go
/// unnoticed.
struct RecordHeaders {
  private static let size = 5
  /// The most bytes of an encrypted record (RFC 8446 §5.2).
  private static let recordLimit = 16_384 + 256

  /// The version of the next record's header: OpenSSL has 3.1 in its first ClientHello, 3.3 in all others.
  private var version: (UInt8, UInt8)
  private var header: [UInt8] = []
  /// Bytes of the record that are still to come.
  private var remaining = 0

  /// - Parameter ofClient: whether the records are a client's.
  init(ofClient: Bool) { version = (3, ofClient ? 1 : 3) }

  /// Reads the next bytes. Throws MALFORMED at the first header that is wrong.
  mutating func read(_ bytes: UnsafeRawBufferPointer) throws(SegueError) {
    var place = 0
    while place < bytes.count {
      if remaining > 0 {
        let step = min(remaining, bytes.count - place)
        remaining -= step
        place += step
        continue
      }
      header.append(bytes[place])
      place += 1
      guard header.count == Self.size else { continue }
      guard header[1] == version.0, header[2] == version.1 else {
        throw SegueError(.malformed, "a TLS record of version \(Int(header[1])).\(Int(header[2]))")
      }
      remaining = Int(header[3]) << 8 | Int(header[4])
      guard remaining <= Self.recordLimit else { throw SegueError(.malformed, "a TLS record of \(remaining) bytes") }
      version = (3, 3)
      header.removeAll(keepingCapacity: true)
    }
  }
}
