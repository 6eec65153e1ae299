// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CExpat
import SegueModel

/// Reads an XML property list with expat. A document type declaration is accepted, since every list of Apple's has one,
/// but nothing is loaded, and one that declares something is refused: no entities.
final class XMLPropertyListReader {
  /// An array or a dictionary that is open.
  private struct Container {
    let isDictionary: Bool
    var elements: [PropertyList] = []
    var entries = PropertyListEntries()
    var key: String?
  }

  private enum Element {
    case plist, array, dictionary, key, string, integer, yes, no, other(StaticString)
  }

  private let expat: UnsafePointer<expat>
  private var parser: XML_Parser?
  private var bounds = PropertyListBounds()
  private var open: [Container] = []
  /// The element whose text is read.
  private var leaf: Element?
  private var text: [UInt8] = []
  private var isInside = false
  private var result: PropertyList?
  private var failure: SegueError?

  /// Throws SYSTEM if there is no expat.
  init() throws(SegueError) { expat = try Expat.functions }

  func read(_ bytes: UnsafeRawBufferPointer) throws(SegueError) -> PropertyList {
    guard let parser = expat.pointee.XML_ParserCreate(nil) else {
      throw SegueError(.system, "no memory for an XML parser")
    }
    self.parser = parser
    defer { expat.pointee.XML_ParserFree(parser) }
    setHandlers(parser)
    guard let count = Int32(exactly: bytes.count) else { throw SegueError(.limitExceeded, "more than 2 GiB") }
    let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    let status = expat.pointee.XML_Parse(parser, start, count, 1)
    let line = UInt64(expat.pointee.XML_GetCurrentLineNumber(parser))
    if let failure { throw SegueError(failure.status, "line \(line): \(failure.message)") }
    guard status == XML_STATUS_OK else {
      let cause =
        expat.pointee.XML_ErrorString(expat.pointee.XML_GetErrorCode(parser)).map { String(cString: $0) } ?? "not XML"
      throw SegueError(.malformed, "line \(line): \(cause); expected a property list, XML or binary")
    }
    guard let result else { throw SegueError(.malformed, "the property list is empty") }
    return result
  }

  // The reader outlives the parser, whose user data it is.
  private func setHandlers(_ parser: XML_Parser) {
    expat.pointee.XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    expat.pointee.XML_SetElementHandler(
      parser,
      { data, name, _ in
        guard let name else { return }
        XMLPropertyListReader.of(data).handle { reader throws(SegueError) in try reader.begin(String(cString: name)) }
      },
      { data, _ in XMLPropertyListReader.of(data).handle { reader throws(SegueError) in try reader.end() } })
    expat.pointee.XML_SetCharacterDataHandler(parser) { data, text, count in
      XMLPropertyListReader.of(data).handle { reader throws(SegueError) in
        try reader.append(UnsafeRawBufferPointer(start: text, count: Int(count)))
      }
    }
    expat.pointee.XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, hasSubset in
      guard hasSubset != 0 else { return }
      XMLPropertyListReader.of(data).handle { _ throws(SegueError) in
        throw SegueError(.malformed, "the document type declares something of its own, which is refused")
      }
    }
    expat.pointee.XML_SetEntityDeclHandler(parser) { data, _, _, _, _, _, _, _, _ in
      XMLPropertyListReader.of(data).handle { _ throws(SegueError) in
        throw SegueError(.malformed, "an entity is declared, which is refused")
      }
    }
    // The declaration of Apple's document type is not loaded, so that expat skips what it might declare.
    expat.pointee.XML_SetSkippedEntityHandler(parser) { data, name, _ in
      XMLPropertyListReader.of(data).handle { _ throws(SegueError) in
        let name = name.map { String(cString: $0) } ?? ""
        throw SegueError(.malformed, "the entity &\(name); is not declared")
      }
    }
  }

  private static func of(_ data: UnsafeMutableRawPointer?) -> XMLPropertyListReader {
    Unmanaged<XMLPropertyListReader>.fromOpaque(data!).takeUnretainedValue()
  }

  /// Does the work of a handler. The first error stops the parser; expat may still call one more handler.
  private func handle(_ work: (XMLPropertyListReader) throws(SegueError) -> Void) {
    guard failure == nil else { return }
    do throws(SegueError) {
      try work(self)
    } catch {
      failure = error
      _ = expat.pointee.XML_StopParser(parser, 0)
    }
  }

  // MARK: - Elements

  private func begin(_ name: String) throws(SegueError) {
    let element = try Self.element(name)
    guard leaf == nil else { throw SegueError(.malformed, "<\(name)> inside of a value that contains only text") }
    if case .plist = element {
      guard !isInside else { throw SegueError(.malformed, "<plist> inside of <plist>") }
      isInside = true
      return
    }
    guard isInside else { throw SegueError(.malformed, "<\(name)>: expected <plist> around the property list") }
    try bounds.count(depth: open.count + 1)
    try checkPlace(element, name)
    switch element {
    case .array: open.append(Container(isDictionary: false))
    case .dictionary: open.append(Container(isDictionary: true))
    default:
      leaf = element
      text.removeAll(keepingCapacity: true)
    }
  }

  /// Keys and values alternate in a dictionary, and there are none elsewhere.
  private func checkPlace(_ element: Element, _ name: String) throws(SegueError) {
    let isKey = if case .key = element { true } else { false }
    guard let last = open.last else {
      guard !isKey else { throw SegueError(.malformed, "<key> outside of a dictionary") }
      guard result == nil else { throw SegueError(.malformed, "<\(name)> after the end of the property list") }
      return
    }
    guard last.isDictionary else {
      guard !isKey else { throw SegueError(.malformed, "<key> in an array") }
      return
    }
    if let key = last.key {
      guard !isKey else { throw SegueError(.malformed, "the key \(key) has no value") }
    } else {
      guard isKey else { throw SegueError(.malformed, "<\(name)> in a dictionary: expected <key> before it") }
    }
  }

  private func end() throws(SegueError) {
    if let leaf {
      self.leaf = nil
      if case .key = leaf {
        open[open.count - 1].key = Text.decoded(text)
        return
      }
      return try put(try value(of: leaf))
    }
    // The end of <plist>.
    guard let container = open.popLast() else { return }
    if let key = container.key { throw SegueError(.malformed, "the key \(key) has no value") }
    try put(container.isDictionary ? .dictionary(container.entries.entries) : .array(container.elements))
  }

  private func put(_ value: PropertyList) throws(SegueError) {
    guard !open.isEmpty else {
      result = value
      return
    }
    let last = open.count - 1
    guard open[last].isDictionary else {
      open[last].elements.append(value)
      return
    }
    guard let key = open[last].key else { return }
    open[last].key = nil
    try open[last].entries.append(key, value)
  }

  private func append(_ more: UnsafeRawBufferPointer) throws(SegueError) {
    guard leaf == nil else { return text.append(bytes: more) }
    guard more.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) else {
      throw SegueError(.malformed, "text outside of a value")
    }
  }

  private func value(of element: Element) throws(SegueError) -> PropertyList {
    switch element {
    case .string: return .string(Text.decoded(text))
    case .integer:
      guard let number = IntegerText.read(text) else {
        throw SegueError(
          .malformed, "<integer>\(String(decoding: text.prefix(64), as: UTF8.self)): expected an integer of 64 bits")
      }
      return .integer(number)
    case .yes: return .boolean(true)
    case .no: return .boolean(false)
    case .other(let name): return .other(name)
    case .plist, .array, .dictionary, .key: return .other("no value")
    }
  }

  private static func element(_ name: String) throws(SegueError) -> Element {
    switch true {
    case Text.isSame(name, "dict"): return .dictionary
    case Text.isSame(name, "key"): return .key
    case Text.isSame(name, "string"): return .string
    case Text.isSame(name, "array"): return .array
    case Text.isSame(name, "true"): return .yes
    case Text.isSame(name, "false"): return .no
    case Text.isSame(name, "integer"): return .integer
    case Text.isSame(name, "real"): return .other("a real number")
    case Text.isSame(name, "date"): return .other("a date")
    case Text.isSame(name, "data"): return .other("data")
    case Text.isSame(name, "plist"): return .plist
    default: throw SegueError(.malformed, "<\(name)> is no element of a property list")
    }
  }
}
