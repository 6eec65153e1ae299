// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The command of an opener, as the key `X-Segue-Open` of its file says (R13.7): a list with an argument an element,
/// which no shell reads. `%{NAME}` stands for a text of the document, and `%%` for a percent sign. An argument with a
/// name that the document lacks is left out.
public struct OpenerLine: Sendable {
  private enum Part: Sendable {
    case text(String)
    case name(String)
  }

  private let arguments: [[Part]]

  /// - Parameter elements: of the list.
  /// Throws MALFORMED, which says what is wrong; LIMIT_EXCEEDED.
  public init(_ elements: [String]) throws(SegueError) {
    guard elements.count <= Limits.launchArguments else {
      throw SegueError(.limitExceeded, "X-Segue-Open: more than \(Limits.launchArguments) arguments")
    }
    var arguments: [[Part]] = []
    for (index, element) in elements.enumerated() { arguments.append(try Self.parts(Array(element.utf8), index)) }
    guard let first = arguments.first, first.count == 1, case .text = first[0] else {
      throw SegueError(.malformed, "X-Segue-Open: expected a program as the first element")
    }
    self.arguments = arguments
  }

  /// Throws MALFORMED if a name is that of no key, or no argument names the document.
  /// - Parameter types: names of public types.
  public func check(for types: [String]) throws(SegueError) {
    var namesDocument = false
    for part in arguments.joined() {
      guard case .name(let name) = part else { continue }
      namesDocument = namesDocument || Text.isSame(name, "url") || Text.isSame(name, "path")
      let isKnown = types.contains { PublicType.named($0)?.key(name) != nil }
      guard isKnown || Text.isSame(name, "path") else {
        throw SegueError(.malformed, "X-Segue-Open: %{\(name)}: the types have no such key")
      }
    }
    guard namesDocument else { throw SegueError(.malformed, "X-Segue-Open: expected %{path} or %{url} in an argument") }
  }

  /// The program, by its name in PATH or by its absolute path.
  public var program: String { if case .text(let text)? = arguments[0].first { text } else { "" } }

  /// The program and its arguments. Throws HANDOFF_FAILED (nothing of the document is among them), LIMIT_EXCEEDED.
  public func arguments(for document: OpenedDocument) throws(SegueError) -> [String] {
    var result: [String] = []
    var size = 0
    var namesDocument = false
    for parts in arguments {
      var argument: String? = ""
      var names = false
      for part in parts {
        switch part {
        case .text(let text): argument = argument.map { String(joining: "\($0)\(text)") }
        case .name(let name):
          names = names || Text.isSame(name, "path") || Text.isSame(name, "url")
          let text = document.text(name)
          argument = text == nil ? nil : argument.map { String(joining: "\($0)\(text ?? "")") }
        }
      }
      guard let argument else { continue }
      namesDocument = namesDocument || names
      size += argument.utf8.count
      guard size <= Limits.launchBytes else {
        throw SegueError(.limitExceeded, "X-Segue-Open: more than \(Limits.launchBytes) bytes with the document")
      }
      result.append(argument)
    }
    guard namesDocument else { throw SegueError(.handoffFailed, "the program opens files, and this is none") }
    return result
  }

  private static func parts(_ element: [UInt8], _ index: Int) throws(SegueError) -> [Part] {
    var parts: [Part] = []
    var text: [UInt8] = []
    var rest = element[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        text.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "%"): text.append(byte)
      case UInt8(ascii: "{"):
        guard let end = rest.firstIndex(of: UInt8(ascii: "}")), end > rest.startIndex else { throw wrong(index) }
        if !text.isEmpty { parts.append(.text(Text.decoded(text))) }
        text = []
        parts.append(.name(Text.decoded(Array(rest[..<end]))))
        rest = rest[(end + 1)...]
      default: throw wrong(index)
      }
    }
    if !text.isEmpty { parts.append(.text(Text.decoded(text))) }
    guard !text.contains(0) else { throw SegueError(.malformed, "X-Segue-Open: there is a NUL in it") }
    return parts
  }

  private static func wrong(_ index: Int) -> SegueError {
    SegueError(.malformed, "X-Segue-Open[\(index)]: a percent sign is followed by neither {NAME} nor another one")
  }
}
