// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

@testable import SegueFleet
@testable import SegueAgentCore

/// Reads the accounts of a fleet from its disks, and checks what must hold of them at each moment.
final class AccountOracle {
  /// Milliseconds from the disk to the last link with a revoked device.
  private static let cutTime: Int64 = 1_000

  /// One disk.
  private struct Known {
    var record: AccountRecord
    var identity: DeviceIdentity
    /// Since when the disk says so, by the fleet's uptime, device by device.
    var removedAt: [(device: Identifier, uptime: Int64)] = []
  }

  private unowned let fleet: AccountFleet
  private let cryptography: StandInCryptography
  private var known: [Known?] = []
  /// The files as they were read last: reading takes long.
  private var read: [(file: [UInt8], record: AccountRecord)?] = []
  /// The secrets that each device has ever had, in the order in which it got them.
  private var secrets: [(device: Identifier, epochs: [[UInt8]])] = []
  /// When any device had each of them first, by a clock that is right.
  private var begun: [(epoch: [UInt8], date: Int64)] = []
  private var names: [(device: Identifier, name: String)] = []
  /// The devices that any disk has ever removed, and in which term: what is forgotten after a year is no promise.
  private var everRemoved: [(device: Identifier, term: UInt64)] = []

  init(_ fleet: AccountFleet) {
    self.fleet = fleet
    cryptography = StandInCryptography(fleet.signatures, seed: 0)
  }

  func name(of device: Identifier) -> String {
    names.first { $0.device == device }?.name ?? device.fingerprint
  }

  /// The account on the disk of a machine. Nil if there is none, or it cannot be read.
  func record(of machine: Machine) -> AccountRecord? {
    guard let file = machine.disk.file else { return nil }
    let index = index(of: machine)
    while read.count <= index { read.append(nil) }
    if let former = read[index], former.file == file { return former.record }
    let record = try? AccountRecord(file, cryptography)
    read[index] = record.map { (file, $0) }
    return record
  }

  func identity(of record: AccountRecord) -> DeviceIdentity? {
    (try? cryptography.readCertificate(record.certificate)).flatMap { try? DeviceIdentity(of: $0) }
  }

  private func index(of machine: Machine) -> Int {
    let index = fleet.machines.firstIndex { $0 === machine } ?? 0
    while known.count <= index { known.append(nil) }
    return index
  }

  /// A backup takes back what the disk has said.
  func restored(_ machine: Machine) {
    known[index(of: machine)] = nil
    look(at: machine)
  }

  /// The disk of a machine may have changed.
  func look(at machine: Machine) {
    let index = index(of: machine)
    guard let record = record(of: machine), let identity = identity(of: record) else {
      if machine.disk.file != nil { fleet.report(machine.name, "its file of the account cannot be read") }
      known[index] = nil
      return
    }
    if names.first(where: { $0.device == identity.device }) == nil { names.append((identity.device, machine.name)) }
    let roster = record.roster.roster
    let former = known[index].flatMap { $0.identity == identity ? $0 : nil }
    guard former?.record.roster.encoding != record.roster.encoding else {
      known[index]?.record = record
      return
    }
    var new = Known(record: record, identity: identity, removedAt: former?.removedAt ?? [])
    for removed in roster.removed.all where !new.removedAt.contains(where: { $0.device == removed.id }) {
      new.removedAt.append((removed.id, fleet.clock.uptime))
      if removalTerm(of: removed.id) == nil { everRemoved.append((removed.id, roster.term)) }
    }
    new.removedAt.removeAll { !roster.removed.has($0.device) }
    known[index] = new
    let has = roster[identity.device] != nil
    if has { remember(identity.device, roster.epochs.all.map { $0.secret }) }
    if let former { checkNothingIsGivenUp(machine, former, record) }
    if !has { fleet.meet("a device that knows that it was revoked") }
    if let former, former.record.isManager, !record.isManager { fleet.meet("a manager that is none any more") }
    if let former, roster.term > former.record.roster.roster.term { fleet.meet("a new term") }
    checkEpochs()
  }

  private func removalTerm(of device: Identifier) -> UInt64? { everRemoved.first { $0.device == device }?.term }

  private func remember(_ device: Identifier, _ epochs: [[UInt8]]) {
    let index = secrets.firstIndex { $0.device == device } ?? secrets.count
    if index == secrets.count { secrets.append((device, [])) }
    for epoch in epochs where !secrets[index].epochs.contains(epoch) {
      secrets[index].epochs.append(epoch)
      if !begun.contains(where: { $0.epoch == epoch }) { begun.append((epoch, Int64(fleet.date))) }
    }
  }

  /// Whether two devices have lost each other: the last epoch that both have had ended for one of them so long ago that
  /// it no longer answers under it (docs/trust.md). Neither hears of the other one by itself then.
  private func areLost(_ one: Identifier, _ other: Identifier) -> Bool {
    let histories = [one, other].map { device in secrets.first { $0.device == device }?.epochs ?? [] }
    return zip(histories, histories.reversed()).contains { epochs, others in
      guard let shared = epochs.lastIndex(where: { others.contains($0) }) else { return true }
      guard shared + 1 < epochs.count else { return false }
      let next = begun.first { $0.epoch == epochs[shared + 1] }?.date ?? .max
      return Int64(fleet.date) - next > Limits.epochLife
    }
  }

  /// No device gives up a removal that it knows, unless its user has accepted a takeover; nor a device, while one
  /// manager signs in one term (docs/trust.md).
  private func checkNothingIsGivenUp(_ machine: Machine, _ before: Known, _ record: AccountRecord) {
    let (former, roster) = (before.record.roster.roster, record.roster.roster)
    guard !before.record.takeOvers.contains(where: { $0.roster.digest == record.roster.digest }) else {
      return fleet.meet("a takeover that was accepted")
    }
    guard former.removed.all.count < Limits.removedDevices else { return }
    for removed in former.removed.all where !roster.removed.has(removed.id) {
      fleet.report(machine.name, "has given up the removal of \(name(of: removed.id))")
    }
    if (roster.term, roster.number) < (former.term, former.number) {
      fleet.report(machine.name, "has taken an earlier roster")
    }
    guard roster.term == former.term, roster.manager == former.manager else { return }
    for device in former.devices where !roster.hasListed(device.id) {
      fleet.report(machine.name, "has given up \(name(of: device.id)), which nobody has removed")
    }
  }

  /// The last roster of the manager that users take for the one: of the highest term; of several in it, always the same
  /// one.
  func isAhead(_ one: Roster, of other: Roster) -> Bool {
    if one.term != other.term { return one.term > other.term }
    guard one.manager == other.manager else { return other.manager.bytes.lexicographicallyPrecedes(one.manager.bytes) }
    return one.number > other.number
  }

  /// Whether a device that was removed has taken over since: no user takes that.
  func isFalse(_ roster: Roster) -> Bool {
    removalTerm(of: roster.manager).map { roster.term > $0 } ?? false
  }

  /// The one of all disks with this account.
  private func prevailing(_ account: Identifier) -> Roster? {
    let rosters = fleet.machines.compactMap { record(of: $0)?.roster.roster }
    return rosters.filter { $0.account == account && !isFalse($0) && removalTerm(of: $0.manager) == nil }
      .reduce(nil) { best, each in
        best.map { isAhead(each, of: $0) } ?? true ? each : best
      }
  }

  /// Whether the users of an account take a machine for its manager: it may not have heard of a device that has taken
  /// over.
  func leads(_ machine: Machine) -> Bool {
    guard let record = record(of: machine), let identity = identity(of: record), record.isManager else { return false }
    return prevailing(identity.account)?.manager == identity.device
  }

  /// Under what a device knocks and announces itself is known to none of those that it has removed.
  private func checkEpochs() {
    for (index, entry) in known.enumerated() {
      guard let entry, entry.record.roster.roster[entry.identity.device] != nil else { continue }
      let roster = entry.record.roster.roster
      let current = roster.epochs.current.secret
      for removed in roster.removed.all {
        guard secrets.first(where: { $0.device == removed.id })?.epochs.contains(current) ?? false else { continue }
        fleet.report(fleet.machines[index].name, "uses an epoch that \(name(of: removed.id)) knows, which is removed")
      }
    }
  }

  // MARK: Links

  private func check(_ machine: Machine, _ entry: Known, _ peer: Identifier) {
    guard let removed = entry.removedAt.first(where: { $0.device == peer }) else { return }
    guard fleet.clock.uptime > removed.uptime + Self.cutTime else { return }
    fleet.report(machine.name, "is linked with \(name(of: peer)), which it knows to be removed")
  }

  /// Checks all links that there are.
  func checkLinks() {
    for machine in fleet.machines where machine.isAwake {
      guard let links = machine.devices?.links else { continue }
      guard let entry = known[index(of: machine)] else {
        if !links.devices.isEmpty { fleet.report(machine.name, "is linked without an account") }
        continue
      }
      for peer in links.devices { check(machine, entry, peer) }
    }
  }

  /// Checks that no agent is linked with a device that its account does not list, not even for a moment (A15, A24).
  func checkListed() {
    for machine in fleet.machines {
      guard let devices = machine.devices, let linked = devices.links?.devices else { continue }
      for peer in linked where !devices.snapshot.devices.contains(where: { $0.id == peer }) {
        fleet.report(machine.name, "is linked with \(name(of: peer)), which it does not list")
      }
    }
  }

  // MARK: The end

  /// Whether a machine's disk has an account that works now: its certificate is good by a clock that is right, and no
  /// disk has ever removed it.
  func isGood(_ machine: Machine) -> Bool { problem(of: machine) == nil }

  /// Why a machine cannot be expected to be linked with the others; nil if it must be.
  func problem(of machine: Machine) -> String? {
    guard let record = record(of: machine), let identity = identity(of: record) else { return "no account" }
    if record.roster.roster[identity.device] == nil { return "it knows that it was removed" }
    if removalTerm(of: identity.device) != nil { return "somebody has removed it" }
    let roster = record.roster.roster
    // It had been removed when its user made it the manager: who follows it is in an account of its own.
    if let term = removalTerm(of: roster.manager), roster.term > term { return "its manager had been removed" }
    // Another one has taken over without knowing it.
    if let last = prevailing(roster.account), last[identity.device] == nil {
      return "the last manager does not list it"
    }
    let date = Int64(fleet.date)
    guard let fields = try? cryptography.readCertificate(record.certificate) else { return "no certificate" }
    // The manager renews its own.
    if !record.isManager, fields.from > date || fields.until < date { return "its certificate is not valid" }
    return nil
  }

  /// The reason why the good machines of an account are not all linked with each other, with one roster. Nil if they
  /// are.
  func disagreement() -> String? {
    let good = fleet.machines.filter { isGood($0) }
    for machine in good {
      guard let record = record(of: machine), let own = identity(of: record) else { continue }
      guard case .member? = machine.snapshot?.status, let links = machine.devices?.links else {
        return "\(machine.name) has no links: \(machine.snapshot?.advice?.message ?? "no advice")"
      }
      for other in good where other !== machine {
        guard let theirs = self.record(of: other), let peer = identity(of: theirs), peer.account == own.account else {
          continue
        }
        guard !areLost(own.device, peer.device) else {
          fleet.meet("devices that have lost each other")
          continue
        }
        guard links.devices.contains(peer.device) else { return "\(machine.name) is not linked with \(other.name)" }
        let (mine, others) = (record.roster.roster, theirs.roster.roster)
        guard record.roster.digest == theirs.roster.digest else {
          return """
            \(machine.name) has roster \(mine.number) of term \(mine.term), \(other.name) \(others.number) of term \
            \(others.term)
            """
        }
      }
      for peer in links.devices where record.roster.roster[peer] == nil {
        return "\(machine.name) is linked with \(name(of: peer)), which it does not list"
      }
      if record.isManager, record.roster.roster.manager != own.device {
        return "\(machine.name) has the key of the account, and is not its manager"
      }
      if let fields = try? cryptography.readCertificate(record.certificate),
        fields.from > Int64(fleet.date) || fields.until < Int64(fleet.date)
      {
        return "\(machine.name), the manager, does not renew its own certificate"
      }
    }
    return nil
  }
}
