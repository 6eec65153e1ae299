// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Writes the elements of messages one by one, or reads those of one message. Each `code` writes the value that it
/// gets, or reads and checks one, and returns it: so a message lists its elements once, for both directions. A reader
/// reads missing elements as null and skips surplus ones. After the first failure all calls do nothing.
struct MessageCoder {
  /// The first error; the message is then worthless.
  private(set) var failure: SegueError?
  /// Nil: writes.
  private var reader: FlatReader?
  private var writer = ValueWriter()
  /// The number of the message that is read.
  let number: UInt64
  /// The remaining and the taken elements of the message, or of the current array in it. A writer has none.
  private(set) var count = 0
  private var taken = 0
  /// The same for the message while an array in it is read.
  private var outer = (count: 0, taken: 0)
  /// The same while an array in that array is read.
  private var outermost = (count: 0, taken: 0)

  /// Writes messages.
  init() { number = 0 }

  /// Reads a message: the elements after its number, of which there are `count`.
  init(_ reader: FlatReader, number: UInt64, count: Int) {
    self.reader = reader
    self.number = number
    self.count = count
  }

  /// Writes a message in place of the last one.
  /// Throws LIMIT_EXCEEDED if the message is too long to be sent.
  mutating func write(_ message: Message) throws(SegueError) {
    failure = nil
    writer.reset()
    try writer.begin(.array)
    try writer.put(message.number)
    var message = message
    message.code(with: &self)
    if let failure { throw failure }
    try writer.end()
    guard writer.count <= Frame.messageLimit else {
      throw SegueError(.limitExceeded, "message: \(writer.count) bytes, at most \(Frame.messageLimit) can be sent")
    }
  }

  /// Passes the encoding of the message that was written.
  func withWritten<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { writer.withWritten(body) }

  /// Whether it reads a message; otherwise it writes one.
  var isReading: Bool { reader != nil }

  // MARK: - Failures, null and arrays

  /// The element that is read is not what is expected.
  /// - Parameter limit: in bytes.
  @inline(never)
  mutating func fail(_ expected: StaticString, atMost limit: Int? = nil) {
    let bound: DiagnosticText = if let limit { " of \(limit) bytes at most" } else { "" }
    fail(SegueError(.malformed, "message \(number): element \(taken) is not \(expected)\(bound)"))
  }

  private mutating func fail(_ error: SegueError) {
    if failure == nil { failure = error }
    // Nothing is left to read.
    count = 0
    outer.count = 0
    outermost.count = 0
  }

  private mutating func write(_ body: (inout ValueWriter) throws(SegueError) -> Void) {
    do throws(SegueError) { try body(&writer) } catch { fail(error) }
  }

  /// Moves the reader to the next element; false if it is missing.
  private mutating func next() -> Bool {
    taken += 1
    guard count > 0 else { return false }
    count -= 1
    return true
  }

  /// Whether the next element has a value: writes, reads or skips null if not.
  /// - Parameter isLast: is left out instead of null.
  mutating func hasValue(_ isThere: Bool, isLast: Bool = false) -> Bool {
    guard isReading else {
      if !isThere && !isLast { write { (writer) throws(SegueError) in try writer.putNull() } }
      return isThere
    }
    guard count == 0 || reader?.null() == true else { return true }
    _ = next()
    return false
  }

  /// Enters an array in the message, whose elements follow until `leave`.
  mutating func enter(_ expected: StaticString) {
    guard isReading else { return write { (writer) throws(SegueError) in try writer.begin(.array) } }
    guard next(), let array = reader?.array() else { return fail(expected) }
    (outermost, outer) = (outer, (count, taken))
    (count, taken) = (array, 0)
  }

  /// Leaves the array; surplus elements are skipped.
  mutating func leave() {
    guard isReading else { return write { (writer) throws(SegueError) in try writer.end() } }
    reader?.skip(count)
    (count, taken) = outer
    outer = outermost
  }

  /// Codes the elements up to the end of an array. Leaves out those for which `body` returns nil.
  /// - Parameter blank: the argument of `body` for a reader.
  mutating func code<Element>(
    _ elements: [Element], blank: Element, _ body: (inout MessageCoder, Element) -> Element?
  ) -> [Element] {
    var coded: [Element] = []
    var index = 0
    while isReading ? count > 0 : index < elements.count {
      let element = isReading ? blank : elements[index]
      if let element = body(&self, element), isReading { coded.append(element) }
      index += 1
    }
    return coded
  }

  // MARK: - Elements

  mutating func code(_ value: UInt64) -> UInt64 {
    guard isReading else {
      write { (writer) throws(SegueError) in try writer.put(value) }
      return value
    }
    if next(), let read = reader?.unsigned() { return read }
    fail("an unsigned number")
    return value
  }

  mutating func code(_ value: UInt32, _ expected: StaticString = "a channel") -> UInt32 {
    if let coded = UInt32(exactly: code(UInt64(value))) { return coded }
    fail(expected)
    return value
  }

  /// A duration; more than a year counts as a year, so that sums do not overflow.
  mutating func code(milliseconds: Int64, atMost limit: UInt64 = 366 * 86_400_000) -> Int64 {
    Int64(min(code(UInt64(max(0, milliseconds))), limit))
  }

  mutating func code(_ value: Bool) -> Bool {
    guard isReading else {
      write { (writer) throws(SegueError) in try writer.put(value) }
      return value
    }
    if next(), let read = reader?.bool() { return read }
    fail("true or false")
    return value
  }

  /// The last element, a duration; left out if it is 0.
  mutating func code(last milliseconds: Int64) -> Int64 {
    hasValue(milliseconds > 0, isLast: true) ? code(milliseconds: milliseconds) : 0
  }

  /// The last element, a text for people; left out if it is empty.
  mutating func code(last text: String) -> String {
    hasValue(!text.utf8.isEmpty, isLast: true) ? code(text, atMost: Limits.title) : ""
  }

  /// Codes a flag: false is null, or left out if it is the last element.
  mutating func code(flag: Bool, isLast: Bool = true) -> Bool { hasValue(flag, isLast: isLast) && code(flag) }

  mutating func code(_ value: Identifier) -> Identifier {
    guard isReading else {
      write { (writer) throws(SegueError) in try writer.put(value) }
      return value
    }
    if next(), let read = reader?.uuid() { return read }
    fail("an identifier")
    return value
  }

  mutating func code(orNull value: Identifier?) -> Identifier? {
    hasValue(value != nil) ? code(value ?? .blank) : nil
  }

  mutating func code(_ value: String, atMost limit: Int = Limits.identifier) -> String {
    guard isReading else {
      write { (writer) throws(SegueError) in try writer.put(value) }
      return value
    }
    if next(), let read = reader?.string(atMost: limit) { return read }
    fail("text", atMost: limit)
    return value
  }

  /// Codes a text that may be missing: null, or left out if it is the last element.
  mutating func code(optional text: String?, atMost limit: Int, isLast: Bool) -> String? {
    hasValue(text != nil, isLast: isLast) ? code(text ?? "", atMost: limit) : nil
  }

  mutating func code(bytes value: [UInt8]) -> [UInt8] {
    guard isReading else {
      write { (writer) throws(SegueError) in try writer.put(data: value) }
      return value
    }
    if next(), let read = reader?.data() { return read }
    fail("bytes")
    return value
  }
}
