// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@Suite struct IdentifierTests {
  private let identifier = Identifier(high: 0x0001_0203_0405_0607, low: 0x0809_0a0b_0c0d_0eff)
  private let bytes: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]

  @Test func `it is its sixteen bytes, in their order`() {
    #expect(identifier.bytes == bytes)
    #expect(Identifier(bytes: bytes) == identifier)
    let written = withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { buffer in
      identifier.write(to: buffer.baseAddress!)
      return Array(buffer)
    }
    #expect(written == bytes)
  }

  @Test func `other numbers of bytes are none (A9)`() {
    for count in [0, 1, 15] { #expect(Identifier(bytes: bytes[..<count]) == nil) }
    #expect(Identifier(bytes: bytes + [0]) == nil)
  }

  @Test func `they order as their bytes do`() {
    let ordered: [(UInt64, UInt64)] = [(0, 0), (0, 1), (0, .max), (1, 0), (1, 1), (.max, 0)]
    for (index, left) in ordered.enumerated() {
      for (other, right) in ordered.enumerated() {
        let isLess = Identifier(high: left.0, low: left.1) < Identifier(high: right.0, low: right.1)
        #expect(isLess == (index < other))
      }
    }
  }

  @Test func `an app is known by what its secret proves, never by the secret (A13)`() {
    let secret = Identifier(high: 1, low: 2)
    let app = AppIdentity(secret: secret, bundleIdentifier: "b", name: "n", team: "t", types: [], isChooser: false)
    #expect(app.id == Identifier(ofSecret: secret) && app.id != secret)
  }

  @Test func `of a secret it is the start of the SHA-256`() {
    let vectors: [(secret: [UInt8], id: Identifier)] = [
      (Array(0..<16), Identifier(high: 0xbe45_cb26_05bf_36be, low: 0xbde6_8484_1a28_f0fd)),
      ([UInt8](repeating: 0, count: 16), Identifier(high: 0x3747_08ff_f771_9dd5, low: 0x979e_c875_d56c_d228)),
    ]
    for (secret, id) in vectors { #expect(Identifier(bytes: secret).map { Identifier(ofSecret: $0) } == id) }
  }
}
