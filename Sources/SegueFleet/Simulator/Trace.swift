// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The log of a fleet, one line per event: time, app, action.
///
///     12.345 phone/notes     will_continue com.example.note
public struct Trace {
  /// The most bytes of text that are kept; beyond that the older half is dropped. The hash covers all lines.
  private static let limit = 64 * 1024 * 1024
  /// FNV-1a, 64 bits.
  private static let offset: UInt64 = 0xcbf2_9ce4_8422_2325
  private static let prime: UInt64 = 0x0000_0100_0000_01b3
  /// The width of the name column.
  private static let width = 16

  /// The hash of all lines so far.
  public private(set) var hash = Trace.offset
  /// The first violated invariant, or nil.
  private(set) var violation: String?
  /// The kept lines; the bytes after `end` are free.
  private var text: [UInt8] = []
  private var end = 0

  /// The lines that are kept.
  public var lines: String { Text.decoded(Array(text[..<end])) }

  /// Notes a violated invariant. Called once.
  mutating func note(_ violation: String) { self.violation = violation }

  /// - Parameter elapsed: milliseconds since the fleet began.
  mutating func add(_ elapsed: Int64, _ who: String, _ what: StaticString, _ detail: String? = nil) {
    let length = Line.length(who, what) + (detail.map { 1 + Text.size($0) } ?? 0)
    write(atMost: length) { line in
      line.begin(elapsed, who, what)
      if let detail {
        line.put(UInt8(ascii: " "))
        line.put(detail)
      }
    }
  }

  /// Adds a line about an activity: `phone/com.example.note "Title"`.
  /// - Parameter device: its device; nil to leave it out.
  mutating func add(
    _ elapsed: Int64, _ who: String, _ what: StaticString, type: String, title: String?, on device: String?
  ) {
    let detail = (device.map { Text.size($0) + 1 } ?? 0) + Text.size(type) + (title.map { 3 + Text.size($0) } ?? 0)
    write(atMost: Line.length(who, what) + 1 + detail) { line in
      line.begin(elapsed, who, what)
      line.put(UInt8(ascii: " "))
      if let device {
        line.put(device)
        line.put(UInt8(ascii: "/"))
      }
      line.put(type)
      if let title {
        line.put(UInt8(ascii: " "))
        line.put(UInt8(ascii: "\""))
        line.put(title)
        line.put(UInt8(ascii: "\""))
      }
    }
  }

  /// Adds what `body` writes, at most `length` bytes, as a line.
  private mutating func write(atMost length: Int, _ body: (inout Line) -> Void) {
    if end > Self.limit { dropOlderHalf() }
    makeRoom(length + 1)
    var hash = hash
    end += text.withUnsafeMutableBytes { text in
      let bytes = UnsafeMutableRawBufferPointer(rebasing: text[end...])
      var line = Line(bytes)
      body(&line)
      for index in 0..<line.count {
        // Names and titles come from outside: keeps each entry on one line.
        if bytes[index] < 0x20 || bytes[index] == 0x7f { bytes[index] = UInt8(ascii: "?") }
        hash = (hash ^ UInt64(bytes[index])) &* Self.prime
      }
      line.put(UInt8(ascii: "\n"))
      return line.count
    }
    self.hash = (hash ^ UInt64(UInt8(ascii: "\n"))) &* Self.prime
  }

  private mutating func makeRoom(_ count: Int) {
    guard text.count - end < count else { return }
    let room = max(end + count, 2 * end, 1_024)
    text = text.withUnsafeBytes { [UInt8](UnsafeRawBufferPointer(rebasing: $0[..<end]), room: room) }
  }

  /// A line that is being written into free space.
  private struct Line {
    private let bytes: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }

    /// The most bytes that `begin` writes.
    static func length(_ who: String, _ what: StaticString) -> Int {
      // 64 bits are 19 digits and a point.
      24 + Text.size(who) + Trace.width + what.utf8CodeUnitCount
    }

    mutating func begin(_ elapsed: Int64, _ who: String, _ what: StaticString) {
      let (seconds, rest) = (elapsed / 1000, elapsed % 1000)
      put(UInt8(ascii: " "), times: 5 - digits(seconds))
      putDecimal(seconds)
      put(UInt8(ascii: "."))
      put(UInt8(ascii: "0"), times: 3 - digits(rest))
      putDecimal(rest)
      put(UInt8(ascii: " "))
      put(who)
      put(UInt8(ascii: " "), times: max(1, Trace.width - Text.size(who)))
      put(what)
    }

    mutating func put(_ text: String) { Text.withBytes(text) { put($0) } }

    mutating func put(_ text: StaticString) {
      put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func put(_ text: UnsafeRawBufferPointer) {
      UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: text)
      count += text.count
    }

    mutating func put(_ byte: UInt8, times: Int = 1) {
      for _ in 0..<max(0, times) {
        bytes[count] = byte
        count += 1
      }
    }

    private mutating func putDecimal(_ number: Int64) {
      if number >= 10 { putDecimal(number / 10) }
      put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
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
  }

  private mutating func dropOlderHalf() {
    let half = end / 2
    let first = (text[half..<end].firstIndex(of: UInt8(ascii: "\n")) ?? half) + 1
    text.withUnsafeMutableBytes { all in
      all.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[first..<end]))
    }
    end -= first
  }
}
