// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The state on which all devices of an account agree: the devices, the epochs and the revocations. The manager signs
/// each roster with the key of the account, and with its own: a holder of the account's key alone speaks for no other
/// device. Any device may carry it to any other.
struct Roster: Sendable {
  static let version: UInt64 = 3
  /// The version of rosters that were signed once. They are read from the own disk only.
  static let formerVersion: UInt64 = 2

  let version: UInt64
  let account: Identifier
  /// Rises when a device becomes the manager by the recovery file: what the former manager signs later counts no more.
  var term: UInt64
  /// max(last + 1, Unix time); also that of the list of revocations.
  var number: UInt64
  /// The device that has the key of the account: its public key; empty in one of the former version.
  private(set) var managerKey: [UInt8]
  private(set) var manager: Identifier
  var devices: [RosterDevice]
  var removed: RemovedDevices
  /// The number of the last roster that has dropped a removal, of too many. A roster with a number up to this one adds
  /// no device when it is merged.
  var forgotten: UInt64
  var epochs: Epochs
  /// The list of revoked certificates (CRL), in DER.
  var revocations: [UInt8]

  subscript(_ device: Identifier) -> RosterDevice? { devices.first { $0.id == device } }

  /// Names that another device has as well, nearly, are to be shown with fingerprints.
  func hasTwin(_ device: RosterDevice) -> Bool {
    devices.contains { $0.id != device.id && DisplayName.isAlike($0.name, device.name) }
  }

  /// The devices that belong to the account, and those that were removed.
  var members: AccountMembers { AccountMembers(listed: devices.map { $0.id }, removed: removed.all.map { $0.id }) }

  /// Whether it lists a device, or has removed it: one that it never had is a stranger.
  func hasListed(_ device: Identifier) -> Bool { self[device] != nil || removed.has(device) }

  /// Whether the removal of a device by another roster counts here. If there is no room, one of a device that is not
  /// listed would push out another one, and that one this one again; who is not listed is refused anyway.
  func takesRemoval(of device: Identifier) -> Bool { !removed.isFull || hasListed(device) }

  /// Removes a device, with the certificates that are known of it here and there.
  /// - Returns: whether that is new.
  mutating func remove(_ device: RemovedDevice) -> Bool {
    let listed = self[device.id].map { RemovedDevice($0) }
    devices.removeAll { $0.id == device.id }
    var isNew = false
    for each in [listed, device].compactMap({ $0 }) {
      let (isChanged, dropsOne) = removed.add(each)
      if isChanged { isNew = true }
      if dropsOne { forgotten = max(forgotten, number) }
    }
    return isNew
  }

  func encoding() throws(SegueError) -> [UInt8] {
    let encoding = try ValueWriter.array { writer throws(SegueError) in
      try writer.put(Self.version)
      try writer.put(account)
      try writer.put(term)
      try writer.put(number)
      try writer.put(data: managerKey)
      try writer.putArray { writer throws(SegueError) in
        for device in devices { try device.write(&writer) }
      }
      try writer.putArray { writer throws(SegueError) in
        for device in removed.all { try device.write(&writer) }
      }
      try writer.put(forgotten)
      try writer.putArray { writer throws(SegueError) in
        for epoch in epochs.all {
          try writer.putArray { writer throws(SegueError) in
            try writer.put(epoch.number)
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

  /// Reads one of any version. Throws MALFORMED, UNSUPPORTED_VERSION.
  init(_ encoding: [UInt8]) throws(SegueError) {
    var fields = try Fields(encoding, "roster", atMost: Limits.rosterBytes)
    version = try fields.unsigned("version")
    guard version == Self.version || version == Self.formerVersion else {
      throw SegueError(.unsupportedVersion, "roster: has version \(version), known is \(Self.version); update Segue")
    }
    account = try fields.id("account")
    term = try fields.unsigned("term", atMost: Limits.rosterNumber)
    number = try fields.unsigned("number", atMost: Limits.rosterNumber)
    if version == Self.formerVersion {
      (managerKey, manager) = ([], try fields.id("manager"))
    } else {
      managerKey = try fields.data("manager's key", atMost: Limits.certificateBytes)
      manager = try DeviceIdentity.id(ofKey: managerKey)
    }
    var devices: [RosterDevice] = []
    for value in try fields.list("devices", atMost: Limits.devices) {
      let device = try RosterDevice(value)
      guard !devices.contains(where: { $0.id == device.id }) else {
        throw SegueError(.malformed, "roster: a device is in it twice")
      }
      devices.append(device)
    }
    self.devices = devices
    removed = try RemovedDevices(try fields.list("removed devices", atMost: Limits.removedDevices), version)
    forgotten = version == Self.version ? try fields.unsigned("forgotten", atMost: Limits.rosterNumber) : 0
    var all: [Epoch] = []
    for value in try fields.list("epochs", atMost: Limits.epochs) {
      var fields = try Fields(value, "roster epoch")
      let number = try fields.unsigned("number", atMost: Limits.rosterNumber)
      // A date by the manager's clock.
      if version == Self.formerVersion { _ = try fields.date("date") }
      all.append(Epoch(number: number, secret: try fields.data("secret", count: 32)))
    }
    guard let epochs = Epochs(all) else { throw SegueError(.malformed, "roster: its epochs are none or out of order") }
    self.epochs = epochs
    revocations = try fields.data("revocations", atMost: Limits.rosterBytes)
  }

  init(account: Identifier, manager: Identifier, devices: [RosterDevice], epochs: Epochs) {
    version = Self.version
    self.account = account
    (term, number, forgotten) = (1, 0, 0)
    (self.manager, managerKey) = (manager, [])
    self.devices = devices
    removed = RemovedDevices()
    self.epochs = epochs
    revocations = []
  }

  fileprivate mutating func setManager(_ key: [UInt8]) throws(SegueError) {
    (manager, managerKey) = (try DeviceIdentity.id(ofKey: key), key)
  }
}

/// The keys of a manager.
struct RosterSigner: Sendable {
  /// The account's certificate.
  let root: [UInt8]
  /// The keys of the account and of the device.
  let rootKey, key: Secret
}

/// A roster with its signatures, as it is stored and sent.
struct SignedRoster: Sendable {
  /// Before what is signed, so that a signature means nothing else.
  private static let purpose: StaticString = "segue roster 3\n"
  private static let managerPurpose: StaticString = "segue roster 3 by its manager\n"
  private static let formerPurpose: StaticString = "segue roster 2\n"

  let roster: Roster
  let encoding: [UInt8]
  /// By the key of the account, and by the key of its manager; the second is empty in one of the former version.
  let signature, managerSignature: [UInt8]
  /// 32 bytes, by which two devices see that they have the same one.
  let digest: [UInt8]

  /// Whether others take it.
  var isSignedTwice: Bool { roster.version == Roster.version }

  /// Signs a roster, with the list of revocations that follows from it.
  static func sign(
    _ roster: Roster, at date: Int64, by signer: RosterSigner, _ cryptography: any Cryptography
  ) throws(SegueError) -> SignedRoster {
    var roster = roster
    roster.number = max(try roster.number.next(), UInt64(max(0, date)))
    try roster.setManager(try cryptography.publicKey(of: signer.key))
    // A device whose clock is before the date of the list refuses every certificate (TLS): a manager whose clock is
    // ahead must not shut all devices out, so the date is that of the root. The number says which list is the last.
    let fields = RevocationFields(
      number: roster.number, date: try cryptography.readRoot(signer.root).from, revoked: roster.removed.serials)
    roster.revocations = try cryptography.makeRevocations(fields, root: signer.root, rootKey: signer.rootKey)
    let encoding = try roster.encoding()
    return SignedRoster(
      roster: try Roster(encoding), encoding: encoding,
      signature: try cryptography.sign(purpose.bytes + encoding, with: signer.rootKey),
      managerSignature: try cryptography.sign(managerPurpose.bytes + encoding, with: signer.key))
  }

  /// Takes what another device has sent. Throws MALFORMED, NOT_ALLOWED unless the key of the account and that of its
  /// manager have signed it all.
  /// - Parameter root: the account's certificate, which was checked.
  static func check(
    _ encoding: [UInt8], _ signature: [UInt8], _ managerSignature: [UInt8], root: [UInt8], rootPublicKey: [UInt8],
    _ cryptography: any Cryptography
  ) throws(SegueError) -> SignedRoster {
    guard encoding.count <= Limits.rosterBytes,
      cryptography.isSignature(signature, of: purpose.bytes + encoding, by: rootPublicKey)
    else {
      throw SegueError(.notAllowed, "roster: is not signed with the key of this account")
    }
    let roster = try Roster(encoding)
    guard roster.version == Roster.version,
      cryptography.isSignature(managerSignature, of: managerPurpose.bytes + encoding, by: roster.managerKey)
    else {
      throw SegueError(.notAllowed, "roster: is not signed by the manager that it names")
    }
    guard roster[roster.manager] != nil, !roster.devices.contains(where: { roster.removed.has($0.id) }) else {
      throw SegueError(.notAllowed, "roster: its manager is not listed, or a device is listed and removed")
    }
    return try checked(
      SignedRoster(roster: roster, encoding: encoding, signature: signature, managerSignature: managerSignature),
      root, rootPublicKey, cryptography)
  }

  /// Takes what is on the own disk, also one of the former version. Throws MALFORMED, NOT_ALLOWED, UNSUPPORTED_VERSION.
  static func stored(
    _ encoding: [UInt8], _ signature: [UInt8], _ managerSignature: [UInt8], root: [UInt8], rootPublicKey: [UInt8],
    _ cryptography: any Cryptography
  ) throws(SegueError) -> SignedRoster {
    guard managerSignature.isEmpty else {
      return try check(
        encoding, signature, managerSignature, root: root, rootPublicKey: rootPublicKey, cryptography)
    }
    let roster = try Roster(encoding)
    guard roster.version == Roster.formerVersion,
      cryptography.isSignature(signature, of: formerPurpose.bytes + encoding, by: rootPublicKey)
    else { throw SegueError(.notAllowed, "roster: is not signed with the key of this account") }
    return try checked(
      SignedRoster(roster: roster, encoding: encoding, signature: signature, managerSignature: []), root, rootPublicKey,
      cryptography)
  }

  private static func checked(
    _ signed: SignedRoster, _ root: [UInt8], _ rootPublicKey: [UInt8], _ cryptography: any Cryptography
  ) throws(SegueError) -> SignedRoster {
    let roster = signed.roster
    guard roster.account == (try DeviceIdentity.id(ofKey: rootPublicKey)) else {
      throw SegueError(.notAllowed, "roster: belongs to another account")
    }
    let list = try cryptography.readRevocations(roster.revocations, root: root)
    guard list.number == roster.number, list.revoked.count <= Limits.revocations else {
      throw SegueError(.notAllowed, "roster: its revocations have another number, or are too many")
    }
    return signed
  }

  private init(roster: Roster, encoding: [UInt8], signature: [UInt8], managerSignature: [UInt8]) {
    self.roster = roster
    self.encoding = encoding
    self.signature = signature
    self.managerSignature = managerSignature
    digest = SecureHash.sha256(encoding)
  }

  /// The message that carries it to others. Throws LIMIT_EXCEEDED.
  func message() throws(SegueError) -> [UInt8] {
    try TrustMessage.roster(encoding: encoding, signature: signature, managerSignature: managerSignature).encoding()
  }
}
