// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import COpenSSL
import SegueAgentCore
import SegueCrypto
import SegueModel

/// Records of TLS between OpenSSL and the owner of a session. OpenSSL reads what has arrived where it is, and writes
/// what is to be sent to an array that the owner takes. OpenSSL's own buffers in memory would copy both once more, and
/// set them to zero before. For one session, which it outlives.
final class RecordBuffers {
  /// Bytes from which on a record is one of many, for which there is room at once.
  private static let largeRecord = SecureChannel.recordSize / 2

  /// The bytes that have arrived, and that OpenSSL has not read: those that are lent come after the others, which were
  /// kept of former ones.
  private var kept: [UInt8] = []
  private var lent = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The bytes to send.
  private var output: [UInt8] = []
  private let outputLimit: Int

  /// - Parameter outputLimit: the bytes from which on nothing more is encrypted.
  init(outputLimit: Int) { self.outputLimit = outputLimit }

  /// Has a session read and write here.
  /// - Returns: whether OpenSSL had memory for it.
  func use(_ functions: UnsafePointer<openssl>, _ session: OpaquePointer) -> Bool {
    guard let method = Self.method, let bio = functions.pointee.BIO_new(method) else { return false }
    functions.pointee.BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    functions.pointee.SSL_set_bio(session, bio, bio)
    return true
  }

  // MARK: The owner

  /// Bytes that OpenSSL has not read.
  var inputCount: Int { kept.count + lent.count }
  /// Bytes to send.
  var outputCount: Int { output.count }

  /// Lends it bytes that have arrived, as long as `body` runs; it copies those that are left then.
  func lend(_ bytes: UnsafeRawBufferPointer, _ body: () throws(SegueError) -> Void) throws(SegueError) {
    lent = bytes
    defer {
      if !lent.isEmpty { kept.append(bytes: lent) }
      lent = UnsafeRawBufferPointer(start: nil, count: 0)
    }
    try body()
  }

  /// Takes the bytes to send in exchange for an array, whose memory is used for those that follow.
  func takeOutput(into former: inout [UInt8]) {
    former.removeAll(keepingCapacity: true)
    swap(&former, &output)
  }

  // MARK: OpenSSL

  /// Fills a part of a buffer, at most all of it.
  /// - Returns: the number of bytes; 0 if none are left.
  private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    if !kept.isEmpty {
      let count = min(kept.count, buffer.count)
      kept.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      kept.removeFirst(count)
      return count
    }
    let count = min(lent.count, buffer.count)
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: lent[..<count]))
    lent = UnsafeRawBufferPointer(rebasing: lent[count...])
    return count
  }

  private func write(_ bytes: UnsafeRawBufferPointer) {
    if output.isEmpty, bytes.count >= Self.largeRecord { output.reserveCapacity(outputLimit + bytes.count) }
    output.append(bytes: bytes)
  }

  private static func buffers(of bio: OpaquePointer, _ functions: UnsafePointer<openssl>) -> RecordBuffers? {
    functions.pointee.BIO_get_data(bio).map { Unmanaged<RecordBuffers>.fromOpaque($0).takeUnretainedValue() }
  }

  /// The kind of such a buffer, made once; nil without memory.
  nonisolated(unsafe) private static let method: OpaquePointer? = {
    guard let functions = try? OpenSSL.functions(),
      let method = functions.pointee.BIO_meth_new(functions.pointee.BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "segue")
    else { return nil }
    _ = functions.pointee.BIO_meth_set_read(method) { bio, bytes, size in
      guard let bio, let bytes, size > 0, let functions = try? OpenSSL.functions(),
        let buffers = RecordBuffers.buffers(of: bio, functions)
      else { return -1 }
      functions.pointee.BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
      let count = buffers.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(size)))
      guard count == 0 else { return Int32(count) }
      functions.pointee.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
      return -1
    }
    _ = functions.pointee.BIO_meth_set_write(method) { bio, bytes, size in
      guard let bio, let bytes, size > 0, let functions = try? OpenSSL.functions(),
        let buffers = RecordBuffers.buffers(of: bio, functions)
      else { return -1 }
      buffers.write(UnsafeRawBufferPointer(start: bytes, count: Int(size)))
      return size
    }
    // Nothing is to be flushed.
    _ = functions.pointee.BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    return method
  }()
}
