// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The launcher's answer to a request.
public struct LaunchReply {
  /// Bytes of an encoded reply.
  public static let sizeLimit = 4 * 1024

  /// The deed of the launcher.
  public enum Answer: Sendable {
    /// It has started this process.
    case process(Int32)
    /// It has looked at a process, which runs in this sandbox; nil: in none.
    case sandbox(Sandbox?)
  }

  public let number: UInt64
  /// The answer, or why there is none.
  public let result: Result<Answer, SegueError>

  public init(number: UInt64, result: Result<Answer, SegueError>) { (self.number, self.result) = (number, result) }

  public func encoded() throws(SegueError) -> [UInt8] {
    var writer = ValueWriter()
    try writer.begin(.array)
    try writer.put(number)
    switch result {
    case .success(.sandbox(let sandbox)):
      try writer.begin(.array)
      if let sandbox {
        try writer.put("sandbox")
        for identifier in sandbox.identifiers { try writer.put(identifier) }
      }
      try writer.end()
    case .success(.process(let process)):
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
    guard bytes.count <= sizeLimit, var reader = FlatReader(bytes), let count = reader.array(),
      let number = reader.unsigned()
    else { return nil }
    if count == 2 { return sandbox(&reader).map { LaunchReply(number: number, result: .success(.sandbox($0))) } }
    guard count == 4, let process = reader.unsigned().flatMap({ Int32(exactly: $0) }),
      let status = reader.unsigned().flatMap({ Int32(exactly: $0) }), let message = reader.string(atMost: Limits.title)
    else { return nil }
    if process > 0 { return LaunchReply(number: number, result: .success(.process(process))) }
    let error = SegueError(Status(rawValue: status) ?? .system, DiagnosticText(of: message))
    return LaunchReply(number: number, result: .failure(error))
  }

  /// Nil unless the reader is before a sandbox, or none.
  private static func sandbox(_ reader: inout FlatReader) -> Sandbox?? {
    guard let count = reader.array() else { return nil }
    guard count > 0 else { return .some(nil) }
    var texts: [String] = []
    for _ in 0..<count {
      guard let text = reader.string(atMost: Limits.title) else { return nil }
      texts.append(text)
    }
    return Text.isSame(texts[0], "sandbox") ? Sandbox(identifiers: Array(texts.dropFirst())) : nil
  }
}
