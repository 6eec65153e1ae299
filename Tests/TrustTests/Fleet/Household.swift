// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueAgentCore

/// The users of a fleet's machines: they carry invites from one to the other, compare digits, and say what is to
/// happen.
final class Household {
  private let fleet: AccountFleet
  /// The digits on the screen of each machine that joins.
  private var shown: [(machine: String, digits: String)] = []
  /// The guest of the last invite of each machine.
  private var guests: [String: Machine] = [:]
  /// Whether they always answer, at once.
  var isWilling = false

  init(_ fleet: AccountFleet) { self.fleet = fleet }

  func create(_ machine: Machine) {
    let name = machine.name
    tell(machine, "creates an account") { account, now throws(SegueError) in
      try account.create(name: "Home", deviceName: name, platform: "Linux", at: now)
    }
  }

  func revoke(_ device: Identifier, by manager: Machine) {
    fleet.trace(manager.name, "revokes", fleet.oracle.name(of: device))
    fleet.meet("revoked")
    tell(manager, "revokes") { account, now throws(SegueError) in try account.revoke(device, at: now) }
  }

  /// The user knows which takeover was his own.
  func acceptTakeOvers(_ machine: Machine) {
    guard machine.isAwake, let waiting = machine.snapshot?.takeOvers, !waiting.isEmpty else { return }
    guard let record = fleet.oracle.record(of: machine) else { return }
    let own = record.roster.roster
    let rosters = record.takeOvers.map { $0.roster }.filter { !fleet.oracle.isFalse($0.roster) }
    let best = rosters.filter { fleet.oracle.isAhead($0.roster, of: own) || fleet.oracle.isFalse(own) }
      .reduce(nil as SignedRoster?) { best, each in
        best.map { fleet.oracle.isAhead(each.roster, of: $0.roster) } ?? true ? each : best
      }
    guard let best else { return }
    tell(machine, "accepts a takeover") { account, now throws(SegueError) in
      try account.accept(best.digest, of: best.roster.manager, at: now)
    }
  }

  func rename(_ machine: Machine) {
    let name = "\(machine.name) \(fleet.random.below(100))"
    tell(machine, "renames itself") { account, now throws(SegueError) in try account.rename(nil, name, at: now) }
  }

  func leave(_ machine: Machine, isAbandoning: Bool) {
    tell(machine, "leaves") { account, _ throws(SegueError) in
      do throws(SegueError) { return try account.leave(isAbandoning: isAbandoning).events } catch {
        // There is nothing to leave.
        if error.status == .notFound { return [] }
        throw error
      }
    }
  }

  private func tell(
    _ machine: Machine, _ what: StaticString,
    _ body: @escaping (AccountService, Instant) throws(SegueError) -> [AccountEvent]
  ) {
    guard machine.isAwake, let devices = machine.devices else { return }
    fleet.trace(machine.name, what)
    devices.account.use({ account, now throws(SegueError) in (try body(account, now), ()) }) {
      [fleet] (result: Result<Void, SegueError>) in
      if case .failure(let error) = result { fleet.trace(machine.name, "hears that it cannot:", error.message) }
    }
  }

  // MARK: Joining

  /// The one who asks for things at a machine.
  private var user: ControlClient { ControlClient(number: 1, principal: .device(Identifier(high: 0, low: 1))) }

  /// Makes an invite at one machine, and joins with it at another.
  func invite(_ guest: Machine, by manager: Machine, isLeaked: Bool = false) {
    guard let devices = manager.devices, manager.isAwake else { return }
    fleet.trace(manager.name, "invites", guest.name)
    let (addresses, port) = (devices.inviteAddresses, devices.port)
    devices.account.use({ account, now throws(SegueError) in
      ([], try account.invite(addresses: addresses, port: port, at: now))
    }) { [self] (result: Result<Invite, SegueError>) in
      if case .failure(let error) = result { fleet.trace(manager.name, "cannot invite:", error.message) }
      guard case .success(let invite) = result else { return }
      if isLeaked, let place = manager.place, let listener = manager.listener {
        for hostile in fleet.hostiles where hostile.place?.network == place.network {
          fleet.later(fleet.random.within(0, 8_000)) { hostile.join(with: invite, at: listener) }
        }
      }
      guests[manager.name] = guest
      watch(manager, guest, after: nil, until: fleet.clock.uptime + Limits.inviteLife)
      fleet.later(isWilling ? 500 : fleet.random.within(100, 6_000)) { [self] in join(guest, invite) }
    }
  }

  private func join(_ guest: Machine, _ invite: Invite) {
    guard guest.isAwake, let joins = guest.devices?.joins else { return }
    guard guest.died == nil else { return fleet.trace(guest.name, "joins already") }
    fleet.trace(guest.name, "joins")
    guest.died = { [self] in ended(guest, SegueError(.connectionUnavailable, "the agent has died")) }
    joins.join(invite, deviceName: guest.name, timeout: nil, for: user) { [self] result in
      guard case .success(let question) = result, let number = question["join"]?.int64,
        let digits = question["digits"]?.string
      else { return ended(guest, result.error) }
      shown.removeAll { $0.machine == guest.name }
      shown.append((guest.name, digits))
      do throws(SegueError) {
        try joins.wait(for: UInt64(number), timeout: nil, user) { [self] result in ended(guest, result.error) }
      } catch { ended(guest, error) }
    }
  }

  private func ended(_ guest: Machine, _ error: SegueError?) {
    guest.died = nil
    shown.removeAll { $0.machine == guest.name }
    fleet.trace(guest.name, error == nil ? "has joined" : "has not joined:", error?.message)
    fleet.meet(error == nil ? "joined" : "not joined")
  }

  /// Waits at a manager for a device that asks to be admitted.
  private func watch(_ manager: Machine, _ guest: Machine, after: Int64?, until end: Int64) {
    guard let devices = manager.devices, guests[manager.name] === guest, fleet.clock.uptime < end else { return }
    do throws(SegueError) {
      try devices.watch(after: after, timeout: 60_000, for: user) { [self] result in
        guard case .success(let state) = result, guests[manager.name] === guest else { return }
        for join in state["joins"]?.elements ?? [] {
          guard join["asks"]?.bool ?? false, let number = join["join"]?.int64, let digits = join["digits"]?.string
          else { continue }
          return asked(UInt64(number), digits, join["device_name"]?.string ?? "", at: manager, guest, until: end)
        }
        let change = state["change"]?.int64
        manager.later(0) { [self] in watch(manager, guest, after: change, until: end) }
      }
    } catch { fleet.trace(manager.name, "cannot be watched:", error.message) }
  }

  /// A device asks to be admitted.
  private func asked(
    _ number: UInt64, _ digits: String, _ name: String, at manager: Machine, _ guest: Machine, until end: Int64
  ) {
    if !isWilling, fleet.random.chance(0.1) { return }
    manager.later(isWilling ? 500 : fleet.random.within(500, 20_000)) { [self] in
      let isSame = shown.contains { $0.machine == guest.name && $0.digits == digits }
      let isAdmitted = isSame && (isWilling || fleet.random.chance(0.9))
      fleet.trace(manager.name, isAdmitted ? "admits" : "declines", name)
      if !isSame { fleet.meet("digits that differ") }
      try? manager.devices?.joins.answer(number, isAdmitted: isAdmitted) { _ in }
      // A stranger with the invite has come first.
      if isWilling, !isSame { watch(manager, guest, after: nil, until: end) }
    }
  }
}

extension Result where Failure == SegueError {
  fileprivate var error: SegueError? { if case .failure(let error) = self { error } else { nil } }
}
