/// Text for people: the message of an error, a log line, a problem.
///
/// Each piece of an interpolation is one call of a function that is not inlined. The standard library copies the work
/// of each piece into the caller: 800 bytes for an error with one string in it (docs/decisions/two-build-modes.md).
public struct DiagnosticText: Sendable, ExpressibleByStringInterpolation {
  public let string: String

  @inline(never)
  public init(stringLiteral: String) { string = stringLiteral }

  @inline(never)
  public init(stringInterpolation: Pieces) { string = stringInterpolation.text }

  /// Wraps text that was built elsewhere. The label keeps literals from choosing this initialiser.
  public init(of string: String) { self.string = string }

  public struct Pieces: StringInterpolationProtocol {
    fileprivate var text = ""

    @inline(never)
    public init(literalCapacity: Int, interpolationCount: Int) {}

    @inline(never)
    public mutating func appendLiteral(_ literal: String) { text += literal }

    @inline(never)
    public mutating func appendInterpolation(_ string: String) { text += string }

    @inline(never)
    public mutating func appendInterpolation(_ word: StaticString) { text += "\(word)" }

    @inline(__always)
    public mutating func appendInterpolation(_ text: DiagnosticText) { appendInterpolation(text.string) }

    @inline(never)
    public mutating func appendInterpolation(_ number: Int64) { text += String(number) }

    @inline(never)
    public mutating func appendInterpolation(_ number: UInt64) { text += String(number) }

    @inline(__always)
    public mutating func appendInterpolation(_ number: Int) { appendInterpolation(Int64(number)) }

    @inline(__always)
    public mutating func appendInterpolation(_ number: Int32) { appendInterpolation(Int64(number)) }

    @inline(__always)
    public mutating func appendInterpolation(_ number: UInt8) { appendInterpolation(UInt64(number)) }

    @inline(__always)
    public mutating func appendInterpolation(_ number: UInt32) { appendInterpolation(UInt64(number)) }
  }
}
