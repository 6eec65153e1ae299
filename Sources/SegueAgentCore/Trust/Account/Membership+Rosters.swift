// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Judges the roster of another device (docs/trust.md, "Which roster counts").
///
/// There is one manager at a time, so rosters form a line. But a device may become the manager by the recovery file
/// before it knows the last roster of the former one, and a manager may be restored from a backup. Then there are two
/// lines. No device gives up a removal that it knows: it keeps its roster, and sends it. A manager takes removals from
/// the rosters of managers that it knows; devices and epochs only from what it has signed itself.
extension Membership {
  enum Adoption: Sendable {
    /// Nothing new, or nothing that counts here.
    case known
    /// To be stored. `hasMerged`: the manager has made it of two.
    case newer(AccountRecord, hasMerged: Bool)
    /// Something is missing there: the own roster is to be sent.
    case rejection
    /// To be stored: the user says whether it counts.
    case aside(AccountRecord)
  }

  /// Throws NOT_ALLOWED, MALFORMED: nothing of it counts then.
  func adopting(
    _ encoding: [UInt8], _ signature: [UInt8], _ managerSignature: [UInt8], at date: Int64,
    _ cryptography: any Cryptography
  ) throws(SegueError) -> Adoption {
    let signed = try SignedRoster.check(
      encoding, signature, managerSignature, root: record.root, rootPublicKey: rootPublicKey, cryptography)
    let theirs = signed.roster
    guard !signed.digest.elementsEqual(record.roster.digest) else { return .known }
    guard leavesNumbers(theirs) else {
      throw SegueError(.notAllowed, "roster: its numbers are higher than any manager's can be, so it does not count")
    }
    let isOwn = theirs.term == roster.term && theirs.manager == roster.manager
    if isManager, theirs.term <= roster.term {
      if isOwn || roster.hasListed(theirs.manager),
        let merged = try merging(theirs, withDevices: isOwn, at: date, cryptography)
      {
        return .newer(merged, hasMerged: true)
      }
      return theirs.term == roster.term && !isOwn ? aside(signed, at: date) : .known
    }
    let counts = isOwn ? theirs.number > roster.number : theirs.term > roster.term && roster[theirs.manager] != nil
    guard counts else {
      // A former manager has its say no more, and an earlier roster of the same one is no news.
      return isOwn || theirs.term < roster.term ? .known : aside(signed, at: date)
    }
    guard hasAll(theirs, isOwn: isOwn) else {
      // The manager there takes what it lacks, unless it does not know the own one.
      return theirs.hasListed(roster.manager) ? .rejection : aside(signed, at: date)
    }
    return .newer(taking(signed), hasMerged: false)
  }

  /// Whether numbers are left after those of another roster. They rise by one, or to the date, so that the highest ones
  /// are forged: after them nothing could be revoked any longer.
  private func leavesNumbers(_ theirs: Roster) -> Bool {
    func isNear(_ number: UInt64, _ own: UInt64) -> Bool { number <= own + Limits.missedChanges }
    let lastDate = UInt64(Instant.lastSecond)
    return isNear(theirs.term, roster.term) && isNear(theirs.number, max(roster.number, lastDate))
      && isNear(theirs.epochs.current.number, max(roster.epochs.current.number, lastDate))
  }

  /// Whether another roster has each removal of the own one. One of the own manager also has the own epoch or a later
  /// one, and each device, or has removed it: otherwise that manager was restored from a backup.
  private func hasAll(_ theirs: Roster, isOwn: Bool) -> Bool {
    guard
      roster.removed.all.allSatisfy({ theirs.removed.has($0.id) || theirs.removed.isFull && theirs[$0.id] == nil })
    else { return false }
    guard isOwn else { return true }
    return theirs.epochs.current.number >= roster.epochs.current.number
      && (theirs.forgotten >= roster.number || roster.devices.allSatisfy { theirs.hasListed($0.id) })
  }

  /// The record with another roster as the own one.
  private func taking(_ signed: SignedRoster) -> AccountRecord {
    var changed = record
    changed.roster = signed
    // Another device is the manager now.
    if signed.roster.manager != identity.device { changed.rootKey = .elsewhere }
    changed.takeOvers.removeAll { waiting in
      waiting.roster.roster.term < signed.roster.term || waiting.roster.roster.manager == signed.roster.manager
    }
    return changed
  }

  // MARK: Take-overs

  /// Keeps a roster until the user says whether it counts: the newest of each manager, at most `Limits.takeOvers`, of
  /// which the oldest goes.
  private func aside(_ signed: SignedRoster, at date: Int64) -> Adoption {
    let roster = signed.roster
    var changed = record
    if let index = changed.takeOvers.firstIndex(where: { $0.roster.roster.manager == roster.manager }) {
      let known = changed.takeOvers[index].roster.roster
      guard (known.term, known.number) < (roster.term, roster.number) else { return .known }
      changed.takeOvers.remove(at: index)
    }
    changed.takeOvers.append(TakeOver(roster: signed, date: date))
    changed.takeOvers.removeFirst(max(0, changed.takeOvers.count - Limits.takeOvers))
    return .aside(changed)
  }

  /// The user takes a roster that waits. Throws NOT_FOUND.
  func accepting(_ digest: [UInt8], of device: Identifier) throws(SegueError) -> AccountRecord {
    let accepted = record.takeOvers.first { waiting in
      waiting.roster.digest.elementsEqual(digest) && waiting.roster.roster.manager == device
    }
    guard let accepted else {
      throw SegueError(.notFound, "account: no such list waits to be accepted")
    }
    return taking(accepted.roster)
  }

  // MARK: The manager

  /// Nil if the other roster has nothing that this one lacks.
  /// - Parameter withDevices: this device has signed it, before it was restored from a backup.
  private func merging(
    _ theirs: Roster, withDevices: Bool, at date: Int64, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord? {
    var merged = roster
    // A number of this device's that is higher was signed before the backup: it is not used again.
    var isChanged = withDevices && theirs.number > roster.number
    var isEpochOver = false
    // A device that was admitted and removed there knows the current epoch if that began before the two lines parted.
    let isEpochShared = theirs.epochs.has(roster.epochs.current)
    for device in theirs.removed.all where device.id != identity.device && merged.takesRemoval(of: device.id) {
      let (wasListed, wasRemoved) = (merged[device.id] != nil, merged.removed.has(device.id))
      guard merged.remove(device) else { continue }
      isChanged = true
      if wasListed || isEpochShared && !wasRemoved { isEpochOver = true }
    }
    for device in theirs.devices {
      if merged.removed.has(device.id) {
        if merged.remove(RemovedDevice(device)) { isChanged = true }
      } else if let index = merged.devices.firstIndex(where: { $0.id == device.id }) {
        if merged.devices[index].take(device.certificates) { isChanged = true }
      } else if withDevices, theirs.number > merged.forgotten {
        isChanged = true
        if merged.devices.count < Limits.devices {
          merged.devices.append(device)
        } else {
          // There is no room: a device is in the account, or removed.
          _ = merged.remove(RemovedDevice(device))
          isEpochOver = true
        }
      }
    }
    if withDevices {
      let newest = merged.epochs.current.number
      merged.epochs.merge(theirs.epochs)
      // The devices of another line know it, and this one may not list them.
      if merged.epochs.current.number != newest { (isChanged, isEpochOver) = (true, true) }
      merged.number = max(merged.number, theirs.number)
    }
    guard isChanged else { return nil }
    if isEpochOver {
      try merged.epochs.begin(try cryptography.random(32), after: theirs.epochs.current.number, at: date)
    }
    return try signed(merged, at: date, to: "merge two lists", cryptography)
  }
}
