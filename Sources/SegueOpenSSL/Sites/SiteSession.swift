// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueAgentCore
import SegueCrypto
import SegueModel

/// One request to a site over TLS, on a socket that blocks (R12.9). The certificate must be valid for the host, and
/// chain to one that is trusted. Only for the process that asks sites: its deadline is that of the process.
public final class SiteSession {
  private let functions: UnsafePointer<openssl>
  private let context: OpaquePointer
  private let host: String

  private init(_ functions: UnsafePointer<openssl>, _ context: OpaquePointer, _ host: String) {
    self.functions = functions
    self.context = context
    self.host = host
  }

  deinit { functions.pointee.SSL_CTX_free(context) }

  /// - Parameter authorities: the path of a file of certificates that are trusted; nil: those of the system.
  /// Throws SYSTEM.
  public static func make(for host: String, authorities: String?) throws(SegueError) -> SiteSession {
    let functions = try OpenSSL.functions()
    guard let context = functions.pointee.SSL_CTX_new(functions.pointee.TLS_client_method()) else {
      throw SegueError(.system, "TLS: \(OpenSSL.takeError(functions))")
    }
    let session = SiteSession(functions, context, host)
    let isTrusting =
      if let authorities {
        functions.pointee.SSL_CTX_load_verify_file(context, authorities) == 1
      } else {
        functions.pointee.SSL_CTX_set_default_verify_paths(context) == 1
      }
    guard isTrusting, site_require_tls(functions, context) == 1 else {
      throw SegueError(.system, "TLS: trusted certificates: \(OpenSSL.takeError(functions))")
    }
    return session
  }

  /// Sends a request, and reads the answer.
  /// - Parameter socket: connected; its calls block.
  /// Throws NOT_ALLOWED (the certificate), CONNECTION_UNAVAILABLE, and what `HTTPAnswer.read` throws.
  public func ask(_ request: [UInt8], over socket: Int32) throws(SegueError) -> HTTPAnswer {
    guard let session = functions.pointee.SSL_new(context) else {
      throw SegueError(.system, "TLS: \(OpenSSL.takeError(functions))")
    }
    defer { functions.pointee.SSL_free(session) }
    guard functions.pointee.SSL_set_fd(session, socket) == 1, site_expect_host(functions, session, host) == 1 else {
      throw SegueError(.system, "TLS: \(OpenSSL.takeError(functions))")
    }
    functions.pointee.ERR_clear_error()
    guard functions.pointee.SSL_connect(session) == 1 else { throw refusal(session) }
    let sent = request.withUnsafeBytes {
      functions.pointee.SSL_write(session, $0.baseAddress, Int32(clamping: $0.count))
    }
    guard sent == Int32(clamping: request.count) else {
      throw SegueError(.connectionUnavailable, "the connection ends: \(OpenSSL.takeError(functions))")
    }
    return try read(session)
  }

  private func refusal(_ session: OpaquePointer) -> SegueError {
    let verdict = functions.pointee.SSL_get_verify_result(session)
    guard verdict != 0 else {
      return SegueError(.connectionUnavailable, "no TLS connection: \(OpenSSL.takeError(functions))")
    }
    let reason = functions.pointee.X509_verify_cert_error_string(verdict)
    functions.pointee.ERR_clear_error()
    return SegueError(
      .notAllowed, "the site's certificate is not valid: \(reason.map { String(cString: $0) } ?? "no reason given")")
  }

  private func read(_ session: OpaquePointer) throws(SegueError) -> HTTPAnswer {
    var bytes: [UInt8] = []
    while true {
      var count: Int32 = 0
      let more = [UInt8](unsafeUninitializedCapacity: 16 * 1024) { buffer, size in
        // SSL_get_error looks at the queue of errors first.
        functions.pointee.ERR_clear_error()
        count = functions.pointee.SSL_read(session, buffer.baseAddress, Int32(clamping: buffer.count))
        size = max(0, min(Int(count), buffer.count))
      }
      bytes += more
      let isEnded = count <= 0
      // An attacker may cut a connection: without the end that TLS has, a body of no known length is not whole.
      let isClean = isEnded && site_is_end(functions.pointee.SSL_get_error(session, count)) != 0
      if let answer = try HTTPAnswer.read(bytes, isEnded: isClean) { return answer }
      if isEnded {
        throw SegueError(.connectionUnavailable, "the connection ends within the answer")
      }
      guard bytes.count < HTTPAnswer.readLimit else {
        throw SegueError(.limitExceeded, "the answer has more than \(HTTPAnswer.bodyLimit) bytes")
      }
    }
  }

  // MARK: Signed files

  /// The most certificates in a signed file.
  private static let certificateLimit = 16

  /// The content of a file that is CMS (RFC 5652), signed by a certificate that is valid as a TLS server's for the host
  /// (R12.8). Throws NOT_ALLOWED.
  public func content(ofSigned file: [UInt8]) throws(SegueError) -> [UInt8] {
    guard let signed = file.withUnsafeBytes({ parse($0) }) else { throw refused("is no CMS, or something follows it") }
    defer { functions.pointee.CMS_ContentInfo_free(signed) }
    let certificates = functions.pointee.CMS_get1_certs(signed)
    defer { site_free(functions, certificates, 1) }
    guard site_count(functions, certificates) <= Self.certificateLimit else {
      throw refused("has more than \(Self.certificateLimit) certificates")
    }
    guard let store = functions.pointee.SSL_CTX_get_cert_store(context), site_require_server(functions, store) == 1,
      let output = functions.pointee.BIO_new(functions.pointee.BIO_s_mem())
    else { throw SegueError(.system, "CMS: \(OpenSSL.takeError(functions))") }
    defer { _ = functions.pointee.BIO_free(output) }
    guard functions.pointee.CMS_verify(signed, nil, store, nil, output, site_cms_flags()) == 1 else {
      throw refused("is not signed as it must be: \(OpenSSL.takeError(functions))")
    }
    let signers = functions.pointee.CMS_get0_signers(signed)
    defer { site_free(functions, signers, 0) }
    guard let signers, site_count(functions, signers) == 1, let signer = site_certificate(functions, signers, 0),
      Text.withBytes(
        host,
        { name in
          name.withMemoryRebound(to: CChar.self) { site_is_for_host(functions, signer, $0.baseAddress!, $0.count) == 1 }
        })
    else { throw refused("is not signed by one certificate of \(host)") }
    return read(output)
  }

  private func refused(_ reason: DiagnosticText) -> SegueError {
    SegueError(.notAllowed, "the site's file \(reason)")
  }

  /// Nil unless all of it is one CMS structure.
  private func parse(_ file: UnsafeRawBufferPointer) -> OpaquePointer? {
    var next = file.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let end = next.map { $0 + file.count }
    guard let signed = functions.pointee.d2i_CMS_ContentInfo(nil, &next, file.count) else { return nil }
    if next == end { return signed }
    functions.pointee.CMS_ContentInfo_free(signed)
    return nil
  }

  private func read(_ output: OpaquePointer) -> [UInt8] {
    let size = min(functions.pointee.BIO_ctrl_pending(output), HTTPAnswer.bodyLimit)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = max(0, Int(functions.pointee.BIO_read(output, buffer.baseAddress, Int32(clamping: size))))
    }
  }
}
