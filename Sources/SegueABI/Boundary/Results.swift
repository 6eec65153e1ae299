// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// Writes results: copies in memory that the caller frees with segue_free. Skips an output that is NULL.
public enum Results {
  /// Writes text with a final NUL; nil gives NULL and the length 0. Not inlined into each getter: the copy costs more
  /// than the call.
  @inline(never)
  public static func give(
    _ text: String?, to out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, length: UnsafeMutablePointer<Int>?
  ) throws(SegueError) {
    guard let text else {
      out?.pointee = nil
      length?.pointee = 0
      return
    }
    let count = Text.size(text)
    if let out {
      let memory = try allocate(count)
      Text.withBytes(text) { bytes in if let start = bytes.baseAddress { memcpy(memory, start, count) } }
      out.pointee = memory.assumingMemoryBound(to: CChar.self)
    }
    length?.pointee = count
  }

  /// Writes text whose bytes are known to be UTF-8.
  static func give(
    utf8: UnsafeRawBufferPointer, to out: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
    length: UnsafeMutablePointer<Int>?
  ) throws(SegueError) {
    if let out {
      let memory = try allocate(utf8.count)
      if let start = utf8.baseAddress { memcpy(memory, start, utf8.count) }
      out.pointee = memory.assumingMemoryBound(to: CChar.self)
    }
    length?.pointee = utf8.count
  }

  /// Writes bytes; nil gives NULL and the length 0.
  @inline(never)
  static func give(
    _ bytes: [UInt8]?, to out: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, length: UnsafeMutablePointer<Int>?
  ) throws(SegueError) {
    guard let bytes else {
      out?.pointee = nil
      length?.pointee = 0
      return
    }
    if let out {
      let memory = try allocate(bytes.count)
      bytes.withUnsafeBytes { raw in if let start = raw.baseAddress { memcpy(memory, start, raw.count) } }
      out.pointee = memory.assumingMemoryBound(to: UInt8.self)
    }
    length?.pointee = bytes.count
  }

  /// SEGUE_ID_SIZE bytes.
  static func give(_ identifier: Identifier, to out: UnsafeMutablePointer<UInt8>?) {
    guard let out else { return }
    var offset = 0
    for byte in identifier.bytes {
      out[offset] = byte
      offset += 1
    }
  }

  /// Allocates memory for `count` bytes and a final NUL.
  private static func allocate(_ count: Int) throws(SegueError) -> UnsafeMutableRawPointer {
    guard let memory = malloc(count + 1) else { throw SlotStore.outOfMemory }
    memory.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
    return memory
  }
}
