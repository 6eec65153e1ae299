import SegueModel

@testable import SegueTrust

/// Stands for `AccountJoins` and `JoinDialler` in an agent: connections on which devices join, and on which this one
/// does.
final class SimulatedJoins: SimulatedConnectionOwner {
  private static let dialTime: Int64 = 20_000

  /// A connection on which TLS is up.
  private final class Join {
    let connection: SimulatedConnection
    var number: UInt64?
    /// The bytes that have come while the account was busy with earlier ones.
    var waiting: [[UInt8]] = []
    var isBusy = true
    var hasClosed = false

    init(_ connection: SimulatedConnection) { self.connection = connection }
  }

  private unowned let agent: SimulatedAgent
  private var joins: [Join] = []
  /// Connections to the addresses of an invite, and what to do with the first one that answers.
  private var dialled: [SimulatedConnection] = []
  private var answered: ((Result<SimulatedConnection, SegueError>) -> Void)?
  private var lastNumber: UInt64 = 0
  /// Called with what users see: the number of a join and the question of the inviter; that of the guest; and the end.
  var asks: ((UInt64, JoinQuestion) -> Void)?
  var shows: ((JoinQuestion) -> Void)?
  var ends: ((SegueError?) -> Void)?

  init(of agent: SimulatedAgent) { self.agent = agent }

  func drop(isPowerLost: Bool) {
    for connection in dialled + joins.map({ $0.connection }) { connection.drop(isPowerLost: isPowerLost) }
    (dialled, joins, answered) = ([], [], nil)
    let ends = self.ends
    (asks, shows, self.ends) = (nil, nil, nil)
    ends?(SegueError(.connectionUnavailable, "the agent has died"))
  }

  // MARK: Another device joins

  func accept(_ connection: SimulatedConnection) {
    guard let invite = connection.channel.invite else { return connection.close() }
    let join = add(connection)
    let source = connection.address.place.source
    agent.use({ account, now throws(SegueError) in
      guard account.mayTry(from: source, at: now) else { throw SegueError(.busy, "too many tries") }
      return ([], try account.beginInviting(invite, exporter: connection.channel.exporter, at: now))
    }) { [self] result in
      switch result {
      case .success(let number): begin(join, number)
      case .failure: end(join)
      }
    }
  }

  private func add(_ connection: SimulatedConnection) -> Join {
    connection.owner = self
    let join = Join(connection)
    joins.append(join)
    return join
  }

  private func begin(_ join: Join, _ number: UInt64) {
    join.number = number
    join.isBusy = false
    goOn(join)
  }

  /// Hands the account what has come, one part after the other.
  private func goOn(_ join: Join) {
    guard !join.isBusy, let number = join.number else { return }
    guard !join.waiting.isEmpty else {
      if join.hasClosed { agent.perform { account, now in account.closed(join: number, at: now) } }
      join.hasClosed = false
      return
    }
    let bytes = join.waiting.removeFirst()
    join.isBusy = true
    agent.perform({ account, now in account.receive(bytes, onJoin: number, at: now) }) { [self] in
      join.isBusy = false
      goOn(join)
    }
  }

  // MARK: This device joins

  func join(_ text: String) {
    do throws(SegueError) {
      let invite = try Invite(text)
      agent.use({ account, _ throws(SegueError) in ([], try account.checkMayJoin()) }) { [self] result in
        if case .failure(let error) = result { return fail(error) }
        dial(invite)
      }
    } catch { fail(error) }
  }

  private func fail(_ error: SegueError) {
    let ends = self.ends
    self.ends = nil
    ends?(error)
  }

  private func dial(_ invite: Invite) {
    let machine = agent.machine
    answered = { [self] result in
      answered = nil
      let others = dialled
      dialled = []
      switch result {
      case .failure(let error):
        for connection in others { connection.close() }
        fail(error)
      case .success(let connection):
        for other in others where other !== connection { other.close() }
        begin(invite, over: connection)
      }
    }
    for text in invite.addresses {
      guard let place = Place(text), let channel = try? SimulatedChannel(joiningWith: invite, machine.cryptography)
      else { continue }
      lastNumber += 1
      let number = lastNumber
      let address = Address(place: place, port: invite.port)
      let refused = { [self] in
        guard let connection = dialled.first(where: { $0.number == number }) else { return }
        failed(connection, SegueError(.connectionUnavailable, "nobody listens there"))
      }
      guard let wire = machine.fleet.dial(address, from: machine, refused: refused) else { continue }
      let connection = SimulatedConnection(wire, 0, address, as: number, channel, on: machine, of: self)
      dialled.append(connection)
      connection.start()
    }
    let error = SegueError(.connectionUnavailable, "the inviting device is not reached")
    guard !dialled.isEmpty else {
      answered?(.failure(error))
      return
    }
    agent.later(Self.dialTime) { [self] in answered?(.failure(error)) }
  }

  private func begin(_ invite: Invite, over connection: SimulatedConnection) {
    agent.machine.fleet.trace(agent.machine.name, "is answered with the key of the invite")
    let join = add(connection)
    let name = agent.machine.name
    agent.use(
      { account, now throws(SegueError) in
        let (number, events) = try account.beginJoining(
          invite, exporter: connection.channel.exporter, deviceName: name, platform: "Linux", at: now)
        return (events, number)
      }, began: { [self] number in begin(join, number) }
    ) { [self] result in
      if case .failure(let error) = result {
        end(join)
        fail(error)
      }
    }
  }

  // MARK: Connections

  func isUp(_ connection: SimulatedConnection) { if connection.isDialled { answered?(.success(connection)) } }

  func failed(_ connection: SimulatedConnection, _ error: SegueError) {
    if let join = joins.first(where: { $0.connection === connection }) {
      // Closed by the other end; or what it says is not due.
      join.hasClosed = true
      connection.close()
      return goOn(join)
    }
    dialled.removeAll { $0 === connection }
    connection.close()
    if dialled.isEmpty { answered?(.failure(error)) }
  }

  func ended(_ connection: SimulatedConnection) {}

  func received(_ frame: Frame, over connection: SimulatedConnection) {
    guard case .join(let bytes) = frame, let join = joins.first(where: { $0.connection === connection }) else { return }
    join.waiting.append(bytes)
    goOn(join)
  }

  private func end(_ join: Join) {
    joins.removeAll { $0 === join }
    join.connection.close()
  }

  // MARK: Events of the account

  func handle(_ event: AccountEvent) {
    switch event {
    case .joinSend(let number, let bytes): joins.first { $0.number == number }?.connection.send(.join(bytes))
    case .joinAsks(let number, let question): asks?(number, question)
    case .joinShows(_, let question): shows?(question)
    case .joinEnded(let number, let error):
      guard let join = joins.first(where: { $0.number == number }) else { return }
      let isOwn = join.connection.isDialled
      end(join)
      guard isOwn else { return }
      let address = join.connection.address
      let ends = self.ends
      self.ends = nil
      if error == nil { agent.links?.note(address) }
      ends?(error)
    default: break
    }
  }
}
