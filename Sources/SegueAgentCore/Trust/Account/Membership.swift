// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// A device in its account: what is on the disk, and what follows from it. Each function that changes something gives
/// back the record that is to be stored first.
struct Membership {
  let record: AccountRecord
  /// Has the key of the account, which is read for each use.
  private let storage: any AccountStorage
  let identity: DeviceIdentity
  let accountName: String
  /// The certificate of this device, and the public key of the account.
  let certificate: CertificateFields
  let rootPublicKey: [UInt8]
  /// When the certificate of the account ends.
  let rootEnd: Int64

  init(
    _ record: AccountRecord, _ storage: any AccountStorage, _ cryptography: any Cryptography
  ) throws(SegueError) {
    self.record = record
    self.storage = storage
    certificate = try cryptography.readCertificate(record.certificate)
    identity = try DeviceIdentity(of: certificate)
    let root = try cryptography.readRoot(record.root)
    accountName = DisplayName.clean(root.name)
    rootPublicKey = root.publicKey
    rootEnd = root.until
  }

  var roster: Roster { record.roster.roster }
  var isManager: Bool { record.isManager }
  /// Its roster has no device that it has not listed before, so this one was removed.
  var isRevoked: Bool { roster[identity.device] == nil }
  /// The name of this device.
  var deviceName: String { roster[identity.device]?.name ?? "unnamed" }
  var managerName: String { roster[roster.manager]?.name ?? "another device" }

  /// Throws NOT_ALLOWED at any device but the manager.
  func requireManager(to what: StaticString) throws(SegueError) {
    guard !isManager else { return }
    throw SegueError(
      .notAllowed,
      """
      only the manager of the account can \(what): that is \(managerName) (\(roster.manager.fingerprint)); the \
      recovery file makes this device the manager
      """)
  }

  /// The key of the account, for one use. Throws NOT_ALLOWED at any device but the manager, SYSTEM.
  func rootKey(to what: StaticString, _ cryptography: any Cryptography) throws(SegueError) -> Secret {
    try requireManager(to: what)
    if case .new(let key) = record.rootKey { return key }
    return try storage.rootKey(of: rootPublicKey, cryptography)
  }

  // MARK: - A new account

  static func create(
    name: String, deviceName: String, platform: String, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord {
    let rootKey = try cryptography.makeKey()
    let rootPublicKey = try cryptography.publicKey(of: rootKey)
    // It is valid at all times, since a clock may be wrong while the account is made.
    let root = try cryptography.makeRoot(
      CertificateFields(
        name: DisplayName.clean(name), uri: "", publicKey: rootPublicKey, serial: try serial(cryptography), from: 0,
        until: Instant.lastSecond), key: rootKey)
    let key = try cryptography.makeKey()
    let identity = DeviceIdentity(
      account: try DeviceIdentity.id(ofKey: rootPublicKey),
      device: try DeviceIdentity.id(ofKey: try cryptography.publicKey(of: key)))
    let (certificate, issued) = try issue(
      to: identity, publicKey: try cryptography.publicKey(of: key), at: date, root: root, rootKey: rootKey,
      cryptography)
    var device = RosterDevice(
      id: identity.device, name: deviceName, platform: platform, joined: date, certificates: [issued])
    device.isConfirmed = true
    let epoch = Epoch(number: UInt64(max(1, date)), secret: try cryptography.random(32))
    guard let epochs = Epochs([epoch]) else { throw SegueError(.system, "account: no epoch") }
    let roster = Roster(account: identity.account, manager: identity.device, devices: [device], epochs: epochs)
    let signer = RosterSigner(root: root, rootKey: rootKey, key: key)
    let signed = try SignedRoster.sign(roster, at: date, by: signer, cryptography)
    return AccountRecord(key: key, certificate: certificate, root: root, rootKey: .new(rootKey), roster: signed)
  }

  private static func serial(_ cryptography: any Cryptography) throws(SegueError) -> [UInt8] {
    var serial = try cryptography.random(16)
    // Positive, and not shorter than it is.
    serial[0] = serial[0] & 0x3f | 0x40
    return serial
  }

  private static func issue(
    to identity: DeviceIdentity, publicKey: [UInt8], at date: Int64, root: [UInt8], rootKey: Secret,
    _ cryptography: any Cryptography
  ) throws(SegueError) -> (certificate: [UInt8], issued: IssuedCertificate) {
    let fields = CertificateFields(
      name: HexText.text(identity.device.bytes), uri: identity.uri, publicKey: publicKey,
      serial: try serial(cryptography), from: max(0, date - Limits.clockTolerance),
      until: min(Instant.lastSecond, date + Limits.certificateLife))
    let certificate = try cryptography.makeCertificate(fields, root: root, rootKey: rootKey)
    return (certificate, IssuedCertificate(serial: fields.serial, until: fields.until))
  }

  // MARK: - What the manager does

  /// Signs a changed roster.
  func signed(
    _ roster: Roster, at date: Int64, to what: StaticString, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord {
    var changed = record
    let signer = RosterSigner(root: record.root, rootKey: try rootKey(to: what, cryptography), key: record.key)
    changed.roster = try SignedRoster.sign(roster, at: date, by: signer, cryptography)
    return changed
  }

  /// Signs a roster of the former version anew, so that others take it; nil if that is not this device's to do.
  func signingAnew(at date: Int64, _ cryptography: any Cryptography) throws(SegueError) -> AccountRecord? {
    guard isManager, !isRevoked, !record.roster.isSignedTwice else { return nil }
    return try signed(roster, at: date, to: "sign the list of devices", cryptography)
  }

  /// Admits a device.
  func admitting(
    publicKey: [UInt8], name: String, platform: String, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> (record: AccountRecord, certificate: [UInt8]) {
    let device = try DeviceIdentity.id(ofKey: publicKey)
    guard roster.devices.count < Limits.devices else {
      throw SegueError(.limitExceeded, "account: has \(Limits.devices) devices already; revoke one")
    }
    guard roster[device] == nil, !roster.removed.has(device) else {
      throw SegueError(.notAllowed, "account: the key of this device is, or was, in it already")
    }
    let (certificate, issued) = try Self.issue(
      to: DeviceIdentity(account: identity.account, device: device), publicKey: publicKey, at: date, root: record.root,
      rootKey: try rootKey(to: "admit a device", cryptography), cryptography)
    var roster = roster
    roster.devices.append(
      RosterDevice(id: device, name: name, platform: platform, joined: date, certificates: [issued]))
    return (try signed(roster, at: date, to: "admit a device", cryptography), certificate)
  }

  /// Notes that a device has stored what it needs; nil if that is known.
  /// - Parameter shown: the certificate that it has shown: one that was made before this manager was restored from a
  ///   backup, or became it, is noted, too.
  func confirming(
    _ device: Identifier, _ shown: CertificateFields?, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord? {
    guard let index = roster.devices.firstIndex(where: { $0.id == device }) else { return nil }
    var roster = roster
    let certificate = shown.map { IssuedCertificate(serial: $0.serial, until: $0.until) }
    let isNew = roster.devices[index].take(certificate.map { [$0] } ?? [])
    guard isNew || !roster.devices[index].isConfirmed else { return nil }
    roster.devices[index].isConfirmed = true
    return try signed(roster, at: date, to: "confirm a device", cryptography)
  }

  func renaming(
    _ device: Identifier, _ name: String, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord {
    guard let index = roster.devices.firstIndex(where: { $0.id == device }) else { throw Self.unknown }
    var roster = roster
    roster.devices[index].name = DisplayName.clean(name)
    return try signed(roster, at: date, to: "rename a device", cryptography)
  }

  /// Revokes all certificates of a device, and begins an epoch that it does not know.
  /// - Parameter stranger: one that is not listed, and has shown a certificate of the account, or signed a list.
  func revoking(
    _ device: Identifier, stranger: RemovedDevice? = nil, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord {
    try requireManager(to: "revoke a device")
    guard let revoked = roster[device].map({ RemovedDevice($0) }) ?? stranger else { throw Self.unknown }
    guard device != identity.device else {
      throw SegueError(.invalidArgument, "account: the manager does not revoke itself; leave the account instead")
    }
    var roster = roster
    _ = roster.remove(revoked)
    try roster.epochs.begin(try cryptography.random(32), at: date)
    return try signed(roster, at: date, to: "revoke a device", cryptography)
  }

  /// Makes another certificate for a device that is in the account, if it is time for one.
  /// - Parameter shown: the certificate that it has shown, which was checked.
  func renewing(
    _ shown: CertificateFields, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> (record: AccountRecord, certificate: [UInt8]) {
    let device = try DeviceIdentity.id(ofKey: shown.publicKey)
    guard let index = roster.devices.firstIndex(where: { $0.id == device }) else { throw Self.unknown }
    guard shown.isRenewalDue(at: date) else {
      throw SegueError(
        .notAllowed,
        """
        account: the certificate is good until \(ClockAdvice.text(shown.until)), and here it is \
        \(ClockAdvice.text(date)) (UTC): it is too early for another one; if one of the two clocks is wrong, set it
        """)
    }
    if let last = roster.devices[index].certificates.last, device != identity.device {
      // Made later than now: under a clock that was wrong, so that the device could not take it.
      let age = date - (last.until - Limits.certificateLife)
      guard age < 0 || age >= Limits.renewalInterval else {
        throw SegueError(.busy, "account: the certificate was renewed within a day; ask again tomorrow")
      }
    }
    let (certificate, issued) = try Self.issue(
      to: DeviceIdentity(account: identity.account, device: device), publicKey: shown.publicKey, at: date,
      root: record.root, rootKey: try rootKey(to: "renew a certificate", cryptography), cryptography)
    var roster = roster
    roster.devices[index].add(issued)
    roster.devices[index].isConfirmed = true
    return (try signed(roster, at: date, to: "renew a certificate", cryptography), certificate)
  }

  static var unknown: SegueError { SegueError(.notFound, "account: it has no such device") }

  // MARK: - Certificates of this device

  func isRenewalDue(at date: Int64) -> Bool { certificate.isRenewalDue(at: date) }

  /// Takes a renewed certificate. Throws unless it is this device's, later than the one there is, and good now.
  func taking(
    certificate renewed: [UInt8], at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord {
    guard renewed.count <= Limits.certificateBytes else {
      throw SegueError(.malformed, "account: a renewed certificate is too large")
    }
    let fields = try cryptography.readCertificate(renewed)
    guard fields.publicKey.elementsEqual(certificate.publicKey), try DeviceIdentity(of: fields) == identity else {
      throw SegueError(.notAllowed, "account: a renewed certificate is for another device")
    }
    guard fields.until > certificate.until || date < certificate.from else {
      throw SegueError(.notAllowed, "account: a renewed certificate ends no later than the one there is")
    }
    let problem = try cryptography.problem(
      of: renewed, root: record.root, revocations: roster.revocations, at: date)
    if let problem { throw ClockAdvice.problem(problem, of: fields, at: date, isManager: isManager) }
    var changed = record
    changed.certificate = renewed
    return changed
  }

  // MARK: - Becoming the manager

  /// Makes this device the manager, in a new term: whatever the former one signs that has not heard of it counts less.
  /// - Parameter rootKey: from the recovery file. Throws NOT_ALLOWED if it belongs to another account.
  func managing(
    with rootKey: Secret, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord {
    guard try cryptography.publicKey(of: rootKey).elementsEqual(rootPublicKey) else {
      throw SegueError(.notAllowed, "account: the recovery file is that of another account")
    }
    guard !isRevoked else {
      throw SegueError(.notAllowed, "account: this device was removed from it, so it cannot become the manager")
    }
    var roster = roster
    roster.term = try roster.term.next()
    var changed = record
    changed.rootKey = .new(rootKey)
    let signer = RosterSigner(root: record.root, rootKey: rootKey, key: record.key)
    changed.roster = try SignedRoster.sign(roster, at: date, by: signer, cryptography)
    return changed
  }
}

extension CertificateFields {
  /// Whether it is time for another one: half of its time is over, or it begins later than now.
  func isRenewalDue(at date: Int64) -> Bool { date < from || date >= from + (until - from) / 2 }
}
