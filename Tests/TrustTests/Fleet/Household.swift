import SegueModel

@testable import SegueTrust

/// The users of a fleet's machines: they carry invites from one to the other, compare digits, and say what is to
/// happen.
final class Household {
  private let fleet: AccountFleet
  /// The digits on the screen of each machine that joins.
  private var shown: [(machine: String, digits: String)] = []
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

  /// The user knows which take-over was his own.
  func acceptTakeOvers(_ machine: Machine) {
    guard machine.isAwake, let waiting = machine.agent?.snapshot.takeOvers, !waiting.isEmpty else { return }
    guard let record = fleet.oracle.record(of: machine) else { return }
    let own = record.roster.roster
    let rosters = record.takeOvers.map { $0.roster }.filter { !fleet.oracle.isFalse($0.roster) }
    let best = rosters.filter { fleet.oracle.isAhead($0.roster, of: own) || fleet.oracle.isFalse(own) }
      .reduce(nil as SignedRoster?) { best, each in
        best.map { fleet.oracle.isAhead(each.roster, of: $0.roster) } ?? true ? each : best
      }
    guard let best else { return }
    tell(machine, "accepts a take-over") { account, now throws(SegueError) in
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
    guard machine.isAwake, let agent = machine.agent else { return }
    fleet.trace(machine.name, what)
    agent.use({ account, now throws(SegueError) in (try body(account, now), ()) }) {
      [fleet] (result: Result<Void, SegueError>) in
      if case .failure(let error) = result { fleet.trace(machine.name, "hears that it cannot:", error.message) }
    }
  }

  // MARK: Joining

  /// Makes an invite at one machine, and joins with it at another.
  func invite(_ guest: Machine, by manager: Machine, isLeaked: Bool = false) {
    guard let agent = manager.agent, let listener = manager.listener, manager.isAwake else { return }
    fleet.trace(manager.name, "invites", guest.name)
    agent.joins.asks = { [self] number, question in asked(number, question, at: manager, agent, guest) }
    agent.use({ account, now throws(SegueError) in
      ([], try account.invite(addresses: [listener.place.text], port: listener.port, at: now))
    }) { [self] result in
      if case .failure(let error) = result { fleet.trace(manager.name, "cannot invite:", error.message) }
      guard case .success(let invite) = result else { return }
      if isLeaked, let place = manager.place {
        for hostile in fleet.hostiles where hostile.place?.network == place.network {
          fleet.later(fleet.random.within(0, 8_000)) { hostile.join(with: invite, at: listener) }
        }
      }
      fleet.later(isWilling ? 500 : fleet.random.within(100, 6_000)) { [self] in join(guest, invite.text) }
    }
  }

  private func join(_ guest: Machine, _ text: String) {
    guard guest.isAwake, let agent = guest.agent else { return }
    guard agent.joins.ends == nil else { return fleet.trace(guest.name, "joins already") }
    fleet.trace(guest.name, "joins")
    agent.joins.shows = { [self] question in
      shown.removeAll { $0.machine == guest.name }
      shown.append((guest.name, question.digits))
    }
    agent.joins.ends = { [self] error in
      shown.removeAll { $0.machine == guest.name }
      fleet.trace(guest.name, error == nil ? "has joined" : "has not joined:", error?.message)
      fleet.meet(error == nil ? "joined" : "not joined")
    }
    agent.joins.join(text)
  }

  /// A device asks to be admitted.
  private func asked(
    _ number: UInt64, _ question: JoinQuestion, at manager: Machine, _ agent: SimulatedAgent, _ guest: Machine
  ) {
    if !isWilling, fleet.random.chance(0.1) { return }
    agent.later(isWilling ? 500 : fleet.random.within(500, 20_000)) { [self] in
      let isSame = shown.contains { $0.machine == guest.name && $0.digits == question.digits }
      let isAdmitted = isSame && (isWilling || fleet.random.chance(0.9))
      fleet.trace(manager.name, isAdmitted ? "admits" : "declines", question.deviceName)
      if !isSame { fleet.meet("digits that differ") }
      agent.perform { account, now throws(SegueError) in
        isAdmitted ? try account.approve(number, at: now) : account.decline(number, at: now)
      }
    }
  }
}
