// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import CSegue
import SegueModel

/// Reads and checks the arguments of a caller.
public enum Arguments {
  /// The longest timeout in milliseconds.
  static let longestTimeout: Int64 = 3_600_000

  /// Milliseconds; nil for 0, which stands for the limit.
  static func timeout(_ milliseconds: UInt32, atMost longest: Int64 = longestTimeout) throws(SegueError) -> Int64? {
    guard milliseconds <= longest else {
      throw SegueError(.invalidArgument, "timeout_ms: \(milliseconds), at most \(longest) is allowed")
    }
    return milliseconds == 0 ? nil : Int64(milliseconds)
  }

  /// Required UTF-8 text. `limit`, in bytes, bounds the search for a NUL; longer text is LIMIT_EXCEEDED.
  public static func text(
    _ pointer: UnsafePointer<CChar>?, _ length: Int, _ name: StaticString, atMost limit: Int
  ) throws(SegueError) -> String {
    guard let text = try optionalText(pointer, length, name, atMost: limit) else {
      throw SegueError(.invalidArgument, "\(name): is NULL")
    }
    return text
  }

  /// Optional UTF-8 text; nil for NULL.
  static func optionalText(
    _ pointer: UnsafePointer<CChar>?, _ length: Int, _ name: StaticString, atMost limit: Int
  ) throws(SegueError) -> String? {
    guard let pointer else { return nil }
    var count = length
    if count == nulTerminated {
      count = strnlen(pointer, limit + 1)
      guard count <= limit else {
        throw SegueError(.limitExceeded, "\(name): more than the \(limit) bytes that are allowed")
      }
    }
    try check(count, name, atMost: limit)
    let bytes = UnsafeRawBufferPointer(start: pointer, count: count)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw SegueError(.invalidArgument, "\(name): is not UTF-8")
    }
    return text
  }

  /// Why something is refused, or has failed; nil for NULL. No text keeps that from being told: of a long one its start
  /// counts, up to a whole character, and what is not UTF-8 becomes U+FFFD.
  @inline(never)
  static func reason(_ pointer: UnsafePointer<CChar>?, _ length: Int) -> String? {
    guard let pointer else { return nil }
    let limit = Limits.identifier
    // A length that no text has, such as one that was not set, counts as none: nothing may be read there.
    let given = 0...Limits.value ~= length ? min(length, limit + 1) : 0
    let count = length == nulTerminated ? strnlen(pointer, limit + 1) : given
    let bytes = UnsafeRawBufferPointer(start: pointer, count: count)
    let start = UnsafeRawBufferPointer(rebasing: bytes[..<Text.wholeCharacters(bytes, atMost: limit)])
    return Text.start(of: Text.decoded(start), atMost: limit)
  }

  /// The bytes of a required text; the callee checks that they are UTF-8.
  static func utf8(
    _ pointer: UnsafePointer<CChar>?, _ length: Int, _ name: StaticString, atMost limit: Int
  ) throws(SegueError) -> UnsafeRawBufferPointer {
    guard let pointer else { throw SegueError(.invalidArgument, "\(name): is NULL") }
    let count = length == nulTerminated ? strnlen(pointer, limit + 1) : length
    try check(count, name, atMost: limit)
    return UnsafeRawBufferPointer(start: pointer, count: count)
  }

  /// Required bytes; NULL is allowed if there are none.
  static func bytes(
    _ pointer: UnsafePointer<UInt8>?, _ length: Int, _ name: StaticString, atMost limit: Int
  ) throws(SegueError) -> UnsafeRawBufferPointer {
    guard pointer != nil || length == 0 else { throw SegueError(.invalidArgument, "\(name): is NULL") }
    try check(length, name, atMost: limit)
    return UnsafeRawBufferPointer(start: pointer, count: length)
  }

  /// An identifier of SEGUE_ID_SIZE bytes.
  static func identifier(_ pointer: UnsafePointer<UInt8>?, _ name: StaticString) throws(SegueError) -> Identifier {
    guard let pointer, let identifier = Identifier(bytes: UnsafeBufferPointer(start: pointer, count: Identifier.size))
    else { throw SegueError(.invalidArgument, "\(name): is NULL") }
    return identifier
  }

  /// A pointer, or function, that must not be NULL.
  public static func required<Pointer>(_ pointer: Pointer?, _ name: StaticString) throws(SegueError) -> Pointer {
    guard let pointer else { throw SegueError(.invalidArgument, "\(name): is NULL") }
    return pointer
  }

  /// SEGUE_NUL_TERMINATED: SIZE_MAX, and size_t is Int in Swift.
  private static let nulTerminated = -1

  /// The most memory that a call uses internally for each input byte.
  private static let copies = 4

  /// Throws SYSTEM if there is not enough memory to process `count` bytes: Swift would end the process.
  static func checkMemory(for count: Int, copies: Int = Self.copies) throws(SegueError) {
    try Memory.check(count, copies: copies)
  }

  @inline(__always)
  private static func check(_ count: Int, _ name: StaticString, atMost limit: Int) throws(SegueError) {
    if count < 0 || count > limit || count >= Memory.largeSize { try checkLarge(count, name, atMost: limit) }
  }

  @inline(never)
  private static func checkLarge(_ count: Int, _ name: StaticString, atMost limit: Int) throws(SegueError) {
    guard count >= 0 else { throw SegueError(.invalidArgument, "\(name): its length is more than memory can hold") }
    guard count <= limit else {
      throw SegueError(.limitExceeded, "\(name): \(count) bytes, at most \(limit) are allowed")
    }
    try checkMemory(for: count)
  }
}
