// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Text for people: the message of an error, a log line, a problem.
///
/// Each piece of an interpolation is one call of a function that is not inlined, and the text is one reference until it
/// is read. The standard library copies the work of each piece into the caller: 800 bytes for an error with one string
/// in it (docs/decisions/two-build-modes.md).
public struct DiagnosticText: Sendable, ExpressibleByStringInterpolation {
  private let pieces: Pieces

  @inline(never)
  public init(stringLiteral: StaticString) {
    pieces = Pieces()
    pieces.appendLiteral(stringLiteral)
  }

  @inline(__always)
  public init(stringInterpolation: Pieces) { pieces = stringInterpolation }

  /// Wraps text that was built elsewhere. The label keeps literals from choosing this initialiser.
  @inline(never)
  public init(of string: String) {
    pieces = Pieces()
    pieces.appendInterpolation(string)
  }

  public var string: String { Text.decoded(pieces.bytes) }

  // Unchecked: the text changes only while its literal is evaluated, by the thread that evaluates it.
  public final class Pieces: StringInterpolationProtocol, @unchecked Sendable {
    // UTF-8: appending to a String would bring all of its indices along, of UTF-16 and of characters.
    fileprivate var bytes: [UInt8] = []

    @inline(never)
    init() {}

    /// Makes room for a text of known size.
    func reserve(_ size: Int) { bytes.reserveCapacity(size) }

    @inline(__always)
    public convenience init(literalCapacity: Int, interpolationCount: Int) { self.init() }

    @inline(__always)
    public func appendLiteral(_ literal: StaticString) {
      // The compiler also appends the empty literal before an interpolation that comes first.
      if literal.utf8CodeUnitCount > 0 { append(literal.utf8Start, literal.utf8CodeUnitCount) }
    }

    @inline(never)
    private func append(_ start: UnsafePointer<UInt8>, _ count: Int) {
      bytes.append(bytes: UnsafeRawBufferPointer(start: start, count: count))
    }

    @inline(never)
    public func appendInterpolation(_ string: String) { Text.withBytes(string) { bytes.append(bytes: $0) } }

    @inline(never)
    public func appendInterpolation(_ word: StaticString) { append(word.utf8Start, word.utf8CodeUnitCount) }

    @inline(__always)
    public func appendInterpolation(_ text: DiagnosticText) { appendInterpolation(text.string) }

    @inline(never)
    public func appendInterpolation(_ number: Int64) { appendInterpolation(String(number)) }

    @inline(never)
    public func appendInterpolation(_ number: UInt64) { appendInterpolation(String(number)) }

    @inline(__always)
    public func appendInterpolation(_ number: Int) { appendInterpolation(Int64(number)) }

    @inline(__always)
    public func appendInterpolation(_ number: Int32) { appendInterpolation(Int64(number)) }

    @inline(__always)
    public func appendInterpolation(_ number: UInt8) { appendInterpolation(UInt64(number)) }

    @inline(__always)
    public func appendInterpolation(_ number: UInt32) { appendInterpolation(UInt64(number)) }
  }
}

extension String {
  /// Puts pieces together, as `DiagnosticText` does: for text that is not for people, such as paths.
  public init(joining text: DiagnosticText) { self = text.string }
}

extension Array where Element == String {
  /// The elements one after another, with a separator between them.
  public func joined(by separator: StaticString) -> String {
    let text = DiagnosticText.Pieces()
    for (index, element) in enumerated() {
      if index > 0 { text.appendInterpolation(separator) }
      text.appendInterpolation(element)
    }
    return DiagnosticText(stringInterpolation: text).string
  }
}
