import SegueModel

/// What a device does with the roster of another.
///
/// There is one manager at a time, so rosters form a line, and the highest number counts. But a device may become the
/// manager by the recovery file before it knows the last roster of the former one. Then there are two lines. No device
/// gives up a revocation that it knows: it keeps its roster, and sends it. A manager that gets an older roster of
/// another line signs one that has what both have.
extension Membership {
  enum Adoption: Sendable {
    /// Nothing new.
    case known
    /// To be stored. `hasMerged`: the manager has made it of two.
    case newer(AccountRecord, hasMerged: Bool)
    /// A revocation is missing there: the own roster is to be sent.
    case objection
  }

  /// Throws NOT_ALLOWED, MALFORMED: nothing of it counts then.
  func adopting(
    _ encoding: [UInt8], _ signature: [UInt8], at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> Adoption {
    let theirs = try SignedRoster.check(
      encoding, signature, root: record.root, rootPublicKey: rootPublicKey, cryptography)
    guard !theirs.encoding.elementsEqual(record.roster.encoding) else { return .known }
    let isNewer = theirs.roster.number > roster.number
    if isManager, !isNewer || theirs.roster.manager == identity.device {
      // A newer one is what this manager had signed before its folder was restored from a backup.
      guard let merged = try merging(theirs, at: date, cryptography) else { return .known }
      return .newer(merged, hasMerged: true)
    }
    guard isNewer else { return .known }
    guard hasAll(theirs) else { return .objection }
    var changed = record
    changed.roster = theirs
    // Another device is the manager now.
    if theirs.roster.manager != identity.device { changed.rootKey = nil }
    return .newer(changed, hasMerged: false)
  }

  /// Whether another roster has each revocation of the own one, its epoch, and each device, or has revoked it.
  private func hasAll(_ theirs: SignedRoster) -> Bool {
    record.roster.revoked.allSatisfy { theirs.isRevoked($0) }
      && theirs.roster.epochs.current.number >= roster.epochs.current.number
      && roster.devices.allSatisfy { device in
        theirs.roster[device.id] != nil || device.certificates.contains { theirs.isRevoked($0.serial) }
      }
  }

  /// Nil if the other roster has nothing that this one lacks.
  private func merging(
    _ theirs: SignedRoster, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord? {
    let missing = theirs.revoked.filter { !record.roster.isRevoked($0) }
    let revoked = record.roster.revoked + missing
    func isRevoked(_ device: RosterDevice) -> Bool {
      device.certificates.contains { issued in revoked.contains { $0.elementsEqual(issued.serial) } }
    }
    var merged = roster
    merged.devices.removeAll { $0.id != identity.device && isRevoked($0) }
    var isChanged = !missing.isEmpty
    for device in theirs.roster.devices where !isRevoked(device) {
      guard let index = merged.devices.firstIndex(where: { $0.id == device.id }) else {
        guard merged.devices.count < Limits.devices else { continue }
        merged.devices.append(device)
        isChanged = true
        continue
      }
      for issued in device.certificates
      where !merged.devices[index].certificates.contains(where: { $0.serial.elementsEqual(issued.serial) }) {
        guard merged.devices[index].certificates.count < Limits.certificatesPerDevice else { continue }
        merged.devices[index].certificates.insert(issued, at: 0)
        isChanged = true
      }
    }
    let newest = merged.epochs.current.number
    merged.epochs.merge(theirs.roster.epochs)
    isChanged = isChanged || merged.epochs.current.number != newest
    guard isChanged || theirs.roster.number > roster.number else { return nil }
    merged.number = max(merged.number, theirs.roster.number)
    merged.manager = identity.device
    if !missing.isEmpty { try merged.epochs.begin(try cryptography.random(32), at: date) }
    var changed = record
    changed.roster = try SignedRoster.sign(
      merged, revoked: revoked, at: date, root: record.root, rootKey: try rootKey(to: "merge two lists"), cryptography)
    return changed
  }
}
