// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// SHA-256 (FIPS 180-4) by OpenSSL, which is loaded on first use: apps without attachments do not need it.
public final class SHA256 {
  /// Guards the loading of OpenSSL, and what that sets up itself when it is used first. Taken around fork: in the child
  /// no thread would finish that.
  private static let lock = Lock()
  /// The functions of OpenSSL. Used with `lock` until they are loaded.
  private static let loaded = LoadedFunctions<linux_sha256> { linux_load_sha256($0) }

  private let functions: linux_sha256
  private let context: UnsafeMutableRawPointer

  public static func lockForFork() { lock.lock() }
  public static func unlockAfterFork() { lock.unlock() }

  // Everything that can fail comes before the object is created: Embedded mode does not free a half-initialised object.

  /// Throws SYSTEM if OpenSSL is missing.
  public static func begin() throws(SegueError) -> SHA256 {
    try lock.withLock { () throws(SegueError) in try beginLocked() }
  }

  private static func beginLocked() throws(SegueError) -> SHA256 {
    let functions = try loaded.table { missing in
      SegueError(.system, "attachments need libcrypto.so.3 of OpenSSL 3 (Debian: libssl3): \(missing) cannot be loaded")
    }.pointee
    guard let context = functions.create(), functions.begin(context, functions.algorithm(), nil) == 1 else {
      throw SegueError(.system, "attachments need SHA-256, which libcrypto.so.3 refuses")
    }
    return SHA256(functions, context)
  }

  private init(_ functions: linux_sha256, _ context: UnsafeMutableRawPointer) {
    self.functions = functions
    self.context = context
  }

  deinit { functions.destroy(context) }

  public func update(_ bytes: UnsafeRawBufferPointer) {
    _ = functions.update(context, bytes.baseAddress, bytes.count)
  }

  /// Returns the 32 bytes of the digest; no more bytes may follow.
  public func finish() -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    _ = functions.finish(context, &digest, nil)
    return digest
  }
}
