// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// Bytes that are in memory only while they are used, such as a private key. They have pages of their own, which are
/// not swapped out if the system locks memory (RLIMIT_MEMLOCK), and not in core dumps; the last release erases them.
/// Invariant: they do not change once they are made.
public final class Secret: @unchecked Sendable {
  /// Whether the system has refused to lock any of them. Only the account's thread makes secrets.
  nonisolated(unsafe) public private(set) static var isLockingRefused = false

  private let start: UnsafeMutableRawPointer
  public let count: Int

  private init(_ start: UnsafeMutableRawPointer, _ count: Int) {
    self.start = start
    self.count = count
  }

  deinit {
    explicit_bzero(start, count)
    linux_unmap_secret(start, count)
  }

  /// - Parameter fill: writes the bytes, which are zeros before.
  /// Throws SYSTEM without memory, or the error of `fill`: then nothing is left of them.
  public static func make(
    count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(SegueError) -> Void
  ) throws(SegueError) -> Secret {
    guard let start = linux_map_secret(count) else { throw .system("memory for a key") }
    if linux_lock_secret(start, count) != 0 { isLockingRefused = true }
    let secret = Secret(start, count)
    try fill(UnsafeMutableRawBufferPointer(start: start, count: count))
    return secret
  }

  /// Throws SYSTEM without memory.
  public static func copy(of bytes: UnsafeRawBufferPointer) throws(SegueError) -> Secret {
    try make(count: bytes.count) { $0.copyMemory(from: bytes) }
  }

  /// Reads the bytes, which are there until the closure returns.
  public func withBytes<Success>(
    _ body: (UnsafeRawBufferPointer) throws(SegueError) -> Success
  ) throws(SegueError) -> Success {
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// Overwrites all bytes of an array. It must have no copy: that one would stay.
  public static func erase(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { bytes in if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) } }
  }
}
