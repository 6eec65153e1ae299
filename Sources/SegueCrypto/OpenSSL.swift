// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueModel
import SegueSystem

/// OpenSSL 3, loaded on first need: a process without an account has no use for it. Loaded without its configuration
/// file, and without work at the exit of the process; it stays loaded.
public enum OpenSSL {
  private static let loaded = LoadedFunctions<openssl> { openssl_load($0) }

  /// Returns the table of functions, which lives as long as the process. Any thread. Throws SYSTEM if OpenSSL 3 is not
  /// installed, or lacks a function.
  public static func functions() throws(SegueError) -> UnsafePointer<openssl> {
    try loaded.table { missing in
      SegueError(.system, "devices need OpenSSL 3 (Debian: libssl3): \(missing) cannot be loaded")
    }
  }

  /// Bytes for the private keys that OpenSSL has in use at a time, each of less than a hundred.
  private static let keyRoom = 64 * 1024
  private static let smallestKey: Int = 32

  /// Has OpenSSL keep private keys in memory that is not swapped out, and erase them after use. Before the first key.
  /// - Returns: false if the system does not lock memory (RLIMIT_MEMLOCK): keys then may be swapped out.
  public static func lockKeys(_ functions: UnsafePointer<openssl>) -> Bool {
    functions.pointee.CRYPTO_secure_malloc_init(keyRoom, smallestKey) == 1
  }

  /// Returns what the calling thread's last failed call says of itself, and forgets all earlier errors.
  public static func takeError(_ functions: UnsafePointer<openssl>) -> String {
    let number = functions.pointee.ERR_peek_last_error()
    functions.pointee.ERR_clear_error()
    guard number != 0, let reason = functions.pointee.ERR_reason_error_string(number) else { return "no reason given" }
    return String(cString: reason)
  }
}
