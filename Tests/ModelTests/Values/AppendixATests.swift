// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import Testing

/// The examples of RFC 8949, Appendix A (Vectors/README.md).
struct AppendixATests {
  struct Vector: Decodable, Sendable, CustomTestStringConvertible {
    let hex: String
    let roundtrip: Bool
    let diagnostic: String?
    var testDescription: String { hex }
  }

  /// The vectors that values cannot hold: bignums, an integer below -2^63, undefined, simple values, other tags.
  static let unsupported: Set<String> = [
    "c249010000000000000000", "3bffffffffffffffff", "c349010000000000000000", "f7", "f0", "f818", "f8ff",
    "c074323031332d30332d32315432303a30343a30305a", "d74401020304", "d818456449455446",
  ]

  /// The meanings of those other vectors for which the file has a decoded value of JSON, or a notation that is not the
  /// one of a value.
  static let meanings: [String: String] = [
    "00": "0", "01": "1", "0a": "10", "17": "23", "1818": "24", "1819": "25", "1864": "100", "1903e8": "1000",
    "1a000f4240": "1000000", "1b000000e8d4a51000": "1000000000000", "1bffffffffffffffff": "18446744073709551615",
    "20": "-1", "29": "-10", "3863": "-100", "3903e7": "-1000", "f90000": "0.0", "f98000": "-0.0", "f93c00": "1.0",
    "fb3ff199999999999a": "1.1", "f93e00": "1.5", "f97bff": "65504.0", "fa47c35000": "100000.0",
    "fa7f7fffff": "3.4028234663852886e+38", "fb7e37e43c8800759c": "1e+300", "f90001": "5.960464477539063e-08",
    "f90400": "6.103515625e-05", "f9c400": "-4.0", "fbc010666666666666": "-4.1", "f4": "false", "f5": "true",
    "f6": "null", "60": #""""#, "6161": #""a""#, "6449455446": #""IETF""#, "62225c": #""\"\\""#, "62c3bc": #""ü""#,
    "63e6b0b4": #""水""#, "64f0908591": #""𐅑""#, "80": "[]", "83010203": "[1, 2, 3]",
    "8301820203820405": "[1, [2, 3], [4, 5]]", "98190102030405060708090a0b0c0d0e0f101112131415161718181819": count25,
    "a0": "{}", "a201020304": "{1: 2, 3: 4}", "a26161016162820203": #"{"a": 1, "b": [2, 3]}"#,
    "826161a161626163": #"["a", {"b": "c"}]"#,
    "a56161614161626142616361436164614461656145": #"{"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}"#,
    "5f42010243030405ff": "h'0102030405'", "7f657374726561646d696e67ff": #""streaming""#, "9fff": "[]",
    "9f018202039f0405ffff": "[1, [2, 3], [4, 5]]", "9f01820203820405ff": "[1, [2, 3], [4, 5]]",
    "83018202039f0405ff": "[1, [2, 3], [4, 5]]", "83019f0203ff820405": "[1, [2, 3], [4, 5]]",
    "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff": count25,
    "bf61610161629f0203ffff": #"{"a": 1, "b": [2, 3]}"#, "826161bf61626163ff": #"["a", {"b": "c"}]"#,
    // Its keys come in the other order.
    "bf6346756ef563416d7421ff": #"{"Amt": -2, "Fun": true}"#,
  ]
  static let count25 = "[" + (1...25).map(String.init).joined(separator: ", ") + "]"

  static let vectors: [Vector] = {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors/cbor-appendix-a.json")
    return try! JSONDecoder().decode([Vector].self, from: Data(contentsOf: file))
  }()

  @Test func `All vectors are there`() {
    #expect(Self.vectors.count == 82)
  }

  @Test(arguments: vectors)
  func `Each vector is the value that the RFC says, or unsupported (R1.2)`(vector: Vector) throws {
    let result = decoded(vector.hex)
    guard !Self.unsupported.contains(vector.hex) else {
      #expect(status(result) == .unsupportedValue)
      return
    }
    let value = try result.get()
    #expect(value.diagnostic == (Self.meanings[vector.hex] ?? vector.diagnostic))
    if vector.roundtrip { #expect(hexadecimal(value.encoding) == vector.hex) }
  }
}
