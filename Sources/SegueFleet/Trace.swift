import SegueModel

/// What happened in a fleet, a line an event: when, who, what.
///
///     12.345 phone/notes     will_continue com.example.note
public struct Trace {
  /// Bytes of text that are kept; when there are more, the older half goes. The hash is of all lines.
  private static let limit = 64 * 1024 * 1024
  /// FNV-1a, 64 bits.
  private static let offset: UInt64 = 0xcbf2_9ce4_8422_2325
  private static let prime: UInt64 = 0x0000_0100_0000_01b3
  /// Columns of who.
  private static let width = 16

  /// Of all lines so far.
  public private(set) var hash = Trace.offset
  /// Whether lines are kept; their hash is taken in any case.
  var keepsText = true
  private var text: [UInt8] = []
  private var line: [UInt8] = []

  /// The lines that are kept.
  public var lines: String { String(decoding: text, as: UTF8.self) }

  /// - Parameter elapsed: milliseconds since the fleet began.
  mutating func add(_ elapsed: Int64, _ who: String, _ what: StaticString, _ detail: String? = nil) {
    begin(elapsed, who, what)
    if let detail {
      put(" ")
      put(detail)
    }
    end()
  }

  /// The same of an activity, in detail: `phone/com.example.note "Title"`.
  /// - Parameter device: where it is; nil: that goes without saying.
  mutating func add(
    _ elapsed: Int64, _ who: String, _ what: StaticString, type: String, title: String?, on device: String?
  ) {
    begin(elapsed, who, what)
    put(" ")
    if let device {
      put(device)
      put("/")
    }
    put(type)
    if let title {
      put(" \"")
      put(title)
      put("\"")
    }
    end()
  }

  private mutating func begin(_ elapsed: Int64, _ who: String, _ what: StaticString) {
    line.removeAll(keepingCapacity: true)
    appendTime(elapsed)
    put(who)
    for _ in 0..<max(1, Self.width - who.utf8.count) { line.append(UInt8(ascii: " ")) }
    put(what)
  }

  private mutating func put(_ text: String) { line.append(contentsOf: text.utf8) }

  private mutating func put(_ text: StaticString) {
    line.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private mutating func end() {
    var hash = hash
    line.withUnsafeMutableBufferPointer { line in
      for index in line.indices {
        // Names and titles come from outside: a line stays a line.
        if line[index] < 0x20 || line[index] == 0x7f { line[index] = UInt8(ascii: "?") }
        hash = (hash ^ UInt64(line[index])) &* Self.prime
      }
    }
    line.append(UInt8(ascii: "\n"))
    self.hash = (hash ^ UInt64(UInt8(ascii: "\n"))) &* Self.prime
    guard keepsText else { return }
    if text.count > Self.limit { dropOlderHalf() }
    text.append(contentsOf: line)
  }

  private mutating func appendTime(_ elapsed: Int64) {
    let seconds = elapsed / 1000
    for _ in 0..<max(0, 5 - digits(seconds)) { line.append(UInt8(ascii: " ")) }
    appendDecimal(seconds)
    line.append(UInt8(ascii: "."))
    let rest = elapsed % 1000
    if rest < 100 { line.append(UInt8(ascii: "0")) }
    if rest < 10 { line.append(UInt8(ascii: "0")) }
    appendDecimal(rest)
    line.append(UInt8(ascii: " "))
  }

  private func digits(_ number: Int64) -> Int {
    var count = 1
    var rest = number / 10
    while rest > 0 {
      count += 1
      rest /= 10
    }
    return count
  }

  private mutating func appendDecimal(_ number: Int64) {
    if number >= 10 { appendDecimal(number / 10) }
    line.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
  }

  private mutating func dropOlderHalf() {
    let half = text.count / 2
    let end = text[half...].firstIndex(of: UInt8(ascii: "\n")) ?? half
    text.removeFirst(end + 1)
  }
}
