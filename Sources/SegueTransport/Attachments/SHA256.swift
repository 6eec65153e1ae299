import CLinux
import SegueModel

/// SHA-256 (FIPS 180-4) by OpenSSL, which is loaded on first use: apps without attachments do not need it.
public final class SHA256 {
  /// The functions of OpenSSL, which stays loaded.
  private static let functions = linux_load_sha256()

  private let context: UnsafeMutableRawPointer

  // Everything that can fail comes before the object is created: Embedded mode does not free a half-initialised object.

  /// Throws SYSTEM if OpenSSL is missing.
  public static func begin() throws(SegueError) -> SHA256 {
    let functions = Self.functions
    guard functions.is_there == 1 else {
      throw SegueError(.system, "attachments need OpenSSL 3: libcrypto.so.3 (Debian: libssl3) cannot be loaded")
    }
    guard let context = functions.create(), functions.begin(context, functions.algorithm(), nil) == 1 else {
      throw SegueError(.system, "attachments need SHA-256, which libcrypto.so.3 refuses")
    }
    return SHA256(context)
  }

  private init(_ context: UnsafeMutableRawPointer) { self.context = context }

  deinit { Self.functions.destroy(context) }

  public func update(_ bytes: UnsafeRawBufferPointer) {
    _ = Self.functions.update(context, bytes.baseAddress, bytes.count)
  }

  /// Returns the 32 bytes of the digest; no more bytes may follow.
  public func finish() -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    _ = Self.functions.finish(context, &digest, nil)
    return digest
  }
}
