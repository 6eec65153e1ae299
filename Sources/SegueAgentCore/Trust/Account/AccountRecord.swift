// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// All that a device keeps of its account: one file, so that each step of joining, renewing and revoking is one write.
struct AccountRecord: Sendable {
  static let version: UInt64 = 2
  /// Without takeovers and dates of epochs; its roster was signed once.
  static let formerVersion: UInt64 = 1
  private static let magic: StaticString = "segue account\n"
  static let digestSize = 32

  /// The private key of the device, and its certificate.
  let key: Secret
  var certificate: [UInt8]
  /// The certificate of the account, and where its key is.
  let root: [UInt8]
  var rootKey: RootKey
  var roster: SignedRoster
  /// When this device first had each epoch. Empty in a file of the former version.
  var epochDates = EpochDates()
  /// The takeovers that the user has yet to accept, oldest first, at most `Limits.takeOvers`.
  var takeOvers: [TakeOver] = []

  /// Whether this device is the manager.
  var isManager: Bool { rootKey.isHere }

  /// The file: a name, a digest of what follows, and that.
  /// - Parameter rootKey: the key of the account, if this device is the manager.
  func encoding(_ rootKey: Secret?, _ cryptography: any Cryptography) throws(SegueError) -> Secret {
    // Private keys go into no memory but that of the file.
    let body = try ValueWriter.array { writer throws(SegueError) in
      try writer.put(Self.version)
      try writer.put(data: [UInt8](repeating: 0, count: key.count))
      try writer.put(data: certificate)
      try writer.put(data: root)
      try writer.put(data: [UInt8](repeating: 0, count: rootKey?.count ?? 0))
      try writer.put(data: roster.encoding)
      try writer.put(data: roster.signature)
      try writer.put(data: roster.managerSignature)
      try epochDates.write(&writer)
      try writer.putArray { writer throws(SegueError) in
        for waiting in takeOvers {
          try writer.putArray { writer throws(SegueError) in
            try writer.put(data: waiting.roster.encoding)
            try writer.put(data: waiting.roster.signature)
            try writer.put(data: waiting.roster.managerSignature)
            try writer.put(date: waiting.date)
          }
        }
      }
    }
    let layout = try AccountFileLayout(of: body)
    let magic = Self.magic.bytes
    return try Secret.make(count: magic.count + Self.digestSize + body.count) { file throws(SegueError) in
      let own = UnsafeMutableRawBufferPointer(rebasing: file[(magic.count + Self.digestSize)...])
      own.copyBytes(from: body)
      try layout.put(key, at: layout.key, of: own)
      if let rootKey { try layout.put(rootKey, at: layout.rootKey, of: own) }
      file.copyBytes(from: magic + (try cryptography.sha256(UnsafeRawBufferPointer(own))))
    }
  }

  /// Reads and checks a file. Throws MALFORMED if it is damaged, UNSUPPORTED_VERSION if it is of a newer Segue.
  init(_ file: Secret, _ cryptography: any Cryptography) throws(SegueError) {
    let parts = try AccountFileParts(file, magic: Self.magic.bytes, cryptography)
    var fields = try Fields(parts.rest, "account file", atMost: Limits.accountFile)
    let version = try fields.unsigned("version")
    _ = try fields.data("key", atMost: Limits.certificateBytes)
    key = parts.key
    certificate = try fields.data("certificate", atMost: Limits.certificateBytes)
    root = try fields.data("root", atMost: Limits.certificateBytes)
    _ = try fields.data("root key", atMost: Limits.certificateBytes)
    rootKey = parts.rootKey == nil ? .elsewhere : .stored
    let encoding = try fields.data("roster", atMost: Limits.rosterBytes)
    let signature = try fields.data("signature", atMost: 64)
    let rootPublicKey = try cryptography.readRoot(root).publicKey
    var managerSignature: [UInt8] = []
    if version == Self.version {
      managerSignature = try fields.data("manager's signature", atMost: 64)
      epochDates = try EpochDates(try fields.list("dates of epochs", atMost: Limits.epochs))
      for value in try fields.list("takeovers", atMost: Limits.takeOvers) {
        var fields = try Fields(value, "takeover")
        let signed = try SignedRoster.check(
          try fields.data("roster", atMost: Limits.rosterBytes), try fields.data("signature", atMost: 64),
          try fields.data("manager's signature", atMost: 64), root: root, rootPublicKey: rootPublicKey, cryptography)
        takeOvers.append(TakeOver(roster: signed, date: try fields.date("date")))
      }
    }
    roster = try SignedRoster.stored(
      encoding, signature, managerSignature, root: root, rootPublicKey: rootPublicKey, cryptography)
    let own = try cryptography.readCertificate(certificate)
    guard try cryptography.publicKey(of: key).elementsEqual(own.publicKey),
      try DeviceIdentity(of: own).account == roster.roster.account
    else { throw Self.damaged("key and certificate do not belong together") }
    if let rootKey = parts.rootKey {
      guard try cryptography.publicKey(of: rootKey).elementsEqual(rootPublicKey) else {
        throw Self.damaged("the key of the account is not that of its certificate")
      }
    }
  }

  /// The key of the account in a file; nil if another device is the manager. Throws as the initialiser does.
  static func rootKey(in file: Secret, _ cryptography: any Cryptography) throws(SegueError) -> Secret? {
    try AccountFileParts(file, magic: magic.bytes, cryptography).rootKey
  }

  init(key: Secret, certificate: [UInt8], root: [UInt8], rootKey: RootKey, roster: SignedRoster) {
    self.key = key
    self.certificate = certificate
    self.root = root
    self.rootKey = rootKey
    self.roster = roster
  }

  static func damaged(_ why: StaticString) -> SegueError {
    SegueError(.malformed, "account file: \(why)")
  }
}
