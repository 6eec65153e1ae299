// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A file in a container as it travels (R5.3): the container's identifier, and what follows the folder's path in the
/// URL (nothing, or a path that begins with a slash; then query and fragment).
///
/// An app that lacks the container has it as the URL `segue-container:IDENTIFIER/path`. The URL travels as the
/// reference again, so that the next app, or the origin that takes its activity back, has the file.
struct ContainerReference {
  static let scheme: StaticString = "segue-container:"

  /// The encoding, up to the rest.
  let start: [UInt8]
  let rest: [UInt8]

  /// The reference of a URL: of a file in a container, or of one that this app lacks; nil for other URLs.
  init?(_ url: UnsafeRawBufferPointer, _ containers: Containers) {
    if let found = containers.find(url) {
      (start, rest) = (found.container.referenceStart, found.rest)
    } else if let missing = Self.missing(url) {
      (start, rest) = (Self.start(missing.identifier), missing.rest)
    } else {
      return nil
    }
  }

  /// The start of the encodings of all references to a container's files: tag, array, identifier.
  @inline(never)
  static func start(_ identifier: [UInt8]) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 3 * Head.longest)
    let count = bytes.withUnsafeMutableBytes { buffer -> Int in
      guard let base = buffer.baseAddress else { return 0 }
      var count = Head.write(Head.Major.tag, Head.Tag.container, to: base)
      count += Head.write(Head.Major.array, 2, to: base + count)
      return count + Head.write(Head.Major.text, UInt64(identifier.count), to: base + count)
    }
    bytes.removeLast(bytes.count - count)
    return bytes + identifier
  }

  /// The identifier of the container that an app lacks, if the URL is that of a file in one.
  static func missing(_ url: String) -> String? {
    Text.withBytes(url) { url in missing(url).map { Text.decoded($0.identifier) } }
  }

  @inline(never)
  private static func missing(_ url: UnsafeRawBufferPointer) -> (identifier: [UInt8], rest: [UInt8])? {
    guard let start = url.end(of: scheme, from: 0) else { return nil }
    let end = url.endOfPath()
    var slash = start
    while slash < end, url[slash] != FilePath.slash { slash += 1 }
    var rest = url.singleSlashes(from: slash, to: end)
    rest.append(contentsOf: url.part(end, url.count))
    guard let identifier = url.decodedPath(from: start, to: slash), isIdentifier(identifier),
      identifier.withUnsafeBytes({ UTF8Text.isValid($0) }), isRest(rest)
    else { return nil }
    return (identifier, rest)
  }

  /// The start of the URLs of a container's files in an app that lacks it.
  @inline(never)
  static func url(_ identifier: [UInt8]) -> [UInt8] {
    var url = Array(UnsafeBufferPointer(start: scheme.utf8Start, count: scheme.utf8CodeUnitCount))
    FilePath.append(identifier, to: &url, keepingSlashes: false)
    return url
  }

  /// The identifiers in the references of an encoding, as they come.
  @inline(never)
  static func identifiers(in encoding: UnsafeRawBufferPointer) -> [[UInt8]] {
    var (found, offset, isReference): ([[UInt8]], Int, Bool) = ([], 0, false)
    guard let base = encoding.baseAddress else { return [] }
    while let head = Head(base + offset, upTo: encoding.count - offset), head.size <= encoding.count - offset {
      offset += head.size
      switch head.major {
      case Head.Major.tag: isReference = head.argument == Head.Tag.container
      case Head.Major.data, Head.Major.text:
        guard let count = Int(exactly: head.argument), count <= encoding.count - offset else { return found }
        if isReference { found.append(Array(encoding.part(offset, offset + count))) }
        isReference = false
        offset += count
      default: break
      }
    }
    return found
  }

  static func isIdentifier(_ bytes: [UInt8]) -> Bool {
    !bytes.isEmpty && bytes.count <= Limits.identifier && !bytes.contains(0)
  }

  /// Whether what follows the folder's path stays beneath it.
  @inline(never)
  static func isRest(_ rest: [UInt8]) -> Bool {
    rest.withUnsafeBytes { rest in
      let end = rest.endOfPath()
      return end == 0 || rest.isProperPath(from: 0, to: end)
    }
  }
}
