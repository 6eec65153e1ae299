import SegueModel

/// What a device does with the roster of another.
///
/// There is one manager at a time, so rosters form a line. But a device may become the manager by the recovery file
/// before it knows the last roster of the former one, and a manager may be restored from a backup. Then there are two
/// lines, of which the later one counts (`SignedRoster.isLater`). No device gives up a revocation or a device that it
/// knows: it keeps its roster, and sends it. A manager that gets an earlier roster of another line signs one that has
/// what both have.
extension Membership {
  enum Adoption: Sendable {
    /// Nothing new.
    case known
    /// To be stored. `hasMerged`: the manager has made it of two.
    case newer(AccountRecord, hasMerged: Bool)
    /// Something is missing there: the own roster is to be sent.
    case objection
  }

  /// Throws NOT_ALLOWED, MALFORMED: nothing of it counts then.
  func adopting(
    _ encoding: [UInt8], _ signature: [UInt8], at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> Adoption {
    let theirs = try SignedRoster.check(
      encoding, signature, root: record.root, rootPublicKey: rootPublicKey, cryptography)
    guard !theirs.encoding.elementsEqual(record.roster.encoding) else { return .known }
    let isLater = theirs.isLater(than: record.roster)
    if isManager, !isLater || theirs.roster.manager == identity.device {
      // A later one is what this manager had signed before its folder was restored from a backup.
      guard let merged = try merging(theirs, isLater: isLater, at: date, cryptography) else { return .known }
      return .newer(merged, hasMerged: true)
    }
    guard isLater else { return .known }
    guard hasAll(theirs.roster, at: date) else { return .objection }
    var changed = record
    changed.roster = theirs
    // Another device is the manager now.
    if theirs.roster.manager != identity.device { changed.rootKey = nil }
    return .newer(changed, hasMerged: false)
  }

  /// Whether another roster has no device that the own one has removed, has the own epoch or a later one, and has each
  /// device, or has removed it.
  private func hasAll(_ theirs: Roster, at date: Int64) -> Bool {
    theirs.devices.allSatisfy { !roster.removed.has($0.id) }
      && theirs.epochs.current.number >= roster.epochs.current.number
      && roster.devices.allSatisfy { device in
        theirs[device.id] != nil || theirs.removed.has(device.id) || device.hasExpired(at: date)
      }
  }

  /// Nil if the other roster has nothing that this one lacks.
  private func merging(
    _ signed: SignedRoster, isLater: Bool, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord? {
    let theirs = signed.roster
    var (merged, isChanged) = (roster, isLater)
    for device in theirs.removed.all where device.id != identity.device && device.until >= date {
      guard !merged.removed.has(device.id) else { continue }
      merged.removed.add(device)
      isChanged = true
    }
    // Who is removed in one of them may know the current epoch of the other.
    var isEpochOver = isChanged && merged.removed.all.count > roster.removed.all.count
    for device in merged.devices where merged.removed.has(device.id) {
      merged.removed.add(RemovedDevice(device, at: date))
      isEpochOver = true
    }
    merged.devices.removeAll { merged.removed.has($0.id) }
    for device in theirs.devices {
      if merged.removed.has(device.id) {
        let known = merged.removed.serials.count
        merged.removed.add(RemovedDevice(device, at: date))
        if merged.removed.serials.count > known { (isChanged, isEpochOver) = (true, true) }
      } else if let index = merged.devices.firstIndex(where: { $0.id == device.id }) {
        if merged.devices[index].take(device.certificates.filter { $0.until >= date }) { isChanged = true }
      } else if device.hasExpired(at: date) {
        continue
      } else if merged.devices.count < Limits.devices {
        merged.devices.append(device)
        isChanged = true
      } else {
        // There is no room: a device is in the account, or removed.
        merged.removed.add(RemovedDevice(device, at: date))
        (isChanged, isEpochOver) = (true, true)
      }
    }
    let newest = merged.epochs.current.number
    merged.epochs.merge(theirs.epochs)
    isChanged = isChanged || merged.epochs.current.number != newest
    guard isChanged else { return nil }
    merged.term = max(merged.term, theirs.term)
    merged.number = max(merged.number, theirs.number)
    merged.manager = identity.device
    if isEpochOver { try merged.epochs.begin(try cryptography.random(32), at: date) }
    var changed = record
    changed.roster = try SignedRoster.sign(
      merged, at: date, root: record.root, rootKey: try rootKey(to: "merge two lists"), cryptography)
    return changed
  }
}
