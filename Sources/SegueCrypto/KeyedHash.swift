// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueModel

/// HMAC-SHA256 (RFC 2104) under one key, for code that computes many. One thread at a time.
public final class KeyedHash {
  /// Bytes of a code.
  public static let size = 32

  private let functions: UnsafePointer<openssl>
  private let context: OpaquePointer

  /// - Parameter key: 32 bytes.
  /// Throws SYSTEM without OpenSSL 3.
  public convenience init(key: [UInt8]) throws(SegueError) {
    let functions = try OpenSSL.functions()
    guard let context = tls_hmac_new(functions, key, key.count) else {
      throw SegueError(.system, "HMAC-SHA256: OpenSSL says \(OpenSSL.takeError(functions))")
    }
    self.init(functions, context)
  }

  private init(_ functions: UnsafePointer<openssl>, _ context: OpaquePointer) {
    self.functions = functions
    self.context = context
  }

  deinit { functions.pointee.EVP_MAC_CTX_free(context) }

  /// Returns the 32 bytes of a message's code; none if OpenSSL has no memory, which equals no code.
  public func code(of message: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.size) { buffer, count in
      let isDone = buffer.baseAddress.map { tls_hmac(functions, context, message, message.count, $0) == 1 } ?? false
      count = isDone ? Self.size : 0
    }
  }

  /// Whether two codes are the same; takes the same time wherever they differ. Codes of different lengths, and empty
  /// ones, differ.
  public static func isSame(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
    guard left.count == right.count, !left.isEmpty else { return false }
    var difference: UInt8 = 0
    for (one, other) in zip(left, right) { difference |= one ^ other }
    return difference == 0
  }
}
