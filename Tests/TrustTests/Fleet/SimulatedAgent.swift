import SegueModel

@testable import SegueTrust

/// Stands for `DeviceService` and its account's thread in an agent: the account that ships, whose changes are on its
/// disk before the loop hears of them, and links as the account has them.
final class SimulatedAgent {
  /// As in `DeviceService`.
  private static let messageLimit = 16

  unowned let machine: Machine
  private(set) var links: SimulatedLinks?
  private(set) lazy var joins = SimulatedJoins(of: self)
  private(set) var snapshot = AccountSnapshot()
  private(set) var notices: [SegueError] = []
  private let service: AccountService
  private(set) var isOver = false
  /// When the account's thread is free, and when the loop has what it has said.
  private var (freeAt, saidAt): (Int64, Int64) = (0, 0)
  private var waiting: [Identifier] = []
  private var isTicking = false
  private var ticked: Int64 = 0
  private var timerAt: Int64 = .max
  private var fleet: AccountFleet { machine.fleet }

  init(on machine: Machine) {
    self.machine = machine
    service = AccountService(storage: machine.disk, cryptography: machine.cryptography)
    // The pause between two ticks, a second, is over at the start: a deadline that has passed is due at once.
    ticked = machine.now.uptime - 1_000
    let loaded = service.snapshot(at: machine.now)
    later(1) { [self] in apply(loaded, []) }
  }

  /// The process is gone.
  func drop(isPowerLost: Bool) {
    isOver = true
    links?.drop(isPowerLost: isPowerLost)
    joins.drop(isPowerLost: isPowerLost)
    links = nil
  }

  /// Does something if the process lives then; while the machine sleeps, nothing happens.
  func later(_ milliseconds: Int64, _ body: @escaping () -> Void) {
    fleet.later(milliseconds) { [self] in
      machine.whenAwake { if !self.isOver { body() } }
    }
  }

  // MARK: The account's thread

  func use<Success>(
    _ body: @escaping (AccountService, Instant) throws(SegueError) -> (events: [AccountEvent], value: Success),
    began: @escaping (Success) -> Void = { _ in }, _ answer: @escaping (Result<Success, SegueError>) -> Void
  ) {
    freeAt = max(freeAt, fleet.clock.uptime) + fleet.random.within(0, machine.slowness)
    later(freeAt - fleet.clock.uptime) { [self] in
      let now = machine.now
      var (events, result): ([AccountEvent], Result<Success, SegueError>)
      do throws(SegueError) {
        let (caused, value) = try body(service, now)
        (events, result) = (caused, .success(value))
      } catch { (events, result) = ([], .failure(error)) }
      fleet.oracle.look(at: machine)
      guard !machine.disk.isDead else { return machine.crash(isPowerLost: fleet.random.chance(0.5)) }
      let snapshot = service.snapshot(at: now)
      saidAt = max(saidAt, fleet.clock.uptime) + fleet.random.within(0, 2)
      later(saidAt - fleet.clock.uptime) { [self] in
        if case .success(let value) = result { began(value) }
        apply(snapshot, events)
        answer(result)
      }
    }
  }

  func perform(
    _ body: @escaping (AccountService, Instant) throws(SegueError) -> [AccountEvent],
    _ answer: @escaping () -> Void = {}
  ) {
    use({ service, now throws(SegueError) in
      do throws(SegueError) { return (try body(service, now), ()) } catch { return ([.notice(error)], ()) }
    }) { (_: Result<Void, SegueError>) in answer() }
  }

  // MARK: Events of the account

  private func apply(_ account: AccountSnapshot, _ events: [AccountEvent]) {
    snapshot = account
    for event in events where !isOver { handle(event) }
    align()
    setTimer()
  }

  private func handle(_ event: AccountEvent) {
    switch event {
    case .membershipChanged:
      for peer in links?.devices ?? [] { links?.link(with: peer)?.close() }
      closeLinks()
      align()
    case .cut(let peer): links?.link(with: peer)?.close()
    case .credentialsChanged: renewLinks()
    case .devicesChanged: links?.setDevices(snapshot.devices.map { $0.id })
    case .send(let peer, let message): links?.link(with: peer)?.send(.account(message))
    case .sendToAll(let except, let message):
      for peer in links?.devices ?? [] where peer != except { links?.link(with: peer)?.send(.account(message)) }
    case .notice(let error, _): note(error)
    case .joinSend, .joinAsks, .joinShows: joins.handle(event)
    case .joinEnded(_, let error):
      if let error { note(error) }
      joins.handle(event)
    }
  }

  private func note(_ error: SegueError) {
    fleet.trace(machine.name, "is told", error.message)
    notices.append(error)
  }

  private func align() {
    guard !isOver, let credentials = snapshot.credentials, let identity = snapshot.identity else { return closeLinks() }
    if links == nil {
      do throws(SegueError) {
        let opened = try SimulatedLinks(of: self, credentials, identity, snapshot.epochs)
        links = opened
        opened.setDevices(snapshot.devices.map { $0.id })
        opened.setAddresses(machine.addresses)
      } catch { note(error) }
    }
    links?.invites = snapshot.invites
  }

  private func closeLinks() {
    guard let former = links else { return }
    links = nil
    former.close()
  }

  private func renewLinks() {
    guard let links, let credentials = snapshot.credentials else { return align() }
    do throws(SegueError) { try links.renew(credentials, snapshot.epochs) } catch {
      note(error)
      closeLinks()
    }
  }

  /// A device has said something about the account; nil: its session begins.
  func heard(_ message: [UInt8]?, from peer: Identifier) {
    guard let message else {
      return perform { account, now throws(SegueError) in [.send(to: peer, try account.greeting(at: now))] }
    }
    guard let certificate = links?.link(with: peer)?.channel.peerCertificate,
      waiting.count(where: { $0 == peer }) < Self.messageLimit
    else { return }
    waiting.append(peer)
    perform({ account, now in account.receive(message, from: certificate, at: now) }) { [self] in
      if let index = waiting.firstIndex(of: peer) { waiting.remove(at: index) }
    }
  }

  /// A device that is not listed has said something.
  func heardUnlisted(_ message: [UInt8], _ certificate: [UInt8]) {
    perform { account, now in account.receive(message, from: certificate, at: now) }
  }

  // MARK: Time

  private func setTimer() {
    guard !isTicking, let next = snapshot.nextTick(after: ticked), next != timerAt else { return }
    timerAt = next
    later(next - machine.now.uptime) { [self] in
      guard timerAt == next else { return }
      timerAt = .max
      isTicking = true
      perform({ account, now in account.tick(at: now) }) { [self] in
        isTicking = false
        ticked = machine.now.uptime
        setTimer()
      }
    }
  }
}
