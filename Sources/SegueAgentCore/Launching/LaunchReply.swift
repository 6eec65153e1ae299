// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The launcher's answer to a request.
public struct LaunchReply {
  /// Bytes of an encoded reply.
  public static let sizeLimit = 4 * 1024

  public let number: UInt64
  /// The process, or why there is none.
  public let result: Result<Int32, SegueError>

  public init(number: UInt64, result: Result<Int32, SegueError>) { (self.number, self.result) = (number, result) }

  public func encoded() throws(SegueError) -> [UInt8] {
    var writer = ValueWriter()
    try writer.begin(.array)
    try writer.put(number)
    switch result {
    case .success(let process):
      try writer.put(UInt64(UInt32(bitPattern: process)))
      try writer.put(UInt64(0))
      try writer.put("")
    case .failure(let error):
      try writer.put(UInt64(0))
      try writer.put(UInt64(UInt32(bitPattern: error.status.rawValue)))
      // A text that is cut in the middle of a character gets longer by at most 6 bytes.
      try writer.put(String(decoding: error.message.utf8.prefix(Limits.title - 8), as: UTF8.self))
    }
    try writer.end()
    return writer.withWritten { Array($0) }
  }

  /// Nil unless the bytes are a reply.
  public static func decode(_ bytes: UnsafeRawBufferPointer) -> LaunchReply? {
    guard bytes.count <= sizeLimit, var reader = FlatReader(bytes), reader.array() == 4,
      let number = reader.unsigned(), let process = reader.unsigned().flatMap({ Int32(exactly: $0) }),
      let status = reader.unsigned().flatMap({ Int32(exactly: $0) }), let message = reader.string(atMost: Limits.title)
    else { return nil }
    if process > 0 { return LaunchReply(number: number, result: .success(process)) }
    let error = SegueError(Status(rawValue: status) ?? .system, DiagnosticText(of: message))
    return LaunchReply(number: number, result: .failure(error))
  }
}
