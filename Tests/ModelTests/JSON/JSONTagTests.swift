// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueModel
import Testing

struct JSONTagTests {
  @Test(arguments: [
    (#"{"$date":1700000000.25}"#, "1(1700000000.25)"), (#"{"$date":-1}"#, "1(-1)"), (#"{"$date":1e300}"#, "1(1e+300)"),
    (#"{"$data":""}"#, "h''"), (#"{"$data":"AA=="}"#, "h'00'"), (#"{"$data":"AAE="}"#, "h'0001'"),
    (#"{"$data":"+/8C"}"#, "h'fbff02'"), (#"{"$url":"http://x/a"}"#, #"32("http://x/a")"#),
    (#"{"$uuid":"00112233-4455-6677-8899-aabbccddeeff"}"#, "37(h'00112233445566778899aabbccddeeff')"),
    (#"{"$set":[]}"#, "258([])"), (#"{"$set":[1,{"$set":[2]},[3]]}"#, "258([1, [3], 258([2])])"),
    (#"{"$dict":[[1,"a"],[{"$data":"AA=="},[]]]}"#, #"{1: "a", h'00': []}"#),
    (#"{"$dict":[[{"$dict":[[0,1]]},{"$dict":[[{"$set":[]},2]]}]]}"#, "{{0: 1}: {258([]): 2}}"),
    (#"{"$double":"NaN"}"#, "NaN"), (#"{"$double":"Infinity"}"#, "Infinity"),
    (#"{"$double":"-Infinity"}"#, "-Infinity"), (#"{"$$":null}"#, #"{"$": null}"#),
    (#"{"$$date":1}"#, #"{"$date": 1}"#),
    (#"{"$$$":{"$$a":[]}}"#, #"{"$$": {"$a": []}}"#), (#"{"$a":1,"$b":2}"#, #"{"$a": 1, "$b": 2}"#),
    (#"{"$":{},"b":2}"#, #"{"$": {}, "b": 2}"#), (#"{"$set":[{"$set":[]}],"b":[]}"#, #"{"b": [], "$set": [258([])]}"#),
    (#"{"b":{"$int":"1"}}"#, #"{"b": 1}"#),
  ])
  func `Tagged text is the value that it says, and is what that value is written as`(text: String, value: String) {
    #expect(meaning(text, .tagged) == value)
    guard !text.contains("$int"), !text.hasPrefix(#"{"$set":[{"#), !text.hasPrefix(#"{"$set":[1"#),
      let decoded = try? json(text, .tagged).get()
    else { return }
    #expect(ModelTests.text(decoded, .tagged) == text.replacing("1e300", with: "1e+300"))
  }

  @Test(arguments: [
    (#"{"$date":1.0}"#, #"{"$date":1}"#), (#"{ "$date" : 1 }"#, #"{"$date":1}"#),
    (#"{"$data":"\u0041A=="}"#, #"{"$data":"AA=="}"#), (#"{"\u0024set":[2,1]}"#, #"{"$set":[1,2]}"#),
    (#"{"$uuid":"00112233-4455-6677-8899-AABBCCDDEEFF"}"#, #"{"$uuid":"00112233-4455-6677-8899-aabbccddeeff"}"#),
    (#"{"$dict":[]}"#, "{}"), (#"{"$dict":[["a",1]]}"#, #"{"a":1}"#), (#"{"$int":"-0"}"#, "0"),
    (#"{"$int":"-9223372036854775808"}"#, "-9223372036854775808"), (#"{"$url":"x\u003ay"}"#, #"{"$url":"x:y"}"#),
    (#"{"$int":"18446744073709551615"}"#, "18446744073709551615"), (#"{"$dict":[["$a",1]]}"#, #"{"$$a":1}"#),
  ])
  func `Other text for a value is read, too`(text: String, canonical: String) throws {
    #expect(try ModelTests.text(json(text, .tagged).get(), .tagged) == canonical)
  }

  @Test(arguments: [
    (#"{"$x":1}"#, "an object with one entry, whose key is no known tag, at offset 1"),
    (#"[{"$":[]}]"#, "an object with one entry, whose key is no known tag, at offset 2, path /0"),
    (#"{"$Date":1}"#, "an object with one entry, whose key is no known tag, at offset 1"),
    (#"{"a":{"$date":"1"}}"#, "a number of seconds is expected, at offset 14, path /a/$date"),
    (#"{"$data":1}"#, "a string is expected, at offset 9, path /$data"),
    (#"{"$data":"AA"}"#, "no canonical base64, at offset 9, path /$data"),
    (#"{"$data":"AB=="}"#, "no canonical base64, at offset 9, path /$data"),
    (#"{"$data":"AAB="}"#, "no canonical base64, at offset 9, path /$data"),
    (#"{"$data":"A==="}"#, "no canonical base64, at offset 9, path /$data"),
    (#"{"$data":"===="}"#, "no canonical base64, at offset 9, path /$data"),
    (#"{"$data":"AA==AA=="}"#, "no canonical base64, at offset 9, path /$data"),
    (#"{"$data":"A-A_"}"#, "no canonical base64, at offset 9, path /$data"),
    (#"{"$data":"AA A"}"#, "no canonical base64, at offset 9, path /$data"),
    (#"{"$data":"éAA"}"#, "no canonical base64, at offset 9, path /$data"),
    (#"{"$url":"a b"}"#, "no absolute URL (RFC 3986), at offset 8, path /$url"),
    (#"{"$uuid":"00112233445566778899aabbccddeeff"}"#, "no UUID (RFC 9562), at offset 9, path /$uuid"),
    (#"{"$uuid":"00112233-4455-6677-8899-aabbccddeefg"}"#, "no UUID (RFC 9562), at offset 9, path /$uuid"),
    (#"{"$double":"inf"}"#, "neither NaN, Infinity nor -Infinity, at offset 11, path /$double"),
    (#"{"$int":1}"#, "a string is expected, at offset 8, path /$int"),
    (#"{"$int":""}"#, "no integer of 64 bits, at offset 8, path /$int"),
    (#"{"$int":"1.0"}"#, "no integer of 64 bits, at offset 8, path /$int"),
    (#"{"$int":"01"}"#, "no integer of 64 bits, at offset 8, path /$int"),
    (#"{"$int":"1 "}"#, "no integer of 64 bits, at offset 8, path /$int"),
    (#"{"$set":1}"#, "an array is expected, at offset 8, path /$set"),
    (#"{"$set":[1,{"$int":"1"}]}"#, "the element 1 is there twice, at offset 11, path /$set/1"),
    (#"{"$dict":{}}"#, "an array is expected, at offset 9, path /$dict"),
    (#"{"$dict":[1]}"#, "a pair of key and value is expected, at offset 10, path /$dict/0/0"),
    (#"{"$dict":[[1]]}"#, "a comma and the value of the key are expected, at offset 12, path /$dict/0/1"),
    (#"{"$dict":[[1,2,3]]}"#, "the end of the pair is expected, at offset 14, path /$dict/1/0"),
    (#"{"$dict":[[1,2],[3,4],[1,5]]}"#, "the key 1 is there twice, at offset 22, path /$dict/2/0"),
    (#"{"$date":1]"#, "the end of a tagged value is expected, at offset 10, path /$date"),
  ])
  func `A tag that is wrong is an error with offset and path`(text: String, error: String) {
    #expect(meaning(text, .tagged) == "malformed json: \(error)")
  }

  @Test func `A date and an integer that do not fit are unsupported`() {
    for text in [#"{"$date":9007199254740993}"#, #"{"$date":1e400}"#, #"{"$int":"18446744073709551616"}"#] {
      #expect(meaning(text, .tagged).hasPrefix("unsupportedValue json: "))
    }
  }

  @Test func `Deep sets are found to be sets, or ordinary entries, in one pass`() throws {
    var inner = "[]"
    for _ in 0..<63 { inner = #"[{"$set":\#(inner)}]"# }
    #expect(try json(#"{"$set":\#(inner)}"#, .tagged).get().depth == 64)
    #expect(status(json(#"{"$set":[{"$set":\#(inner)}]}"#, .tagged)) == .limitExceeded)
    inner = "1"
    for level in 0..<31 { inner = level % 2 == 0 ? #"{"$set":[\#(inner)]}"# : #"{"$set":[\#(inner)],"b":[]}"# }
    let value = try json(inner, .tagged).get()
    #expect(value.depth == 46)
    #expect(try json(text(value, .tagged), .tagged).get() == value)
  }

  @Test func `What is said of braces in strings counts for nothing`() {
    #expect(
      meaning(#"[{"$set":["{,}[",{"a":"\",{"}]},{"$set":[{"b":1,"c":"}"}]}]"#, .tagged)
        == #"[258(["{,}[", {"a": "\",{"}]), 258([{"b": 1, "c": "}"}])]"#)
  }
}
