import SegueModel

/// All that a device keeps of its account: one file, so that each step of joining, renewing and revoking is one write.
struct AccountRecord: Sendable {
  static let version: UInt64 = 2
  /// Without take-overs and dates of epochs; its roster was signed once.
  static let formerVersion: UInt64 = 1
  private static let magic: StaticString = "segue account\n"
  private static let digestSize = 32

  /// The private key of the device, and its certificate.
  let key: [UInt8]
  var certificate: [UInt8]
  /// The certificate of the account; its key, if this device is the manager.
  let root: [UInt8]
  var rootKey: [UInt8]?
  var roster: SignedRoster
  /// When this device first had each epoch. Empty in a file of the former version.
  var epochDates = EpochDates()
  /// The take-overs that the user has yet to accept, oldest first, at most `Limits.takeOvers`.
  var takeOvers: [TakeOver] = []

  /// The file: a name, a digest of what follows, and that.
  func encoding() throws(SegueError) -> [UInt8] {
    let body = try ValueWriter.array { writer throws(SegueError) in
      try writer.put(Self.version)
      try writer.put(data: key)
      try writer.put(data: certificate)
      try writer.put(data: root)
      try writer.put(data: rootKey ?? [])
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
    return Self.magic.bytes + SecureHash.sha256(body) + body
  }

  /// Reads and checks a file. Throws MALFORMED if it is damaged, UNSUPPORTED_VERSION if it is of a newer Segue.
  init(_ file: [UInt8], _ cryptography: any Cryptography) throws(SegueError) {
    let magic = Self.magic.bytes
    let start = magic.count + Self.digestSize
    guard file.count > start, file.starts(with: magic) else { throw Self.damaged("is no file of an account") }
    let body = Array(file[start...])
    guard SecureHash.sha256(body).elementsEqual(file[magic.count..<start]) else {
      throw Self.damaged("its digest is wrong")
    }
    var fields = try Fields(body, "account file", atMost: Limits.accountFile)
    let version = try fields.unsigned("version")
    guard version == Self.version || version == Self.formerVersion else {
      throw SegueError(
        .unsupportedVersion, "account file: has version \(version), known is \(Self.version); update Segue")
    }
    key = try fields.data("key", atMost: Limits.certificateBytes)
    certificate = try fields.data("certificate", atMost: Limits.certificateBytes)
    root = try fields.data("root", atMost: Limits.certificateBytes)
    rootKey = try fields.optionalData("root key", atMost: Limits.certificateBytes)
    let encoding = try fields.data("roster", atMost: Limits.rosterBytes)
    let signature = try fields.data("signature", atMost: 64)
    let rootPublicKey = try cryptography.readRoot(root).publicKey
    var managerSignature: [UInt8] = []
    if version == Self.version {
      managerSignature = try fields.data("manager's signature", atMost: 64)
      epochDates = try EpochDates(try fields.list("dates of epochs", atMost: Limits.epochs))
      for value in try fields.list("take-overs", atMost: Limits.takeOvers) {
        var fields = try Fields(value, "take-over")
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
    if let rootKey {
      guard try cryptography.publicKey(of: rootKey).elementsEqual(rootPublicKey) else {
        throw Self.damaged("the key of the account is not that of its certificate")
      }
    }
  }

  init(key: [UInt8], certificate: [UInt8], root: [UInt8], rootKey: [UInt8]?, roster: SignedRoster) {
    self.key = key
    self.certificate = certificate
    self.root = root
    self.rootKey = rootKey
    self.roster = roster
  }

  private static func damaged(_ why: StaticString) -> SegueError {
    SegueError(.malformed, "account file: \(why)")
  }
}
