// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The answer of a server over HTTP/1.1 to one GET, as far as a file of a site needs it (R12.9, RFC 9112).
public struct HTTPAnswer: Sendable {
  /// Bytes of the status line and all fields, and of a body with its framing.
  public static let headLimit = 16 * 1024
  public static let bodyLimit = 128 * 1024
  private static let framedLimit = 2 * bodyLimit
  /// The most bytes that are read of one answer.
  public static let readLimit = headLimit + framedLimit

  public let status: Int
  /// Empty unless the status is 200.
  public let body: [UInt8]

  /// Reads what has come so far.
  /// - Parameter isEnded: whether nothing follows.
  /// - Returns: nil if more is to come.
  /// Throws MALFORMED, LIMIT_EXCEEDED, UNSUPPORTED_VALUE (a compressed body).
  public static func read(_ bytes: [UInt8], isEnded: Bool) throws(SegueError) -> HTTPAnswer? {
    var rest = bytes[...]
    while true {
      guard let end = headEnd(rest) else {
        // All heads together: any number of interim answers may precede the one that counts.
        if bytes.count > headLimit { throw headTooLong }
        if isEnded { throw SegueError(.malformed, "the answer ends before its body") }
        return nil
      }
      guard end <= headLimit else { throw headTooLong }
      let head = try Head(rest[..<end])
      rest = bytes[end...]
      if 100..<200 ~= head.status { continue }
      guard head.status == 200 else { return HTTPAnswer(status: head.status, body: []) }
      if head.isEncoded { throw SegueError(.unsupportedValue, "the answer is compressed, and was not to be") }
      return try head.body(rest, isEnded: isEnded).map { HTTPAnswer(status: 200, body: $0) }
    }
  }

  /// The index after the empty line; nil if there is none within the limit.
  private static func headEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
    var index = bytes.startIndex
    let limit = min(bytes.endIndex, headLimit + 4)
    while index + 1 < limit {
      if bytes[index] == 0x0A {
        if bytes[index + 1] == 0x0A { return index + 2 }
        if bytes[index + 1] == 0x0D, index + 2 < limit, bytes[index + 2] == 0x0A { return index + 3 }
      }
      index += 1
    }
    return nil
  }

  private static var headTooLong: SegueError {
    SegueError(.limitExceeded, "the answer has more than \(headLimit) bytes before its body")
  }

  fileprivate static var tooLong: SegueError {
    SegueError(.limitExceeded, "the answer has more than \(bodyLimit) bytes")
  }
}

/// The status line and the fields.
private struct Head {
  let status: Int
  private(set) var isEncoded = false
  private var isChunked = false
  private var size: Int?

  init(_ bytes: ArraySlice<UInt8>) throws(SegueError) {
    var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)[...].map { line in
      line.last == 0x0D ? line.dropLast() : line
    }
    let line = lines.isEmpty ? [] : lines.removeFirst()
    let digits = line.dropFirst(9).prefix(3)
    guard line.starts(with: Array("HTTP/1.".utf8)), line.count >= 12, line[line.startIndex + 8] == 0x20,
      line.count == 12 || line[line.startIndex + 12] == 0x20, let status = Self.number(digits), 100..<600 ~= status
    else { throw SegueError(.malformed, "the answer does not begin as one of HTTP/1.1") }
    self.status = status
    for line in lines where !line.isEmpty {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
        throw SegueError(.malformed, "a field of the answer has no colon")
      }
      try take(line[..<colon].map(Self.lowered), Self.trimmed(line[(colon + 1)...]))
    }
  }

  private mutating func take(_ name: [UInt8], _ value: ArraySlice<UInt8>) throws(SegueError) {
    if name.elementsEqual("content-encoding".utf8) {
      isEncoded = isEncoded || !value.map(Self.lowered).elementsEqual("identity".utf8)
    } else if name.elementsEqual("transfer-encoding".utf8) {
      guard value.map(Self.lowered).elementsEqual("chunked".utf8) else {
        throw SegueError(.unsupportedValue, "the answer has another transfer encoding than chunked")
      }
      isChunked = true
    } else if name.elementsEqual("content-length".utf8) {
      guard let number = Self.number(value), size == nil || size == number else {
        throw SegueError(.malformed, "the answer has no, or two, lengths")
      }
      size = number
    }
  }

  /// The body; nil if more is to come.
  func body(_ bytes: ArraySlice<UInt8>, isEnded: Bool) throws(SegueError) -> [UInt8]? {
    if isChunked { return try chunks(bytes, isEnded: isEnded) }
    if let size {
      guard size <= HTTPAnswer.bodyLimit else { throw HTTPAnswer.tooLong }
      if bytes.count >= size { return Array(bytes.prefix(size)) }
      if isEnded { throw SegueError(.malformed, "the answer has \(bytes.count) bytes, and says \(size)") }
      return nil
    }
    guard bytes.count <= HTTPAnswer.bodyLimit else { throw HTTPAnswer.tooLong }
    return isEnded ? Array(bytes) : nil
  }

  private func chunks(_ bytes: ArraySlice<UInt8>, isEnded: Bool) throws(SegueError) -> [UInt8]? {
    var body: [UInt8] = []
    var index = bytes.startIndex
    while let end = bytes[index...].firstIndex(of: 0x0A) {
      let line = bytes[index..<end]
      guard let size = Self.hexadecimal(Self.trimmed(line.prefix { $0 != UInt8(ascii: ";") })) else {
        throw SegueError(.malformed, "a chunk of the answer has no size")
      }
      guard size <= HTTPAnswer.bodyLimit - body.count else { throw HTTPAnswer.tooLong }
      // Fields that follow the last chunk say nothing that is needed.
      if size == 0 { return body }
      let start = end + 1
      guard bytes.endIndex - start >= size else { break }
      body += bytes[start..<start + size]
      index = start + size
      // The line break after a chunk.
      if index < bytes.endIndex, bytes[index] == 0x0D { index += 1 }
      guard index < bytes.endIndex else { break }
      guard bytes[index] == 0x0A else { throw SegueError(.malformed, "a chunk of the answer is longer than it says") }
      index += 1
    }
    if isEnded { throw SegueError(.malformed, "the answer ends within its body") }
    guard bytes.count < HTTPAnswer.readLimit - HTTPAnswer.headLimit else { throw HTTPAnswer.tooLong }
    return nil
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    guard 1...9 ~= digits.count else { return nil }
    var number = 0
    for byte in digits {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return number
  }

  private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> Int? {
    guard 1...7 ~= digits.count else { return nil }
    var number = 0
    for byte in digits {
      switch lowered(byte) {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | Int(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | Int(lowered(byte) - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return number
  }

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while let first = text.first, first == 0x20 || first == 0x09 || first == 0x0D { text = text.dropFirst() }
    while let last = text.last, last == 0x20 || last == 0x09 || last == 0x0D { text = text.dropLast() }
    return text
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }
}
