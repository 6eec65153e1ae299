// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import Testing

/// The parsing cases of JSONTestSuite (Vectors/README.md).
struct JSONTestSuiteTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    var testDescription: String { name }
  }

  private struct Entry: Decodable {
    let base64: Data
    let times: Int?
    let tail: Data?
  }

  static let cases: [Case] = {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors/json-test-suite.json")
    let entries = try! JSONDecoder().decode([String: Entry].self, from: Data(contentsOf: file))
    return entries.sorted { $0.key < $1.key }.map { name, entry in
      var bytes: [UInt8] = []
      for _ in 0..<(entry.times ?? 1) { bytes += entry.base64 }
      return Case(name: name, bytes: bytes + (entry.tail ?? Data()))
    }
  }()

  /// JSON that the suite accepts, and we do not: a value would lose one of the entries.
  static let refused: Set<String> = ["y_object_duplicated_key", "y_object_duplicated_key_and_value"]

  /// Our results for the cases that RFC 8259 leaves open. Numbers that doubles and 64 bits do not hold are unsupported.
  /// All that is not UTF-8 is malformed, half of a pair of surrogates and a byte order mark too. Deep nesting exceeds
  /// the limit.
  static let open: [String: Status] = [
    "i_number_double_huge_neg_exp": .ok, "i_number_real_underflow": .ok,
    "i_number_huge_exp": .unsupportedValue, "i_number_neg_int_huge_exp": .unsupportedValue,
    "i_number_pos_double_huge_exp": .unsupportedValue, "i_number_real_neg_overflow": .unsupportedValue,
    "i_number_real_pos_overflow": .unsupportedValue, "i_number_too_big_neg_int": .unsupportedValue,
    "i_number_too_big_pos_int": .unsupportedValue, "i_number_very_big_negative_int": .unsupportedValue,
    "i_object_key_lone_2nd_surrogate": .malformed, "i_string_1st_surrogate_but_2nd_missing": .malformed,
    "i_string_1st_valid_surrogate_2nd_invalid": .malformed, "i_string_UTF-16LE_with_BOM": .malformed,
    "i_string_UTF-8_invalid_sequence": .malformed, "i_string_UTF8_surrogate_U+D800": .malformed,
    "i_string_incomplete_surrogate_and_escape_valid": .malformed, "i_string_incomplete_surrogate_pair": .malformed,
    "i_string_incomplete_surrogates_escape_valid": .malformed, "i_string_invalid_lonely_surrogate": .malformed,
    "i_string_invalid_surrogate": .malformed, "i_string_invalid_utf-8": .malformed,
    "i_string_inverted_surrogates_U+1D11E": .malformed, "i_string_iso_latin_1": .malformed,
    "i_string_lone_second_surrogate": .malformed, "i_string_lone_utf8_continuation_byte": .malformed,
    "i_string_not_in_unicode_range": .malformed, "i_string_overlong_sequence_2_bytes": .malformed,
    "i_string_overlong_sequence_6_bytes": .malformed, "i_string_overlong_sequence_6_bytes_null": .malformed,
    "i_string_truncated-utf-8": .malformed, "i_string_utf16BE_no_BOM": .malformed,
    "i_string_utf16LE_no_BOM": .malformed, "i_structure_500_nested_arrays": .limitExceeded,
    "i_structure_UTF-8_BOM_empty_object": .malformed,
  ]

  @Test func `All cases are there`() {
    let names = Self.cases.map(\.name)
    #expect(names.count == 318)
    #expect(Set(names.filter { $0.hasPrefix("i_") }) == Set(Self.open.keys))
    #expect(Self.refused.isSubset(of: names))
  }

  @Test(arguments: cases)
  func `Each case is decoded or refused, the same tagged`(each: Case) throws {
    for mode in [JSONMode.plain, .tagged] {
      let result = json(each.bytes, mode)
      switch each.name.prefix(1) {
      case "y" where !Self.refused.contains(each.name):
        let value = try result.get()
        #expect(try json(text(value, mode), mode).get() == value)
      case "i": #expect(status(result) == Self.open[each.name])
      default: #expect(status(result) != .ok)
      }
      if case .failure(let error) = result { #expect(error.message.contains(", at offset ")) }
    }
  }
}
