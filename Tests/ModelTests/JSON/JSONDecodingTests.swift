// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueModel
import Testing

struct JSONDecodingTests {
  @Test(arguments: [
    ("null", "null"), (" \t\r\n true ", "true"), ("false", "false"), ("[]", "[]"), ("{}", "{}"),
    (#"{"b":1,"a":[2,{"c":null}]}"#, #"{"a": [2, {"c": null}], "b": 1}"#), (#""""#, #""""#),
    (#"{"":{"$date":1}}"#, #"{"": {"$date": 1}}"#), (#"{"$x":1}"#, #"{"$x": 1}"#),
    (#"{"é":1,"e\u0301":2}"#, "{\"é\": 1, \"e\u{301}\": 2}"),
  ])
  func `JSON text is the value that it says`(json: String, value: String) {
    #expect(meaning(json) == value)
  }

  @Test(arguments: [
    ("0", "0"), ("-0", "0"), ("-0.0", "-0.0"), ("0.0", "0.0"), ("-1", "-1"), ("1.0", "1.0"), ("1e0", "1.0"),
    ("1E+2", "100.0"), ("100e-2", "1.0"), ("9223372036854775807", "9223372036854775807"),
    ("9223372036854775808", "9223372036854775808"), ("18446744073709551615", "18446744073709551615"),
    ("-9223372036854775808", "-9223372036854775808"), ("9007199254740993", "9007199254740993"),
    ("9007199254740993.0", "9007199254740992.0"), ("1e-400", "0.0"), ("-1e-400", "-0.0"),
    ("1.7976931348623157e308", "1.7976931348623157e+308"), ("4.9e-324", "5e-324"), ("0e999999999999999999999", "0.0"),
  ])
  func `Digits are integers, and what has a point or an exponent is a double`(json: String, value: String) {
    #expect(meaning(json) == value)
    #expect(meaning("[\(json)]") == "[\(value)]")
  }

  @Test(arguments: [
    "1e309", "-1e400", "18446744073709551616", "-9223372036854775809", "99999999999999999999999999",
    "1.7976931348623159e308", "1e999999999999999999999",
  ])
  func `A number that does not fit is refused, not rounded away`(json: String) {
    #expect(meaning("[1,\(json)]").hasPrefix("unsupportedValue json: "))
    #expect(meaning("[1,\(json)]").hasSuffix(", at offset 3, path /1"))
  }

  @Test(arguments: [
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"), (#""\u0000\u001f\u007F""#, "\0\u{1f}\u{7f}"),
    (#""\u00e9\u6c34\ud834\udd1e\uDBFF\uDFFF""#, "é水𝄞\u{10ffff}"), (#""é水𝄞""#, "é水𝄞"),
    (#""plain, and longer than a word, then \u0041 and more""#, "plain, and longer than a word, then A and more"),
    (#""12345678""#, "12345678"), (#""1234567\n""#, "1234567\n"), (#""\u2028""#, "\u{2028}"),
  ])
  func `Escapes are the characters that they stand for`(json text: String, string: String) throws {
    #expect(try Text.isSame(json(text).get().string, string))
  }

  @Test(arguments: [
    ("", "malformed json: the text ends too early, at offset 0"),
    ("[1", "malformed json: the text ends too early, at offset 2, path /0"),
    ("[1 2]", "malformed json: a comma or ] is expected, at offset 3, path /0"),
    ("[1,]", "malformed json: a value is expected, at offset 3, path /1"),
    ("[tru]", "malformed json: a value is expected, at offset 1, path /0"),
    ("1 2", "malformed json: something follows the value, at offset 2"),
    ("1\0", "malformed json: something follows the value, at offset 1"),
    ("\u{feff}1", "malformed json: a value is expected, at offset 0"),
    (#"{"a":{"b/c~d":[1,-]}}"#, "malformed json: a digit is expected, at offset 18, path /a/b~1c~0d/1"),
    (#"{"a":1,}"#, "malformed json: a key is expected, at offset 7"),
    (#"{"a" 1}"#, "malformed json: a colon is expected, at offset 5, path /a"),
    (#"{"a":1 "b":2}"#, "malformed json: a comma or } is expected, at offset 7, path /a"),
    (#"{1:2}"#, "malformed json: a key is expected, at offset 1"),
    ("[01]", "malformed json: a number begins with a zero, at offset 1, path /0"),
    ("[-01.5]", "malformed json: a number begins with a zero, at offset 2, path /0"),
    ("[1.e1]", "malformed json: a digit is expected, at offset 3, path /0"),
    ("[1e+]", "malformed json: a digit is expected, at offset 4, path /0"),
    ("[+1]", "malformed json: a value is expected, at offset 1, path /0"),
    ("\"a", "malformed json: a string has no end, at offset 2"),
    ("\"a\\", "malformed json: a string has no end, at offset 3"),
    ("\"12345678\n\"", "malformed json: a control character in a string, at offset 9"),
    (#"["\x"]"#, "malformed json: an escape that JSON does not have, at offset 2, path /0"),
    (#"["\u12g4"]"#, "malformed json: an escape that JSON does not have, at offset 2, path /0"),
    (#"["\ud800"]"#, "malformed json: half of a pair of surrogates, at offset 2, path /0"),
    (#"["\udc00\ud800"]"#, "malformed json: half of a pair of surrogates, at offset 2, path /0"),
    (#"["\ud800\u0041"]"#, "malformed json: half of a pair of surrogates, at offset 2, path /0"),
    (
      #"[{"a":1,"b":{"c":1,"d":[0],"c":2}}]"#,
      #"malformed json: the key "c" is there twice, at offset 27, path /0/b/c"#
    ),
    (#"{"\u0061":1,"a":2}"#, #"malformed json: the key "a" is there twice, at offset 12, path /a"#),
  ])
  func `What is wrong has an offset and a path`(json: String, error: String) {
    #expect(meaning(json) == error)
    #expect(meaning(json, .tagged) == error)
  }

  @Test func `Of two equal keys among many the later one is named`() {
    let entries = (0..<100).map { #""k\#($0)":\#($0)"# }
    let text = "{" + (entries + [#""k7":0"#]).joined(separator: ",") + "}"
    #expect(meaning(text).hasSuffix("at offset \(text.utf8.count - 7), path /k7"))
  }

  @Test func `Bytes that are not UTF-8 are refused in strings and keys`() {
    for bytes in [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc3]] as [[UInt8]] {
      for before in ["", "12345678", #"\n"#] {
        let string = [0x22] + Array(before.utf8) + bytes + [0x22]
        #expect(status(json(string)) == .malformed)
        #expect(status(json([0x7b] + string + Array(":1}".utf8))) == .malformed)
      }
    }
  }

  @Test func `A value nests 64 deep, and text that is deeper is refused where it becomes so`() {
    let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    #expect((try? json(deepest).get())?.depth == 64)
    #expect(
      meaning("[\(deepest)]").hasPrefix("limitExceeded json: containers are nested more than 64 deep, at offset 64"))
    let objects = String(repeating: #"{"a":"#, count: 1_000_000)
    #expect(status(json(objects)) == .limitExceeded)
  }

  @Test func `Text for people is not read, and text that is too long is not looked at`() {
    #expect(meaning("1", .forPeople) == "invalidArgument mode: text for people cannot be decoded")
    let long = [UInt8](repeating: 0x20, count: Limits.json + 1)
    #expect(status(json(long)) == .limitExceeded)
  }

  @Test func `A value that is larger than a value may be is refused`() {
    let string = [0x22] + [UInt8](repeating: 0x61, count: Limits.value) + [0x22]
    #expect(status(json(string)) == .limitExceeded)
  }
}
