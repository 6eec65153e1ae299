// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Asks beforehand for memory whose size is known: without it Swift ends the process.
public enum Memory {
  /// Bytes from which on there may be none; smaller blocks are not asked for.
  public static let largeSize = 128 * 1024
  /// Bytes beside the content: heads of blocks, and what is made on the way.
  private static let margin = 64 * 1024

  /// Tells whether so many bytes in one piece can be had. The library sets it before its first call; without it, all.
  nonisolated(unsafe) public static var canAllocate: (@convention(c) (_ count: Int) -> Bool)?

  /// Throws SYSTEM if there is no memory for several copies of something.
  public static func check(_ count: Int, copies: Int = 1) throws(SegueError) {
    guard isThere(count, copies: copies) else { throw SegueError(.system, "out of memory") }
  }

  static func isThere(_ count: Int, copies: Int = 1) -> Bool {
    let (size, overflows) = count.multipliedReportingOverflow(by: copies)
    guard overflows || size >= largeSize, let canAllocate else { return true }
    return !overflows && size <= Int.max - margin && canAllocate(size + margin)
  }
}
