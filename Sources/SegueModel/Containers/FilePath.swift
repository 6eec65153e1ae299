// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The path of a `file:` URL, as bytes: percent-encoding (RFC 3986 §2.1) and components.
extension UnsafeRawBufferPointer {
  /// Whether a path stays inside its folder: it begins with a slash, no component is `.` or `..`, none is empty but the
  /// last, and none has an encoded slash or NUL. So no program reads it as another file.
  func isProperPath(from start: Int, to end: Int) -> Bool {
    guard start < end, self[start] == FilePath.slash else { return false }
    var offset = start + 1
    var component = offset
    while offset < end {
      let byte = self[offset]
      if byte == FilePath.slash {
        guard offset > component, !isDots(from: component, to: offset) else { return false }
        component = offset + 1
        offset += 1
      } else if byte == UInt8(ascii: "%") {
        offset += 1
        let decoded = escaped(&offset, end)
        guard decoded > 0, decoded != Int(FilePath.slash) else { return false }
      } else {
        guard byte != 0 else { return false }
        offset += 1
      }
    }
    return !isDots(from: component, to: end)
  }

  /// Whether these bytes are one encoded dot, or two.
  @inline(__always)
  private func isDots(from start: Int, to end: Int) -> Bool { end - start <= 6 && isEncodedDots(start, end) }

  @inline(never)
  private func isEncodedDots(_ start: Int, _ end: Int) -> Bool {
    var offset = start
    var dots = 0
    while offset < end {
      guard decoded(&offset, end) == 0x2e else { return false }
      dots += 1
    }
    return dots == 1 || dots == 2
  }

  /// The offset behind `folder`, with which this decoded path begins; nil if it is neither that folder nor beneath it.
  func endOfFolder(_ folder: [UInt8]) -> Int? {
    var offset = 0
    for byte in folder {
      guard offset < count, decoded(&offset, count) == Int(byte) else { return nil }
    }
    return offset == count || self[offset] == FilePath.slash ? offset : nil
  }

  /// The path of a `file:` URL of this device (RFC 8089), still encoded, with a single slash for several in a row, as
  /// the system reads them. Nil if it is another URL, or of another host.
  @inline(never)
  func pathOfFile() -> [UInt8]? {
    guard let scheme = end(of: "file:", from: 0) else { return nil }
    let pathEnd = endOfPath()
    guard let slashes = end(of: "//", from: scheme) else { return singleSlashes(from: scheme, to: pathEnd) }
    // Without a host, or with the name of this one.
    return singleSlashes(from: end(of: "localhost", from: slashes) ?? slashes, to: pathEnd)
  }

  /// These bytes, with a single slash for several in a row.
  @inline(never)
  func singleSlashes(from start: Int, to end: Int) -> [UInt8] {
    var path: [UInt8] = []
    path.reserveCapacity(end - start)
    var from = start
    var offset = start
    while offset < end {
      offset += 1
      guard offset < end, self[offset] == FilePath.slash, self[offset - 1] == FilePath.slash else { continue }
      path.append(contentsOf: part(from, offset))
      while offset < end, self[offset] == FilePath.slash { offset += 1 }
      from = offset
    }
    path.append(contentsOf: part(from, end))
    return path
  }

  /// The bytes in between.
  @inline(__always)
  func part(_ start: Int, _ end: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[start..<end]) }

  /// The decoded bytes; nil if the encoding is wrong.
  func decodedPath(from start: Int, to end: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    var offset = start
    while offset < end {
      let byte = decoded(&offset, end)
      guard byte >= 0 else { return nil }
      bytes.append(UInt8(truncatingIfNeeded: byte))
    }
    return bytes
  }

  /// The byte at `offset`, which moves behind it; negative if a percent sign is not followed by two hexadecimal digits.
  @inline(__always)
  private func decoded(_ offset: inout Int, _ end: Int) -> Int {
    let byte = self[offset]
    offset += 1
    return byte == UInt8(ascii: "%") ? escaped(&offset, end) : Int(byte)
  }

  @inline(never)
  private func escaped(_ offset: inout Int, _ end: Int) -> Int {
    guard end - offset >= 2 else { return -1 }
    let (high, low) = (Self.digit(self[offset]), Self.digit(self[offset + 1]))
    offset += 2
    return high < 0 || low < 0 ? -1 : high << 4 | low
  }

  @inline(never)
  private static func digit(_ byte: UInt8) -> Int {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) - 0x30
    case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte | 0x20) - 0x57
    default: -1
    }
  }

  /// The offset behind the path of a URL: that of the query, of the fragment, or of the end.
  @inline(never)
  func endOfPath() -> Int {
    var offset = 0
    while offset < count, self[offset] != UInt8(ascii: "?"), self[offset] != UInt8(ascii: "#") { offset += 1 }
    return offset
  }

  /// The offset behind a text in lower case, which stands at `start` in any case; nil if it does not.
  @inline(never)
  func end(of text: StaticString, from start: Int) -> Int? {
    guard count - start >= text.utf8CodeUnitCount else { return nil }
    for index in 0..<text.utf8CodeUnitCount {
      let byte = self[start + index]
      let lower = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
      guard lower == text.utf8Start[index] else { return nil }
    }
    return start + text.utf8CodeUnitCount
  }
}

extension AbsoluteURL {
  /// Whether this is the URL of a file, wherever that is: with an absolute path (RFC 8089 §2).
  public static func isFile(_ url: [UInt8]) -> Bool { url.withUnsafeBytes { $0.end(of: "file:/", from: 0) != nil } }

  /// Whether a `file:` URL has a query or a fragment, which are no part of a file's name.
  public static func isFileWithMore(_ url: String) -> Bool {
    Text.withBytes(url) { $0.end(of: "file:", from: 0) != nil && $0.endOfPath() < $0.count }
  }

  /// Whether a URL has a query or a fragment.
  static func hasMore(_ url: [UInt8]) -> Bool { url.withUnsafeBytes { $0.endOfPath() < $0.count } }

  /// The rest of the message of an error for such a URL of a file.
  public static let more: StaticString =
    "has a query or a fragment, which no file has; in a name write ? as %3F and # as %23"

  /// The path of a `file:` URL of this device, decoded; nil for another URL, one with a query, a fragment or another
  /// host, and a path with `.`, `..`, or an encoded slash or NUL.
  public static func filePath(_ url: String) -> [UInt8]? {
    guard !isFileWithMore(url), let path = Text.withBytes(url, { $0.pathOfFile() }) else { return nil }
    return path.withUnsafeBytes { $0.isProperPath(from: 0, to: $0.count) ? $0.decodedPath(from: 0, to: $0.count) : nil }
  }

  /// The last component of such a path, for people; nil if it has none, or a longer one than a title may be.
  public static func fileName(_ url: String) -> String? {
    guard let path = filePath(url) else { return nil }
    let end = path.last == FilePath.slash ? path.count - 1 : path.count
    var start = end
    while start > 0, path[start - 1] != FilePath.slash { start -= 1 }
    let name = path.withUnsafeBytes { Text.decoded($0.part(start, end)) }
    return start < end && Text.size(name) <= Limits.title ? name : nil
  }

  /// The `file:` URL of an absolute path.
  public static func file(_ path: [UInt8]) -> String {
    var url = Text.bytes("file://")
    FilePath.append(path, to: &url, keepingSlashes: true)
    return Text.decoded(url)
  }
}

enum FilePath {
  static let slash = UInt8(ascii: "/")

  /// Appends bytes percent-encoded: all but the unreserved characters (RFC 3986 §2.3), and slashes if they are kept.
  @inline(never)
  static func append(_ bytes: [UInt8], to text: inout [UInt8], keepingSlashes: Bool) {
    let digits: StaticString = "0123456789ABCDEF"
    for byte in bytes {
      if isUnreserved(byte) || keepingSlashes && byte == slash {
        text.append(byte)
      } else {
        text.append(UInt8(ascii: "%"))
        text.append(digits.utf8Start[Int(byte >> 4)])
        text.append(digits.utf8Start[Int(byte & 15)])
      }
    }
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
