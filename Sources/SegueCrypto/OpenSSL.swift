import COpenSSL
import SegueModel

/// OpenSSL 3, loaded on first need: a process without an account has no use for it. Loaded without its configuration
/// file, and without work at the exit of the process; it stays loaded.
public enum OpenSSL {
  /// The functions, or the name of what is missing. Initialised once, whichever thread is first.
  private static let loaded = Loaded()

  /// Returns the table of functions, which lives as long as the process. Any thread. Throws SYSTEM if OpenSSL 3 is not
  /// installed, or lacks a function.
  public static func functions() throws(SegueError) -> UnsafePointer<openssl> {
    guard loaded.missing == nil else {
      let missing = loaded.missing.map { String(cString: $0) } ?? ""
      throw SegueError(.system, "devices need OpenSSL 3 (Debian: libssl3): \(missing) cannot be loaded")
    }
    return UnsafePointer(loaded.table)
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

/// The table, and the name of what it lacks.
private struct Loaded: @unchecked Sendable {
  let table: UnsafeMutablePointer<openssl>
  let missing: UnsafePointer<CChar>?

  init() {
    let size = MemoryLayout<openssl>.size
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: MemoryLayout<openssl>.alignment)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    table = memory.bindMemory(to: openssl.self, capacity: 1)
    missing = openssl_load(table)
  }
}
