// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

@testable import SegueModel

/// Bytes from hexadecimal digits; spaces are for the reader.
func bytes(_ hexadecimal: String) -> [UInt8] {
  let digits = hexadecimal.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue!) }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// The result of decoding: the value, or why there is none.
func decoded(_ cbor: [UInt8]) -> Result<Value, SegueError> {
  do throws(SegueError) { return .success(try Value(cbor: cbor)) } catch { return .failure(error) }
}

func decoded(_ hexadecimal: String) -> Result<Value, SegueError> { decoded(bytes(hexadecimal)) }

func status(_ result: Result<Value, SegueError>) -> Status {
  switch result {
  case .success: .ok
  case .failure(let error): error.status
  }
}

func status(_ body: () throws(SegueError) -> Void) -> Status {
  do throws(SegueError) {
    try body()
    return .ok
  } catch {
    return error.status
  }
}

/// The slow path alone.
func normalised(_ cbor: [UInt8]) -> Result<Value, SegueError> {
  do throws(SegueError) {
    return .success(Value(trusted: try Normaliser.encoding(of: cbor)))
  } catch {
    return .failure(error)
  }
}
