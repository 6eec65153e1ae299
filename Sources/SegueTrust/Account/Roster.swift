import SegueModel

/// What all devices of an account agree on: the devices, the epochs and the revocations. The manager signs each roster
/// with the key of the account; the highest term counts, and in one term the highest number. Any device may carry it to
/// any other.
struct Roster: Sendable {
  static let version: UInt64 = 2
  /// Before what is signed, so that the signature means nothing else.
  private static let purpose: StaticString = "segue roster 2\n"

  let account: Identifier
  /// Rises when a device becomes the manager by the recovery file: what the former manager signs later counts no more.
  var term: UInt64
  /// max(last + 1, Unix time); also that of the list of revocations.
  var number: UInt64
  /// The device that has the key of the account.
  var manager: Identifier
  var devices: [RosterDevice]
  var removed: RemovedDevices
  var epochs: Epochs
  /// The list of revoked certificates (CRL), in DER.
  var revocations: [UInt8]

  subscript(_ device: Identifier) -> RosterDevice? { devices.first { $0.id == device } }

  /// Names that another device has as well, nearly, are to be shown with fingerprints.
  func hasTwin(_ device: RosterDevice) -> Bool {
    devices.contains { $0.id != device.id && ShownName.isAlike($0.name, device.name) }
  }

  /// Who belongs to the account.
  var members: AccountMembers {
    AccountMembers(listed: devices.map { $0.id }, removed: removed.all.map { $0.id }, number: number)
  }

  func encoding() throws(SegueError) -> [UInt8] {
    let encoding = try ValueWriter.array { writer throws(SegueError) in
      try writer.put(Self.version)
      try writer.put(account)
      try writer.put(term)
      try writer.put(number)
      try writer.put(manager)
      try writer.putArray { writer throws(SegueError) in
        for device in devices { try device.write(&writer) }
      }
      try writer.putArray { writer throws(SegueError) in
        for device in removed.all { try device.write(&writer) }
      }
      try writer.putArray { writer throws(SegueError) in
        for epoch in epochs.all {
          try writer.putArray { writer throws(SegueError) in
            try writer.put(epoch.number)
            try writer.put(date: epoch.date)
            try writer.put(data: epoch.secret)
          }
        }
      }
      try writer.put(data: revocations)
    }
    guard encoding.count <= Limits.rosterBytes else {
      throw SegueError(.limitExceeded, "account: its list has \(encoding.count) bytes, more than can be sent")
    }
    return encoding
  }

  /// Throws MALFORMED, UNSUPPORTED_VERSION.
  init(_ encoding: [UInt8]) throws(SegueError) {
    var fields = try Fields(encoding, "roster", atMost: Limits.rosterBytes)
    let version = try fields.unsigned("version")
    guard version == Self.version else {
      throw SegueError(.unsupportedVersion, "roster: has version \(version), known is \(Self.version); update Segue")
    }
    account = try fields.id("account")
    term = try fields.unsigned("term", atMost: Limits.rosterNumber)
    number = try fields.unsigned("number", atMost: Limits.rosterNumber)
    manager = try fields.id("manager")
    var devices: [RosterDevice] = []
    for value in try fields.list("devices", atMost: Limits.devices) {
      let device = try RosterDevice(value)
      guard !devices.contains(where: { $0.id == device.id }) else {
        throw SegueError(.malformed, "roster: a device is in it twice")
      }
      devices.append(device)
    }
    self.devices = devices
    removed = try RemovedDevices(try fields.list("removed devices", atMost: Limits.removedDevices))
    var all: [Epoch] = []
    for value in try fields.list("epochs", atMost: Limits.epochs) {
      var fields = try Fields(value, "roster epoch")
      all.append(
        Epoch(
          number: try fields.unsigned("number", atMost: Limits.rosterNumber), date: try fields.date("date"),
          secret: try fields.data("secret", count: 32)))
    }
    guard let epochs = Epochs(all) else { throw SegueError(.malformed, "roster: its epochs are none or out of order") }
    self.epochs = epochs
    revocations = try fields.data("revocations", atMost: Limits.rosterBytes)
  }

  init(account: Identifier, manager: Identifier, devices: [RosterDevice], epochs: Epochs) {
    self.account = account
    term = 1
    number = 0
    self.manager = manager
    self.devices = devices
    removed = RemovedDevices()
    self.epochs = epochs
    revocations = []
  }

  static func signed(_ encoding: [UInt8]) -> [UInt8] { purpose.bytes + encoding }
}

/// A roster with its signature, as it is stored and sent.
struct SignedRoster: Sendable {
  let roster: Roster
  let encoding, signature: [UInt8]
  /// 32 bytes, by which two devices see that they have the same one.
  let digest: [UInt8]

  /// Signs a roster, with the list of revocations that follows from it.
  static func sign(
    _ roster: Roster, at date: Int64, root: [UInt8], rootKey: [UInt8], _ cryptography: any Cryptography
  ) throws(SegueError) -> SignedRoster {
    var roster = roster
    roster.number = max(try roster.number.next(), UInt64(max(0, date)))
    roster.removed.expire(at: date)
    // Where it is earlier than the date of the list, TLS refuses every certificate: a manager whose clock is ahead must
    // not shut all devices out. The number says which list is the last.
    let fields = RevocationFields(
      number: roster.number, date: try cryptography.readRoot(root).from, revoked: roster.removed.serials)
    roster.revocations = try cryptography.makeRevocations(fields, root: root, rootKey: rootKey)
    let encoding = try roster.encoding()
    let signature = try cryptography.sign(Roster.signed(encoding), with: rootKey)
    return SignedRoster(roster: roster, encoding: encoding, signature: signature)
  }

  /// Takes what came from outside. Throws MALFORMED, NOT_ALLOWED unless the key of the account has signed it all.
  /// - Parameter root: the account's certificate, which was checked.
  static func check(
    _ encoding: [UInt8], _ signature: [UInt8], root: [UInt8], rootPublicKey: [UInt8], _ cryptography: any Cryptography
  ) throws(SegueError) -> SignedRoster {
    guard encoding.count <= Limits.rosterBytes,
      cryptography.isSignature(signature, of: Roster.signed(encoding), by: rootPublicKey)
    else {
      throw SegueError(.notAllowed, "roster: is not signed with the key of this account")
    }
    let roster = try Roster(encoding)
    guard roster.account == (try DeviceIdentity.id(ofKey: rootPublicKey)) else {
      throw SegueError(.notAllowed, "roster: belongs to another account")
    }
    let list = try cryptography.readRevocations(roster.revocations, root: root)
    guard list.number == roster.number, list.revoked.count <= Limits.revocations else {
      throw SegueError(.notAllowed, "roster: its revocations have another number, or are too many")
    }
    return SignedRoster(roster: roster, encoding: encoding, signature: signature)
  }

  private init(roster: Roster, encoding: [UInt8], signature: [UInt8]) {
    self.roster = roster
    self.encoding = encoding
    self.signature = signature
    digest = SecureHash.sha256(encoding)
  }

  /// Which of two rosters counts, the same way at every device: the higher term, then the higher number. Two of one
  /// number were signed by two managers, or by one that was restored from a backup; one of them must count.
  func isLater(than other: SignedRoster) -> Bool {
    if roster.term != other.roster.term { return roster.term > other.roster.term }
    if roster.number != other.roster.number { return roster.number > other.roster.number }
    return other.encoding.lexicographicallyPrecedes(encoding)
  }
}
