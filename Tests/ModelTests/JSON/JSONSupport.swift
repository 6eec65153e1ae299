// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueModel

/// The result of decoding JSON text: the value, or why there is none.
func json(_ text: [UInt8], _ mode: JSONMode = .plain) -> Result<Value, SegueError> {
  text.withUnsafeBytes { bytes in
    do throws(SegueError) { return .success(try Value(json: bytes, mode)) } catch { return .failure(error) }
  }
}

func json(_ text: String, _ mode: JSONMode = .plain) -> Result<Value, SegueError> { json(Array(text.utf8), mode) }

/// The value in diagnostic notation, or the status and the message.
func meaning(_ text: String, _ mode: JSONMode = .plain) -> String {
  switch json(text, mode) {
  case .success(let value): value.diagnostic
  case .failure(let error): "\(error.status) \(error.message)"
  }
}

/// A value as JSON text, or the status and the message.
func text(_ value: Value, _ mode: JSONMode) -> String {
  do throws(SegueError) {
    return try value.withJSON(mode) { String(decoding: $0, as: UTF8.self) }
  } catch {
    return "\(error.status) \(error.message)"
  }
}

func value(_ cbor: String) -> Value { try! Value(cbor: bytes(cbor)) }
