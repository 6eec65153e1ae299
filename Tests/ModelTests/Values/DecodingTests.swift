// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Testing

@testable import SegueModel

struct DecodingTests {
  /// Some of every kind.
  static let sample = bytes(
    "ab 00 f6 20 f5 01 fb3ff199999999999a 6161 65 68656c6c6f 6162 43 010203 6163 c1 1a514b67b0 6164 d820 63 613a62"
      + "6165 d825 50 000102030405060708090a0b0c0d0e0f 6166 82 00 a1 01 02 6167 d90102 82 01 6178 82 01 02 a0")

  @Test(arguments: [
    ("17", "1817"), ("00", "1800"), ("1818", "190018"), ("18ff", "1900ff"), ("190100", "1a00000100"),
    ("19ffff", "1a0000ffff"),
    ("1a00010000", "1b0000000000010000"), ("1affffffff", "1b00000000ffffffff"), ("37", "3817"), ("3818", "390018"),
    ("f93c00", "fa3f800000"), ("f93c00", "fb3ff0000000000000"), ("f97e00", "f97e01"), ("f97e00", "fb7ff8000000000001"),
    ("f98000", "fa80000000"), ("f97bff", "fa477fe000"), ("f90001", "fa33800000"), ("fa33000000", "fb3e60000000000000"),
    ("fa477ff000", "fb40effe0000000000"), ("c100", "c1f98000"), ("c11b0020000000000000", "c1fb4340000000000000"),
    ("c1fa5a000002", "c1fb4340000040000000"), ("c11a3b9aca00", "c1fa4e6e6b28"), ("a201020304", "a203040102"),
    ("d90102820102", "d90102820201"), ("a200008000", "bf80000000ff"),
  ])
  func `Another form of a number or container becomes the deterministic one (R1.2)`(canonical: String, loose: String) {

    #expect((try? decoded(loose).get())?.encoding == bytes(canonical))
    #expect((try? decoded(canonical).get())?.encoding == bytes(canonical))
  }

  @Test(arguments: [
    "", "18", "1a0000", "61", "62 61", "81", "a1 00", "a2 0000", "d820", "9f", "bf00ff", "5f 6100 ff", "5f5f4100ffff",
    "0000", "1c", "1d", "1e", "1f", "3f", "df00", "fc", "ff", "81ff", "f800", "61ff", "62c080", "63eda080",
    "64f4908080",
    "7f61c361a9ff", "a2 00000001", "d90102820101", "d90102820118 01", "c1 60", "d820 00", "d825 4100", "d90102 00",
    "62c328", "63e08080", "63e0a041", "63e28261", "64f0808080", "64f0909041", "64f5808080", "61c3", "61 80",
    "9bffffffffffffffff00", "bb8000000000000000", "5bffffffffffffffff", "7b7fffffffffffffff", "9a7fffffff00",
    "d825 51 0001020304050607 08090a0b0c0d0e0f 10",
  ])
  func `Bytes that are not one value are malformed`(cbor: String) {
    #expect(status(decoded(cbor)) == .malformed, "\(cbor)")
  }

  @Test(arguments: [
    "f7", "e0", "f820", "f8ff", "c000", "c24100", "c34100", "d9d9f700", "3b8000000000000000", "c1f97e00", "c1f97c00",
    "c11b0020000000000001", "d8206161", "81f7",
  ])
  func `What a value cannot hold is unsupported`(cbor: String) {
    #expect(status(decoded(cbor)) == .unsupportedValue, "\(cbor)")
  }

  @Test func `An error names the offset`() {
    #expect(throws: SegueError(.unsupportedValue, "undefined at offset 2")) { try decoded("8200f7").get() }
    #expect(throws: SegueError(.malformed, "truncated in the item at offset 1")) { try decoded("811900").get() }
  }

  @Test(arguments: ["81", "9f", "d9010281", "a100", "bf00"])
  func `Nesting is bounded at 64 (R1.2)`(opening: String) {
    func nested(_ depth: Int) -> [UInt8] {
      let open = bytes(opening)
      let close: [UInt8] = open[0] & 31 == 31 ? [0xff] : []
      return Array(repeatElement(open, count: depth).joined()) + [0]
        + Array(repeatElement(close, count: depth).joined())
    }
    #expect(status(decoded(nested(64))) == .ok)
    #expect(status(decoded(nested(65))) == .limitExceeded)
    #expect(status(decoded(nested(100_000))) == .limitExceeded)
  }

  @Test func `A value has at most 16 MiB`() {
    let head: [UInt8] = [0x5a, 0x00, 0xff, 0xff, 0xfb]
    #expect(status(decoded(head + [UInt8](repeating: 0, count: Limits.value - 5))) == .ok)
    #expect(status(decoded([0x5a, 1, 0, 0, 0] + [UInt8](repeating: 0, count: Limits.value))) == .limitExceeded)
  }

  @Test func `No truncation and no flipped bit traps, and both paths agree`() {
    #expect((try? decoded(Self.sample).get())?.count == 11)
    for count in 0..<Self.sample.count { #expect(status(decoded(Array(Self.sample[..<count]))) == .malformed) }
    for bit in 0..<Self.sample.count * 8 {
      var cbor = Self.sample
      cbor[bit / 8] ^= 1 << UInt8(bit % 8)
      let value = try? decoded(cbor).get()
      #expect(value == (try? normalised(cbor).get()))
      // Reading all of what was let in must not trap either.
      #expect(value?.diagnostic.isEmpty != true)
    }
  }

  @Test func `Equal means the same bytes (R1.2)`() throws {
    let keys: [Value] = [.string("\u{e9}"), .string("e\u{301}"), .integer(1), .bool(true), .double(1), try .date(1)]
    let value = try Value.dictionary(keys.map { ($0, $0) })
    #expect(value.count == keys.count)
    for key in keys { #expect(value[key] == key) }
    #expect(status { () throws(SegueError) in _ = try Value.set([.integer(1), .unsigned(1)]) } == .invalidArgument)
    #expect(Value.double(.nan) == Value.double(-.nan))
    #expect(Value.double(0) != Value.double(-0.0))
  }

  @Test func `Of merged entries the new ones win (R1.10)`() throws {
    let old = try Value.dictionary([(.string("a"), .integer(1)), (.string("c"), .integer(1))])
    let new = try Value.dictionary([(.string("b"), .integer(2)), (.string("c"), .integer(2)), (.string("d"), .null)])
    #expect(try old.merging(new).diagnostic == #"{"a": 1, "b": 2, "c": 2, "d": null}"#)
    #expect(status { () throws(SegueError) in _ = try old.merging(.null) } == .wrongKind)
  }
}
