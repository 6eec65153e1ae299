// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire
import Testing

@testable import SegueEngine

/// Quotas and pauses of the hub's driver, on a system that grants and refuses what the test says.
@Suite struct HubDriverTests {
  private let system = TestSystem()
  private var driver: HubDriver { system.driver }

  private func connect(process: Int32 = 1, saying messages: Message...) -> TestConnection {
    let connection = TestConnection()
    connection.input = messages.map { TestConnection.bytes($0) }
    system.waiting.append((connection, process))
    driver.acceptConnections()
    return connection
  }

  private func hello(_ number: UInt64) -> Message {
    let identity = AppIdentity(
      secret: Identifier(high: 1, low: number), bundleIdentifier: "com.example.app", name: "app", team: "TEAM",
      types: ["com.example.note"], isChooser: false)
    return .hello(identity, version: ProtocolVersion.current, minimum: ProtocolVersion.minimum)
  }

  // MARK: Accepting

  @Test func `of many that connect at once some wait until others had their turn`() {
    system.descriptorLimit = 10_000
    for process in 1...100 { system.waiting.append((TestConnection(), Int32(process))) }
    driver.acceptConnections()
    #expect(system.waiting.count == 36)
    driver.acceptConnections()
    #expect(system.waiting.isEmpty)
  }

  @Test func `a process that connects too often is turned away, and shuts no other out`() {
    system.descriptorLimit = 80
    let many = (0..<30).map { _ in connect(process: 7) }
    #expect(many[..<20].allSatisfy { !$0.isClosed && $0.heard.isEmpty })
    #expect(many[20...].allSatisfy { $0.isClosed && $0.goodbye?.status == .limitExceeded })
    let other = connect(process: 8, saying: hello(1))
    #expect(other.isWelcome && !other.isClosed)
    // A process that ends a connection may have another one.
    many[0].hasEnded = true
    driver.readable(many[0].number)
    #expect(many[0].isClosed && !connect(process: 7).isClosed && connect(process: 7).isClosed)
  }

  @Test func `connections leave descriptors to the process, which has its own connection all the same`() {
    system.descriptorLimit = 40
    let first = (1...30).map { connect(process: Int32($0)) }
    #expect(first.allSatisfy { !$0.isClosed })
    let late = connect(process: 31, saying: hello(1))
    #expect(late.isClosed && !late.isWelcome && late.goodbye?.status == .limitExceeded)
    #expect(late.goodbye?.message.contains("may have 40 descriptors") == true)
    #expect(connect(process: TestSystem.ownProcess, saying: hello(2)).isWelcome)
  }

  @Test func `a hub that is full of apps keeps them, and takes the next one when there is room`() {
    system.descriptorLimit = 40
    let apps = (1...30).map { connect(process: Int32($0)) }
    let late = connect(process: 31, saying: hello(1))
    #expect(late.goodbye?.status == .limitExceeded && apps.allSatisfy { !$0.isClosed })
    apps[0].hasEnded = true
    driver.readable(apps[0].number)
    #expect(connect(process: 31, saying: hello(1)).isWelcome)
  }

  @Test func `a hub whose process needs the descriptors itself gives way: nothing is said`() {
    system.descriptorLimit = 40
    for process in 1...5 { _ = connect(process: Int32(process)) }
    system.usedByHost = 30
    let late = connect(process: 31, saying: hello(1))
    #expect(late.isClosed && late.heard.isEmpty)
  }

  @Test func `without a descriptor it does not accept for a while, and wakes up for nothing else`() {
    system.isExhausted = true
    let late = connect(saying: hello(1))
    #expect(!system.isListening && driver.nextDeadline == system.uptime + 250)
    system.isExhausted = false
    system.advance(249)
    driver.acceptConnections()
    #expect(!system.isListening && !late.isWelcome)
    system.advance(1)
    #expect(system.isListening)
    driver.acceptConnections()
    #expect(late.isWelcome)
  }

  @Test func `an app of which the system does not tell where it runs is told so, and not taken (R13.8, A29)`() {
    system.standings[7] = .refused(SegueError(.notAllowed, "hidden"))
    let refused = connect(process: 7, saying: hello(1))
    #expect(refused.isClosed && !refused.isWelcome && refused.goodbye == SegueError(.notAllowed, "hidden"))
    system.standings[7] = .sandboxed(Sandbox(identifiers: ["org.example.Other"]))
    #expect(connect(process: 7, saying: hello(1)).goodbye?.status == .notAllowed)
    system.standings[7] = .free
    #expect(connect(process: 7, saying: hello(1)).isWelcome)
  }

  @Test func `an app whose sandbox is looked at waits, and others do not (R13.8)`() {
    system.hidden = [7]
    let looked = connect(process: 7, saying: hello(1))
    let other = connect(process: 8, saying: hello(2))
    #expect(!looked.isWelcome && !looked.isClosed && other.isWelcome)
    system.look(as: .free)
    #expect(looked.isWelcome)
    // A hub that closes takes no more.
    let late = connect(process: 7, saying: hello(3))
    driver.close()
    system.look(as: .free)
    #expect(late.isClosed && late.heard.isEmpty)
  }

  // MARK: Reading and writing

  @Test func `one that says much does not keep others waiting`() {
    let connection = connect(saying: hello(1))
    let count = connection.readCount
    connection.input = (0..<10).map { TestConnection.bytes(.ping($0)) }
    driver.readable(connection.number)
    #expect(connection.readCount == count + 4 && connection.pongs == 4)
    driver.readable(connection.number)
    driver.readable(connection.number)
    #expect(connection.pongs == 10)
  }

  private static func flood(_ count: Int) -> [UInt8] {
    let ping = TestConnection.bytes(.ping(1))
    return Array(repeatElement(ping, count: count).joined())
  }

  @Test func `a process that floods the hub waits, and others do not`() {
    let flood = connect(process: 7, saying: hello(1))
    let other = connect(process: 8, saying: hello(2))
    flood.input = (0..<4).map { _ in Self.flood(5_000) }
    driver.readable(flood.number)
    #expect(flood.pongs == 5_000 && !flood.isRead, "one read, not four")
    let reads = flood.readCount
    driver.readable(flood.number)
    #expect(flood.readCount == reads)
    other.input = [TestConnection.bytes(.ping(1))]
    driver.readable(other.number)
    #expect(other.pongs == 1 && other.isRead)
    let wait = (driver.nextDeadline ?? 0) - system.uptime
    #expect(wait > 0 && wait <= 20)
    system.advance(wait - 1)
    #expect(flood.readCount == reads)
    system.advance(1)
    #expect(flood.readCount == reads + 1 && flood.pongs == 10_000 && !flood.isRead)
    #expect(driver.brokenInvariant == nil)
    for _ in 0..<200 { system.advance(1) }
    #expect(flood.pongs == 20_000 && flood.isRead && driver.nextDeadline == nil && driver.brokenInvariant == nil)
  }

  /// Frames that the reader drops.
  private static let nothing: [UInt8] = [4, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1]

  /// A message of a number that nobody knows, with as many elements as fit.
  private static let elements: [UInt8] =
    [0, 0, 0xea, 0x65, 0, 0, 0, 0, 0x99, 0xea, 0x61, 0x18, 0xc8] + [UInt8](repeating: 0, count: 60_000)

  private static let failure = TestConnection.bytes(
    .failure(type: "com.example.note", SegueError(.handoffFailed, "why"), age: 0))

  @Test(arguments: ["dropped frames", "elements", "failures"])
  func `what a peer sends is charged for by what it costs (A8)`(_ what: String) {
    let (bytes, count, reads) =
      switch what {
      case "dropped frames": (Self.nothing, 5_000, 1)
      case "elements": (Self.elements, 1, 5)
      default: (Self.failure, 70, 1)
      }
    let flood = connect(process: 7, saying: hello(1))
    let before = flood.readCount
    flood.input = Array(repeating: Array(repeatElement(bytes, count: count).joined()), count: 10)
    for _ in 0..<4 where flood.isRead { driver.readable(flood.number) }
    #expect(flood.readCount == before + reads && !flood.isRead && !flood.isClosed)
  }

  @Test func `an honest burst is not slowed: many offers, or one large message`() {
    let honest = connect(process: 7, saying: hello(1))
    let publish = Message.publish(
      OfferDescription(
        id: Identifier(high: 3, low: 3), type: "com.example.note", title: "A title as apps have it", payloadVersion: 0,
        sizeHint: 0, expirationDate: nil, supportsContinuationStreams: false),
      OfferTiming(age: 0, remaining: nil), activation: 1)
    for input in [Array(repeatElement(TestConnection.bytes(publish), count: 1_000).joined()), Self.elements] {
      honest.input = [input]
      driver.readable(honest.number)
      #expect(honest.isRead && !honest.isClosed)
      system.advance(1_000)
    }
  }

  @Test func `a principal that comes back owes what it owed, by one account for all its connections (A8)`() {
    let process = Principal.process(7)
    var quota = WorkQuota()
    let first = quota.account(of: process, 0)
    first.charge(100 * Int(WorkQuota.rate), 0)
    quota.remove(process, 1)
    let back = quota.account(of: process, 2)
    #expect(back === first && back.turn > 2)
    // It has paid by now; another one's connection tidies up.
    _ = quota.account(of: Principal.process(8), 10_000)
    #expect(quota.account(of: process, 10_001) === back)
  }

  @Test func `a record of TLS that is large costs nothing besides its frames (A8)`() {
    #expect(WorkQuota.cost(ofRecords: 100, with: 100) == 1_600)
    #expect(WorkQuota.cost(ofRecords: 4, with: 4 * 16_384) == 0)
    #expect(WorkQuota.cost(ofRecords: 10, with: 8_192) == 128)
  }

  @Test func `bytes that come in many small records are charged for, too (A8)`() {
    let secure = connect(process: 7, saying: hello(1))
    let (piece, count) = (TestConnection.bytes(.ping(1)), secure.readCount)
    secure.input = Array(repeating: piece, count: 4)
    secure.recordsInRead = 4
    driver.readable(secure.number)
    #expect(secure.readCount == count + 4 && secure.isRead, "honest records are few")
    secure.input = Array(repeating: piece, count: 4)
    secure.recordsInRead = 2_000
    driver.readable(secure.number)
    #expect(secure.readCount == count + 5 && !secure.isRead)
    // A twentieth of the time: 2,000 records take 3 ms.
    let wait = (driver.nextDeadline ?? 0) - system.uptime
    #expect(wait >= 50 && wait <= WorkQuota.longestWait)
    system.advance(wait)
    #expect(secure.readCount == count + 6)
  }

  @Test func `the connections of a process share its turns`() {
    system.descriptorLimit = 1_000
    let floods = (0..<20).map { connect(process: 7, saying: hello($0)) }
    let bytes = Self.flood(500)
    for flood in floods { flood.input = Array(repeating: bytes, count: 100) }
    // The loop reports each of them that is watched, again and again.
    for _ in 0..<100 {
      for flood in floods where flood.isRead { driver.readable(flood.number) }
      system.advance(1)
    }
    // Each message counts, and so does its answer.
    let pongs = floods.reduce(0) { $0 + $1.pongs }
    let most = Int((100 + WorkQuota.burst + 2) * WorkQuota.rate) / 2
    #expect(pongs > most / 2 && pongs < most + 500)
    #expect(floods.allSatisfy { $0.pongs >= pongs / floods.count / 2 }, "they take turns")
    for flood in floods {
      flood.input = []
      flood.hasEnded = true
    }
    for _ in 0..<100 { system.advance(1) }
    #expect(driver.brokenInvariant == nil)
  }

  @Test func `a process that connects again owes what it owed`() {
    let flood = connect(process: 7, saying: hello(1))
    // At its end there is what ends the connection.
    flood.input = [Self.flood(20_000) + [UInt8](repeating: 255, count: 8)]
    driver.readable(flood.number)
    #expect(flood.isClosed)
    let again = connect(process: 7, saying: hello(2))
    driver.readable(again.number)
    #expect(!again.isWelcome && !again.isRead && connect(process: 8, saying: hello(3)).isWelcome)
    for _ in 0..<100 { system.advance(1) }
    #expect(again.isWelcome)
  }

  @Test func `what is written at a time goes out in as few pieces as possible`() {
    let app = connect(saying: hello(1))
    #expect(app.isWelcome && app.writeCount > 0 && app.lonelyWriteCount == 0)
  }

  @Test func `what the system has refused to write is written after a pause, once`() {
    let refused = connect(saying: hello(1))
    refused.isRefusing = true
    let count = refused.writeCount
    refused.input = [TestConnection.bytes(.ping(1))]
    driver.readable(refused.number)
    #expect(refused.writeCount == count + 1 && !refused.isWatchedForRoom && driver.nextDeadline == system.uptime + 50)
    // Others are served meanwhile, and what else there is for it waits.
    #expect(connect(process: 2, saying: hello(2)).isWelcome)
    refused.input = [TestConnection.bytes(.ping(2))]
    driver.readable(refused.number)
    system.advance(49)
    #expect(refused.writeCount == count + 1)
    system.advance(1)
    #expect(refused.writeCount == count + 2 && refused.pongs == 0, "refused again: it tries again")
    refused.isRefusing = false
    system.advance(50)
    #expect(refused.pongs == 2)
    #expect(driver.brokenInvariant == nil && driver.nextDeadline == nil)
  }

  // MARK: End

  @Test func `before it closes apps have time to read what they are told last`() {
    let slow = connect(saying: hello(1))
    slow.room = 0
    #expect(!driver.close(), "an app is left")
    #expect(!driver.isClosed && slow.isWatchedForRoom && slow.goodbye == nil)
    system.advance(249)
    #expect(!driver.isClosed)
    slow.room = .max
    driver.writable(slow.number)
    #expect(driver.isClosed && slow.goodbye != nil)
    driver.tearDown()
    #expect(slow.isClosed)
  }

  @Test func `whoever does not read, or is gone, holds its end up no longer than that`() {
    let (gone, mute) = (connect(saying: hello(1)), connect(process: 2, saying: hello(2)))
    (gone.room, mute.room) = (0, 0)
    driver.close()
    gone.hasEnded = true
    driver.readable(gone.number)
    #expect(gone.isClosed && !driver.isClosed)
    system.advance(250)
    #expect(driver.isClosed)
  }

  @Test func `what apps said last is passed on before it closes`() throws {
    let viewer = connect(saying: hello(1))
    let id = Identifier(high: 2, low: 2)
    let description = OfferDescription(
      id: id, type: "com.example.note", title: nil, payloadVersion: 0, sizeHint: 0, expirationDate: nil,
      supportsContinuationStreams: false)
    let origin = connect(process: TestSystem.ownProcess, saying: hello(2))
    origin.input = [TestConnection.bytes(.publish(description, OfferTiming(age: 0, remaining: nil), activation: 1))]
    driver.readable(origin.number)
    #expect(viewer.offered == [id] && viewer.gone.isEmpty)
    // More than one read, and then it has closed.
    origin.input = (0..<5).map { TestConnection.bytes(.ping($0)) } + [TestConnection.bytes(.withdraw(id))]
    origin.hasEnded = true
    #expect(!driver.close(), "the viewer is left")
    #expect(origin.isClosed && viewer.gone == [id] && viewer.goodbye != nil && driver.isClosed)
  }
}

/// A connection whose other end does what the test says.
private final class TestConnection: ByteConnection {
  var number: HubEngine.PeerNumber = 0
  /// The bytes of each read, and whether the end is behind them.
  var input: [[UInt8]] = []
  var hasEnded = false
  /// Bytes that it takes.
  var room = Int.max
  var isRefusing = false
  /// Records that each read decrypts.
  var recordsInRead = 0
  private var records = 0
  private(set) var readCount = 0
  private(set) var writeCount = 0
  private var isGathering = false
  /// Writes that need not go out together with others.
  private(set) var lonelyWriteCount = 0
  private(set) var isWatchedForRoom = false
  private(set) var isRead = true
  private(set) var isClosed = false
  private let link = FramedConnection(side: .connecting)
  private(set) var heard: [Message] = []

  var isWelcome: Bool { heard.contains { if case .welcome = $0 { true } else { false } } }
  var pongs: Int { heard.count { if case .pong = $0 { true } else { false } } }
  var goodbye: SegueError? { heard.lazy.compactMap { if case .goodbye(let error) = $0 { error } else { nil } }.first }
  var offered: [Identifier] {
    heard.compactMap { if case .offer(let offer, _, _) = $0 { offer.description.id } else { nil } }
  }
  var gone: [Identifier] { heard.compactMap { if case .gone(let id, _) = $0 { id } else { nil } } }

  static func bytes(_ message: Message) -> [UInt8] {
    var writer = MessageWriter()
    let link = FramedConnection(side: .connecting)
    try? writer.send(message, over: link)
    var bytes: [UInt8] = []
    while link.takeOutput({
      bytes += $0
      return $0.count
    }) {}
    return bytes
  }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    readCount += 1
    guard !input.isEmpty else { return hasEnded ? .closed : .drained }
    records += recordsInRead
    body(input.removeFirst(), nil)
    return input.isEmpty ? .drained : .full
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    writeCount += 1
    if !isGathering { lonelyWriteCount += 1 }
    guard !isRefusing else { return .refused }
    let count = min(bytes.count, room)
    link.receive(Array(bytes.prefix(count)))
    while let event = try? link.nextEvent() {
      guard case .message = event, let message = try? link.takeMessage(Message.decode) else { continue }
      heard.append(message)
    }
    return .bytes(count)
  }

  func gather() { isGathering = true }
  func sendGathered() -> Bool {
    isGathering = false
    return false
  }

  func takeRecordCount() -> Int {
    defer { records = 0 }
    return records
  }

  func watch(reading: Bool, writing: Bool) { (isRead, isWatchedForRoom) = (reading, writing) }
  func close() { isClosed = true }
}

/// A process that carries a hub, and its system.
private final class TestSystem: HubEnvironment {
  static let ownProcess: Int32 = 1_000

  private(set) var now = Instant(uptime: 1_000_000, date: 1_700_000_000)
  var descriptorLimit = 1_024
  /// Descriptors that the process has open besides those of the hub.
  var usedByHost = 0
  var isExhausted = false
  var waiting: [(connection: TestConnection, process: Int32)] = []
  /// The standings of processes in no sandbox need not be here (R13.8).
  var standings: [Int32: PeerStanding] = [:]
  /// The processes that are looked at later.
  var hidden: [Int32] = []
  private var unknown: [(connection: TestConnection, process: Int32)] = []
  private(set) var isListening = true
  private(set) lazy var driver = HubDriver(
    HubEngine(
      HubIdentity(id: Identifier(high: 9, low: 9), deviceName: "here"), generation: 1, offersFrontmostOnly: false,
      now), in: self)

  var uptime: Int64 { now.uptime }

  func advance(_ milliseconds: Int64) {
    now.uptime += milliseconds
    if let next = driver.nextDeadline, next <= now.uptime { driver.tick() }
  }

  func accept(as number: HubEngine.PeerNumber) -> AcceptResult {
    guard !waiting.isEmpty else { return .none }
    guard !isExhausted else { return .exhausted }
    let (connection, process) = waiting.removeFirst()
    connection.number = number
    if hidden.contains(process) {
      unknown.append((connection, process))
      return .later
    }
    return .accepted(accepted(connection, process, standings[process] ?? .free))
  }

  private func accepted(
    _ connection: TestConnection, _ process: Int32, _ standing: PeerStanding
  ) -> AcceptedConnection {
    AcceptedConnection(
      connection, process: process, isOwn: process == Self.ownProcess, descriptor: driver.connectionCount + usedByHost,
      standing)
  }

  /// The look at the hidden process that has connected first is done.
  func look(as standing: PeerStanding) {
    let (connection, process) = unknown.removeFirst()
    driver.admit(accepted(connection, process, standing), as: connection.number)
  }

  func listen(_ isListening: Bool) { self.isListening = isListening }
  func setTimer(_ deadline: Int64?) {}
  func touchHeartbeat(_ uptime: Int64) {}
  func openLink(_ descriptor: PassedDescriptor, for request: LinkRequest) throws(SegueError) { throw Self.refusal }
  func openStream(_ descriptor: PassedDescriptor, as number: UInt64) throws(SegueError) -> any StreamEndpoint {
    throw Self.refusal
  }
  func makeStream(as number: UInt64) throws(SegueError) -> (near: any StreamEndpoint, far: PassedDescriptor) {
    throw Self.refusal
  }
  private static var refusal: SegueError { SegueError(.system, "no descriptor") }
}
