// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The owner of the joins, which is told of what users are to see. For one thread.
public protocol AccountJoinsOwner: AnyObject {
  /// A user has something to see, or a deadline has changed.
  func joinsHaveChanged()
  /// A device that has the key of an invite cannot join now; the invite is not used up.
  func joinWasRefused(_ error: SegueError)
  /// This device has joined: the device at this address has admitted it.
  func hasJoined(at address: NetworkAddress)
}

/// Devices that join the account, and this device when it joins one: their connections, what users are asked, and how
/// it ended. For one thread.
public final class AccountJoins: DeviceConnectionOwner {
  /// The system of this device, as others are told.
  public static let platform = "Linux"
  /// Milliseconds for reaching the other device, unless the user says otherwise.
  private static let dialTime: Int64 = 20_000
  /// Joins that have ended, and are remembered.
  private static let endedLimit = 16
  /// Those who wait for the end of a join.
  private static let waiterLimit = 32

  /// One join, as users see it.
  public struct Join {
    public let number: UInt64
    /// Whether another device joins; else this one does.
    public let isInviting: Bool
    /// Whether the user of this device is to answer. An answer counts once.
    public var isAsking = false
    /// The question that both screens show; nil before they show it.
    public var question: JoinQuestion?
    public var end: Result<Void, SegueError>?
  }

  private struct Waiter {
    let number: UInt64
    let client: ControlClient
    let deadline: Int64?
    let answer: ControlClient.Answer
  }

  /// The one who has this device join, until the digits are known.
  private struct JoinRequester {
    /// Tells it from one that comes after it: what was asked for one says nothing to another.
    let serial: UInt64
    let client: ControlClient
    let answer: ControlClient.Answer
    var dialler: JoinDialler?
    var number: UInt64?
  }

  private let account: AccountClient
  private let environment: any AgentEnvironment
  private let transport: any LinkTransport
  private let security: any LinkSecurity
  private var connections: [JoinConnection] = []
  private var joins: [Join] = []
  private var waiters: [Waiter] = []
  private var beginner: JoinRequester?
  private var lastSerial: UInt64 = 0
  /// The owner outlives this object's use of it. Nil until the owner sets it, and after `close`.
  public unowned(unsafe) var owner: (any AccountJoinsOwner)?

  public init(
    _ account: AccountClient, in environment: any AgentEnvironment, over transport: any LinkTransport,
    _ security: any LinkSecurity
  ) {
    self.account = account
    self.environment = environment
    self.transport = transport
    self.security = security
  }

  /// Closes all connections; the account knows. Later answers of its thread call nothing.
  public func close() {
    owner = nil
    beginner?.dialler?.cancel()
    beginner = nil
    for connection in connections { connection.end() }
    connections = []
    waiters = []
  }

  /// Those that wait for a user, in their order.
  public var open: [Join] { joins.filter { $0.question != nil && $0.end == nil } }

  /// Tells the owner.
  private func changed() { owner?.joinsHaveChanged() }

  // MARK: Connections

  /// Takes over a connection on which another device joins. TLS is up.
  public func accept(_ connection: DeviceConnection) {
    guard let join = add(connection) else { return }
    let source = connection.path.source
    account.use({ account, now throws(SegueError) in
      guard account.mayTry(from: source, at: now) else {
        throw SegueError(.busy, "join: too many connections from there")
      }
      return ([], try account.beginInviting(join.invite, exporter: join.exporter, at: now))
    }) { [self] result in
      switch result {
      case .success(let number):
        joins.append(Join(number: number, isInviting: true))
        join.begin(as: number)
      case .failure(let error):
        owner?.joinWasRefused(error)
        end(join)
      }
    }
  }

  private func add(_ connection: DeviceConnection) -> JoinConnection? {
    do throws(SegueError) {
      let join = try JoinConnection(connection, of: self)
      connections.append(join)
      return join
    } catch {
      environment.log(.error, "join: \(error.message)")
      return nil
    }
  }

  /// Bytes have come over a connection; `goOn` has more of them read.
  func received(_ bytes: [UInt8], over join: JoinConnection) {
    guard let number = join.number else { return }
    account.perform(size: bytes.count, { account, now in account.receive(bytes, onJoin: number, at: now) }) {
      join.goOn()
    }
  }

  /// The other end has closed a connection.
  func closed(_ join: JoinConnection) {
    connections.removeAll { $0 === join }
    guard let number = join.number else { return }
    account.perform({ account, now in account.closed(join: number, at: now) }) { [self] in
      // One that has said nothing has no end.
      joins.removeAll { $0.number == number && $0.question == nil && $0.end == nil }
    }
  }

  private func end(_ join: JoinConnection) {
    connections.removeAll { $0 === join }
    join.end()
  }

  // A connection on which something joins reads its own end.
  public func failed(_ connection: DeviceConnection, _ error: SegueError) {}
  public func isUp(_ connection: DeviceConnection) {}
  public func ended(_ connection: DeviceConnection) {}

  // MARK: This device joins

  /// - Parameter answer: called once both screens show the digits, or it has failed.
  public func join(
    _ invite: Invite, deviceName: String, timeout: Int64?, for client: ControlClient,
    _ answer: @escaping ControlClient.Answer
  ) {
    guard beginner == nil else {
      return answer(.failure(SegueError(.busy, "join: this device is joining already")))
    }
    lastSerial += 1
    let serial = lastSerial
    beginner = JoinRequester(serial: serial, client: client, answer: answer)
    account.use(isFirst: true, { account, _ throws(SegueError) in ([], try account.checkMayJoin()) }) {
      [self] result in
      guard isThere(serial) else { return }
      if case .failure(let error) = result { return fail(error, serial) }
      let deadline = environment.uptime + min(timeout ?? Self.dialTime, Self.dialTime)
      // Removing the waiter cancels the dialler, which then calls nothing.
      let dialler = JoinDialler(invite, until: deadline, in: environment, over: transport, security) { [self] result in
        beginner?.dialler = nil
        switch result {
        case .failure(let error): fail(error, serial)
        case .success(let connection): begin(over: connection, deviceName, for: serial)
        }
      }
      // It calls that until it is done or cancelled.
      dialler.changed = { [self] in changed() }
      beginner?.dialler = dialler
      dialler.start()
      changed()
    }
  }

  /// Whether the one who had this device join still waits.
  private func isThere(_ serial: UInt64) -> Bool { beginner?.serial == serial }

  private func begin(over connection: DeviceConnection, _ deviceName: String, for serial: UInt64) {
    guard let join = add(connection) else {
      return fail(SegueError(.connectionUnavailable, "join: the connection has ended"), serial)
    }
    account.use(
      isFirst: true,
      { account, now throws(SegueError) in
        let (number, events) = try account.beginJoining(
          join.invite, exporter: join.exporter, deviceName: deviceName, platform: Self.platform, at: now)
        return (events, number)
      },
      began: { [self] number in
        if isThere(serial) { beginner?.number = number }
        joins.append(Join(number: number, isInviting: false))
        join.begin(as: number)
      }
    ) { [self] result in
      switch result {
      case .failure(let error):
        end(join)
        fail(error, serial)
      case .success(let number):
        // The client that began it has gone meanwhile.
        if !isThere(serial), joins.contains(where: { $0.number == number && $0.question == nil && $0.end == nil }) {
          decline(number)
        }
      }
    }
  }

  private func fail(_ error: SegueError, _ serial: UInt64) {
    guard let former = beginner, former.serial == serial else { return }
    beginner = nil
    former.dialler?.cancel()
    changed()
    former.answer(.failure(error))
  }

  private func decline(_ number: UInt64) {
    account.perform({ account, now in account.decline(number, at: now) })
  }

  // MARK: Events of the account

  /// Does what follows; other events are the owner's.
  public func handle(_ event: AccountEvent) {
    switch event {
    case .joinSend(let number, let bytes): connections.first { $0.number == number }?.send(bytes)
    case .joinAsks(let number, let question): show(question, number, asks: true)
    case .joinShows(let number, let question): show(question, number, asks: false)
    case .joinEnded(let number, let error): ended(number, error)
    default: break
    }
  }

  private func show(_ question: JoinQuestion, _ number: UInt64, asks: Bool) {
    guard let index = joins.firstIndex(where: { $0.number == number }) else { return }
    joins[index].question = question
    joins[index].isAsking = asks
    environment.log(.info, "join: \(joins[index].isInviting ? "a device" : "this device") waits to be admitted")
    guard let former = beginner, former.number == number else { return }
    beginner = nil
    let join = joins[index]
    former.answer(
      ControlClient.map(.success(())) { () throws(SegueError) in try .dictionary(try Self.entries(of: join)) })
  }

  private func ended(_ number: UInt64, _ error: SegueError?) {
    let connection = connections.first { $0.number == number }
    if let connection { end(connection) }
    if let error { environment.log(.info, "\(error.message)") }
    let result: Result<Void, SegueError> = if let error { .failure(error) } else { .success(()) }
    if let index = joins.firstIndex(where: { $0.number == number }) {
      joins[index].end = result
      if error == nil, !joins[index].isInviting, let address = connection?.path.address {
        owner?.hasJoined(at: address)
      }
    }
    while joins.count(where: { $0.end != nil }) > Self.endedLimit,
      let first = joins.firstIndex(where: { $0.end != nil })
    {
      joins.remove(at: first)
    }
    if let former = beginner, former.number == number {
      fail(error ?? SegueError(.invalidState, "join: it has ended before the digits were known"), former.serial)
    }
    let due = waiters.filter { $0.number == number }
    waiters.removeAll { $0.number == number }
    for waiter in due { waiter.answer(Self.answer(for: result)) }
  }

  private static func answer(for result: Result<Void, SegueError>) -> Result<Value, SegueError> {
    ControlClient.map(result) { () throws(SegueError) in .emptyDictionary }
  }

  /// The entries that tell users of a join; none before it has a question.
  public static func entries(of join: Join) throws(SegueError) -> [(key: Value, value: Value)] {
    guard let question = join.question else { return [] }
    var entries: [(key: Value, value: Value)] = [
      (key: .string("join"), value: .integer(Int64(clamping: join.number))),
      (key: .string("asks"), value: .bool(join.isAsking)),
      (key: .string("digits"), value: .string(question.digits)),
      (key: .string("account_name"), value: .string(question.accountName)),
      (key: .string("device_name"), value: .string(question.deviceName)),
      (key: .string("platform"), value: .string(question.platform)),
    ]
    if let (here, there) = question.clocks {
      entries.append((key: .string("clock_here"), value: try .date(Double(here))))
      entries.append((key: .string("clock_there"), value: try .date(Double(there))))
    }
    return entries
  }

  // MARK: Answers of users

  /// Answers when the join has ended.
  public func wait(
    for number: UInt64, timeout: Int64?, _ client: ControlClient, _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    guard let join = joins.first(where: { $0.number == number }) else { throw Self.unknown }
    if let end = join.end { return answer(Self.answer(for: end)) }
    guard waiters.count < Self.waiterLimit else {
      throw SegueError(.limitExceeded, "join: \(Self.waiterLimit) wait for ends of joins already")
    }
    waiters.append(
      Waiter(number: number, client: client, deadline: timeout.map { environment.uptime + $0 }, answer: answer))
    changed()
  }

  /// The user has compared the digits.
  public func answer(
    _ number: UInt64, isAdmitted: Bool, _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    guard let index = joins.firstIndex(where: { $0.number == number }) else { throw Self.unknown }
    guard joins[index].end == nil else { throw SegueError(.invalidState, "join: it has ended") }
    if joins[index].isInviting {
      guard joins[index].isAsking else { throw SegueError(.invalidState, "join: it was answered before") }
      joins[index].isAsking = false
      changed()
    } else if isAdmitted {
      throw SegueError(.invalidState, "join: the user of the other device admits this one")
    }
    account.use({ account, now throws(SegueError) in
      (isAdmitted ? try account.approve(number, at: now) : account.decline(number, at: now), ())
    }) { result in answer(Self.answer(for: result)) }
  }

  private static var unknown: SegueError { SegueError(.notFound, "join: there is none of that number") }

  /// The client has gone. The join that it began ends if the client still waits for the digits. A join that both
  /// screens show goes on.
  public func abandon(_ client: ControlClient) {
    waiters.removeAll { $0.client.number == client.number }
    guard let former = beginner, former.client.number == client.number else { return }
    beginner = nil
    former.dialler?.cancel()
    if let number = former.number { decline(number) }
  }

  // MARK: Time

  public var nextDeadline: Int64? {
    let deadlines = waiters.compactMap { $0.deadline } + [beginner?.dialler?.deadline].compactMap { $0 }
    return deadlines.min()
  }

  public func tick(_ uptime: Int64) {
    beginner?.dialler?.tick(uptime)
    let late = waiters.filter { $0.deadline.map { $0 <= uptime } ?? false }
    waiters.removeAll { $0.deadline.map { $0 <= uptime } ?? false }
    let error = SegueError(.remoteApplicationTimedOut, "join: it has not ended yet")
    for waiter in late { waiter.answer(.failure(error)) }
  }
}
