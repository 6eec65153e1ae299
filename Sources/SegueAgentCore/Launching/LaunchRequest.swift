// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// A request of the agent to its launcher, as it crosses the socket between them. The list of requests is closed, and
/// none of them names a program or its arguments. So an agent that an attacker controls can start what the user has
/// installed, and nothing else (A27).
public struct LaunchRequest: Sendable {
  /// Bytes of an encoded request.
  public static let sizeLimit = 64 * 1024
  /// The kinds have numbers on the wire, and texts as their arguments.
  public enum Kind: Sendable {
    /// Number 1: starts the app of a bundle identifier, by its manifest and `.desktop` file, which the launcher reads.
    case startApp(String)
    /// A kind that this launcher does not know: it is refused.
    case unknown(UInt64)
  }

  public let kind: Kind
  /// From the control client: of `LaunchVariable.names`, those that replace the launcher's own.
  public let environment: [LaunchVariable]

  public init(_ kind: Kind, environment: [LaunchVariable] = []) {
    self.kind = kind
    self.environment = environment
  }

  /// The app, for the rate and for messages.
  public var app: String {
    switch kind {
    case .startApp(let app): app
    case .unknown(let number): "kind \(number)"
    }
  }

  /// Throws INVALID_ARGUMENT, which names what is wrong.
  public func check() throws(SegueError) {
    guard case .startApp(let app) = kind else {
      throw SegueError(.invalidArgument, "launch: the launcher knows no request of \(app)")
    }
    try Text.check(app, "launch: app", atMost: Limits.identifier)
    for variable in environment {
      guard LaunchVariable.names.contains(where: { Text.isSame($0, variable.name) }) else {
        throw SegueError(.invalidArgument, "launch of \(app): the variable \(variable.name) may not be set")
      }
      guard !Text.has(variable.value, 0) else {
        throw SegueError(.invalidArgument, "launch of \(app): there is a NUL in \(variable.name)")
      }
    }
  }

  // MARK: - Encoding

  /// Encodes the request with its number: the number of its kind, the kind's texts, and the variables. Throws
  /// LIMIT_EXCEEDED if it is too long.
  public func encoded(as number: UInt64) throws(SegueError) -> [UInt8] {
    var writer = ValueWriter()
    try writer.begin(.array)
    try writer.put(number)
    switch kind {
    case .startApp(let app):
      try writer.put(UInt64(1))
      try writer.begin(.array)
      try writer.put(app)
    case .unknown(let kind):
      try writer.put(kind)
      try writer.begin(.array)
    }
    try writer.end()
    try writer.begin(.array)
    for variable in environment {
      try writer.put(variable.name)
      try writer.put(variable.value)
    }
    try writer.end()
    try writer.end()
    guard writer.count <= Self.sizeLimit else {
      throw SegueError(
        .limitExceeded, "launch of \(app): \(writer.count) bytes, at most \(Self.sizeLimit) can be sent")
    }
    return writer.withWritten { Array($0) }
  }

  /// Nil unless the bytes are a numbered request.
  public static func decode(_ bytes: UnsafeRawBufferPointer) -> (number: UInt64, request: LaunchRequest)? {
    guard bytes.count <= sizeLimit, var reader = FlatReader(bytes), reader.array() == 4,
      let number = reader.unsigned(), let kind = reader.unsigned(), let texts = Self.texts(&reader),
      let words = Self.texts(&reader), words.count % 2 == 0
    else { return nil }
    let environment = stride(from: 0, to: words.count, by: 2).map {
      LaunchVariable(name: words[$0], value: words[$0 + 1])
    }
    guard kind == 1 else { return (number, LaunchRequest(.unknown(kind), environment: environment)) }
    guard texts.count == 1 else { return nil }
    return (number, LaunchRequest(.startApp(texts[0]), environment: environment))
  }

  private static func texts(_ reader: inout FlatReader) -> [String]? {
    guard let count = reader.array() else { return nil }
    var texts: [String] = []
    for _ in 0..<count {
      guard let text = reader.string(atMost: sizeLimit) else { return nil }
      texts.append(text)
    }
    return texts
  }
}
