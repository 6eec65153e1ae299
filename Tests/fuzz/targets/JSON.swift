// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueModel

/// Any bytes as JSON text, and any bytes as a value that is written as JSON text.
func fuzzJSON(_ bytes: UnsafeRawBufferPointer) {
  checkText(bytes, .plain)
  checkText(bytes, .tagged)
  if let value = try? Value(cbor: bytes) { checkValue(value) }
}

/// A value that was decoded is written in one way, which is read as the same value.
private func checkText(_ bytes: UnsafeRawBufferPointer, _ mode: JSONMode) {
  let value: Value
  do throws(SegueError) {
    value = try Value(json: bytes, mode)
  } catch {
    let isLocated = error.message.contains(", at offset ")
    return require(isLocated, "an error without an offset: \(error.message)")
  }
  require((try? Value(cbor: value.encoding))?.encoding == value.encoding, "what was decoded is not deterministic")
  guard let text = written(value, mode) else { fatalError("what was decoded is not written") }
  require(read(text, mode) == value, "the text says another value")
  // Only the tagged form has other values than plain text.
  checkValue(value)
}

private func checkValue(_ value: Value) {
  for mode in [JSONMode.tagged, .taggedIntegers] {
    guard let text = written(value, mode), let again = read(text, mode) else { fatalError("a value is lost") }
    require(again == value, "another value came back")
    require(written(again, mode) == text, "equal values, but not equal text")
  }
  if let text = written(value, .plain) { require(read(text, .plain) == value, "plain text says another value") }
  require(written(value, .forPeople).map { UTF8Text.isValid($0) } ?? false, "nothing to show")
}

private func written(_ value: Value, _ mode: JSONMode) -> [UInt8]? { try? value.withJSON(mode) { Array($0) } }

private func read(_ text: [UInt8], _ mode: JSONMode) -> Value? {
  text.withUnsafeBytes { try? Value(json: $0, mode) }
}

extension UTF8Text {
  fileprivate static func isValid(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { isValid($0) } }
}
