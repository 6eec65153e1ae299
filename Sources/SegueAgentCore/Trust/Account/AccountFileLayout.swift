// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The places of the private keys in the body of an account's file: an array of version, key, certificate, root, root
/// key and what follows.
struct AccountFileLayout {
  /// The first element of the array.
  let version: UInt64
  let key, rootKey: Range<Int>

  /// Throws MALFORMED unless it is such a body, UNSUPPORTED_VERSION if it is one of a newer Segue.
  init(of body: UnsafeRawBufferPointer) throws(SegueError) {
    guard body.count <= Limits.accountFile, var reader = FlatReader(body), let count = reader.array(), count > 0,
      let version = reader.unsigned()
    else { throw AccountRecord.damaged("is not one item of deterministic CBOR with a version") }
    guard version == AccountRecord.version || version == AccountRecord.formerVersion else {
      throw SegueError(
        .unsupportedVersion,
        "account file: has version \(version), known is \(AccountRecord.version); update Segue")
    }
    guard count >= 5, let key = reader.dataRange(), reader.dataRange() != nil, reader.dataRange() != nil,
      let rootKey = reader.dataRange(), key.count <= Limits.certificateBytes, rootKey.count <= Limits.certificateBytes
    else { throw AccountRecord.damaged("its keys are missing, or too large") }
    self.version = version
    self.key = key
    self.rootKey = rootKey
  }

  init(of body: [UInt8]) throws(SegueError) {
    let result = body.withUnsafeBytes { bytes -> Result<AccountFileLayout, SegueError> in
      do throws(SegueError) { return .success(try AccountFileLayout(of: bytes)) } catch { return .failure(error) }
    }
    self = try result.get()
  }

  /// Writes a key to its place in a body.
  func put(_ key: Secret, at place: Range<Int>, of body: UnsafeMutableRawBufferPointer) throws(SegueError) {
    try key.withBytes { UnsafeMutableRawBufferPointer(rebasing: body[place]).copyMemory(from: $0) }
  }
}

/// The parts of an account's file: its private keys, and all else.
struct AccountFileParts {
  let key: Secret
  /// Nil if another device is the manager.
  let rootKey: Secret?
  /// The body with zeros in place of the keys.
  let rest: [UInt8]

  /// - Parameter magic: what the file begins with, before the digest of its body.
  /// Throws MALFORMED if it is damaged, UNSUPPORTED_VERSION if it is of a newer Segue.
  init(_ file: Secret, magic: [UInt8], _ cryptography: any Cryptography) throws(SegueError) {
    self = try file.withBytes { file throws(SegueError) in
      let start = magic.count + AccountRecord.digestSize
      guard file.count > start, file.starts(with: magic) else {
        throw AccountRecord.damaged("is no file of an account")
      }
      let body = UnsafeRawBufferPointer(rebasing: file[start...])
      guard try cryptography.sha256(body).elementsEqual(file[magic.count..<start]) else {
        throw AccountRecord.damaged("its digest is wrong")
      }
      return try AccountFileParts(body, try AccountFileLayout(of: body))
    }
  }

  private init(_ body: UnsafeRawBufferPointer, _ layout: AccountFileLayout) throws(SegueError) {
    key = try Secret.copy(of: UnsafeRawBufferPointer(rebasing: body[layout.key]))
    rootKey =
      layout.rootKey.isEmpty ? nil : try Secret.copy(of: UnsafeRawBufferPointer(rebasing: body[layout.rootKey]))
    var rest = Array(body[..<layout.key.lowerBound])
    rest.append(contentsOf: repeatElement(0, count: layout.key.count))
    rest.append(contentsOf: body[layout.key.upperBound..<layout.rootKey.lowerBound])
    rest.append(contentsOf: repeatElement(0, count: layout.rootKey.count))
    rest.append(contentsOf: body[layout.rootKey.upperBound...])
    self.rest = rest
  }
}
