// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueModel
import Testing

struct JSONEncodingTests {
  @Test(arguments: [
    ("f6", "null"), ("f5", "true"), ("00", "0"), ("20", "-1"), ("1bffffffffffffffff", "18446744073709551615"),
    ("3b7fffffffffffffff", "-9223372036854775808"), ("f93c00", "1.0"), ("f98000", "-0.0"), ("f90000", "0.0"),
    ("fb3fb999999999999a", "0.1"), ("fb7e37e43c8800759c", "1e+300"), ("f90001", "5.960464477539063e-08"),
    ("fb7fefffffffffffff", "1.7976931348623157e+308"), ("fb0000000000000001", "5e-324"), ("80", "[]"), ("a0", "{}"),
    ("82018102", "[1,[2]]"), ("a161618101", #"{"a":[1]}"#), ("a2616101616202", #"{"a":1,"b":2}"#),
    ("6a225c2f0008090a0c0d1f", #""\"\\/\u0000\b\t\n\f\r\u001f""#), ("637fc3a9", "\"\u{7f}é\""),
    ("64f09d849e", #""𝄞""#), ("693132333435363738 0a", #""12345678\n""#),
  ])
  func `Plain text is the same in all modes for programs`(cbor: String, json text: String) throws {
    for mode in [JSONMode.plain, .tagged, .taggedIntegers] where !text.hasPrefix("1844") && !text.hasPrefix("-922") {
      #expect(ModelTests.text(value(cbor), mode) == text)
    }
    #expect(ModelTests.text(value(cbor), .plain) == text)
    #expect(try json(text).get() == value(cbor))
  }

  @Test(arguments: [
    ("c100", "a date"), ("40", "data"), ("d8206261 3a", "a URL"),
    ("d82550" + String(repeating: "00", count: 16), "a UUID"),
    ("d9010280", "a set"),
  ])
  func `What JSON lacks is refused in plain text, with its path`(cbor: String, kind: String) {
    #expect(text(value(cbor), .plain) == "unsupportedValue value: JSON has no form of \(kind)")
    let nested = value("a2 6161 82f6 a1 632f7e62" + cbor + "6162 00")
    #expect(text(nested, .plain) == "unsupportedValue value: JSON has no form of \(kind), path /a/1/~1~0b")
  }

  @Test func `Numbers and keys that JSON lacks are refused in plain text, with their paths`() {
    for (cbor, name) in [("f97e00", "NaN"), ("f97c00", "Infinity"), ("f9fc00", "-Infinity")] {
      #expect(text(value("81" + cbor), .plain) == "unsupportedValue value: JSON has no number \(name), path /0")
    }
    #expect(
      text(value("81 a1 6161 a1 00 f6"), .plain)
        == "unsupportedValue value: JSON has only strings as keys, not an integer, path /0/a")
    #expect(
      text(value("a2 6161 f6 80 f6"), .plain) == "unsupportedValue value: JSON has only strings as keys, not an array")
  }

  @Test func `Integers are tagged beyond 2 to the 53rd, if asked for`() {
    let numbers = value("84 1b0020000000000000 1b0020000000000001 3b001fffffffffffff 3b0020000000000000")
    let plain = "[9007199254740992,9007199254740993,-9007199254740992,-9007199254740993]"
    #expect(text(numbers, .tagged) == plain)
    #expect(
      text(numbers, .taggedIntegers)
        == #"[9007199254740992,{"$int":"9007199254740993"},-9007199254740992,{"$int":"-9007199254740993"}]"#)
    #expect(meaning(text(numbers, .taggedIntegers), .tagged) == plain.replacing(",", with: ", "))
  }

  @Test func `A dictionary with any key that is not a string is written as pairs`() {
    #expect(text(value("a1 00 f6"), .tagged) == #"{"$dict":[[0,null]]}"#)
    #expect(text(value("a2 6161 a1 6162 01 80 a0"), .tagged) == #"{"$dict":[["a",{"b":1}],[[],{}]]}"#)
    #expect(text(value("a1 6161 a1 6162 a1 00 a0"), .tagged) == #"{"a":{"b":{"$dict":[[0,{}]]}}}"#)
  }

  @Test func `Only a key that could be a tag is escaped`() {
    #expect(text(value("a1 6124 f6"), .tagged) == #"{"$$":null}"#)
    #expect(text(value("a1 6124 f6"), .plain) == #"{"$":null}"#)
    #expect(text(value("a2 6124 f6 6161 a1 63242461 f6"), .tagged) == #"{"$":null,"a":{"$$$a":null}}"#)
    #expect(text(value("a1 626124 6124"), .tagged) == #"{"a$":"$"}"#)
  }

  @Test func `Text for people is indented, and what JSON lacks is shown`() {
    let value = value(
      "a8 00 c1fb41d954fc40100000 6161 80 6162 a0 6163 8201a1616402 6164 d9010281 f97e00 6165 d8206261 3a 6166 42 00ff"
        + "80 d82550 00112233445566778899aabbccddeeff")
    #expect(
      text(value, .forPeople) == """
        {
          "0": "2023-11-14T22:13:20.250Z",
          "a": [],
          "b": {},
          "c": [
            1,
            {
              "d": 2
            }
          ],
          "d": [
            "NaN"
          ],
          "e": "a:",
          "f": "AP8=",
          "[]": "00112233-4455-6677-8899-aabbccddeeff"
        }
        """)
  }

  @Test(arguments: [
    (0.0, "1970-01-01T00:00:00.000Z"), (951_782_400, "2000-02-29T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.000Z"),
    (-0.0005, "1969-12-31T23:59:59.999Z"), (4_107_542_399.999, "2100-02-28T23:59:59.999Z"),
    (4_107_542_400, "2100-03-01T00:00:00.000Z"), (-62_135_596_800, "0001-01-01T00:00:00.000Z"),
    (253_402_300_799.999, "9999-12-31T23:59:59.999Z"),
  ])
  func `Dates are shown in the calendar`(seconds: Double, text: String) throws {
    #expect(try ModelTests.text(.date(seconds), .forPeople) == "\"\(text)\"")
  }

  @Test(arguments: [
    (-62_135_596_801, "-62135596801"), (253_402_300_800, "253402300800"), (1e300, "1e+300"),
    (-0x1p80, "-1.2089258196146292e+24"),
  ])
  func `Dates beyond four digits of years are numbers`(seconds: Double, text: String) throws {
    #expect(try ModelTests.text(.date(seconds), .forPeople) == text)
  }

  @Test func `Text beyond its bound is dropped`() {
    let text = JSONText(room: 1, limit: 12)
    for _ in 0..<12 { text.put(UInt8(ascii: " ")) }
    #expect(!text.isTooLong)
    #expect(text.written.count == 12)
    text.put("1")
    #expect(text.isTooLong)
    for _ in 0..<100 { text.put("12345") }
    #expect(text.written.count <= 12)
  }
}
