// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Values as JSON text (RFC 8259).
extension Value {
  /// Decodes a value. Objects become dictionaries, digits without point and exponent integers, other numbers doubles.
  ///
  /// Throws MALFORMED (not JSON; a key twice in one object; in tagged text an unknown or wrong tag), UNSUPPORTED_VALUE
  /// (an integer beyond 64 bits, a number beyond the range of doubles), LIMIT_EXCEEDED (nesting, size), each with the
  /// offset and the path (RFC 6901) of what it is about; INVALID_ARGUMENT for text for people.
  public init(json: UnsafeRawBufferPointer, _ mode: JSONMode) throws(SegueError) {
    guard mode != .forPeople else { throw SegueError(.invalidArgument, "mode: text for people cannot be decoded") }
    self = try JSONDecoder.value(of: json, mode)
  }

  /// Encodes the value: no white space, except for people. Equal values give equal text.
  ///
  /// Throws UNSUPPORTED_VALUE, with the path, for what JSON lacks in plain text; LIMIT_EXCEEDED (size).
  ///
  /// - Parameter body: gets the text.
  public func withJSON<Output>(
    _ mode: JSONMode, _ body: (UnsafeRawBufferPointer) throws(SegueError) -> Output
  ) throws(SegueError) -> Output {
    let text = try JSONEncoder.text(of: self, mode)
    return try withExtendedLifetime(text) { () throws(SegueError) in try body(text.written) }
  }
}
