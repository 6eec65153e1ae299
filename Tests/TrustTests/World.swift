// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueOpenSSL
import SegueSystem
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// The cryptography with which the rules are tried: OpenSSL, or the stand-in of simulations.
enum Primitives: String, CaseIterable, CustomTestStringConvertible {
  case openSSL, standIn

  var testDescription: String { rawValue }
}

/// Devices that may belong to one account, and a clock.
final class World {
  private let signatures = StandInCryptography.Signatures()
  private let primitives: Primitives
  private var seed: UInt64
  /// 2026-11-23 00:00 UTC.
  var now = Instant(uptime: 1_000_000, date: 1_795_392_000)

  init(_ primitives: Primitives = .standIn, seed: UInt64 = 1) {
    self.primitives = primitives
    self.seed = 1000 * seed
  }

  func cryptography() throws -> any Cryptography {
    seed += 1
    return switch primitives {
    case .openSSL: try OpenSSLCryptography()
    case .standIn: StandInCryptography(signatures, seed: seed)
    }
  }

  func device(_ name: String) throws -> Device { Device(name, try cryptography(), self) }

  func wait(seconds: Double) {
    now.uptime += Int64(seconds * 1000)
    now.date += seconds
  }

  func wait(days: Double) { wait(seconds: 86_400 * days) }

  /// A manager and others that have joined.
  func account(_ names: String...) throws -> [Device] {
    let manager = try device(names[0])
    _ = try manager.service.create(name: "Home", deviceName: names[0], platform: "linux", at: now)
    var devices = [manager]
    for name in names.dropFirst() {
      let device = try device(name)
      try device.join(manager)
      devices.append(device)
    }
    // All know the last roster.
    for device in devices.dropFirst() { manager.link(device) }
    return devices
  }
}

/// Keeps a file in memory, and fails on demand.
final class MemoryStorage: AccountStorage {
  enum Fault { case full, diesBefore, diesAfter }

  var file: [UInt8]?
  var aside: [[UInt8]] = []
  /// The number of changes before the one that fails. Nil: none fails.
  var faultIn: Int?
  var fault = Fault.full
  private(set) var changes = 0
  /// The process has died: nothing is written any more.
  private(set) var isDead = false

  init(_ file: [UInt8]? = nil) { self.file = file }

  /// The number of times that the file was read.
  private(set) var loads = 0

  func load() throws(SegueError) -> Secret? {
    loads += 1
    guard let file else { return nil }
    return try Secret.copy(of: file)
  }

  func store(_ file: Secret) throws(SegueError) {
    let bytes = file.bytes
    try change { self.file = bytes }
  }

  func erase() throws(SegueError) { try change { file = nil } }

  func setAside() throws(SegueError) -> [String] {
    guard let file else { return [] }
    try change {
      aside.append(file)
      self.file = nil
    }
    return ["account.damaged-1"]
  }

  private func change(_ body: () -> Void) throws(SegueError) {
    guard !isDead else { throw SegueError(.system, "the process is dead") }
    changes += 1
    guard let left = faultIn else { return body() }
    faultIn = left - 1
    guard left == 0 else { return body() }
    faultIn = nil
    if fault == .diesAfter { body() }
    isDead = fault != .full
    throw SegueError(.system, "No space left on device")
  }
}

/// One device: its storage, its service, and what the service asked for.
final class Device {
  let name: String
  let cryptography: any Cryptography
  let world: World
  var storage: MemoryStorage
  var service: AccountService
  var events: [AccountEvent] = []

  init(_ name: String, _ cryptography: any Cryptography, _ world: World, storage: MemoryStorage = MemoryStorage()) {
    self.name = name
    self.cryptography = cryptography
    self.world = world
    self.storage = storage
    service = AccountService(storage: storage, cryptography: cryptography)
  }

  /// The process ends, and starts again with what is stored.
  func restart() {
    storage = MemoryStorage(storage.file)
    service = AccountService(storage: storage, cryptography: cryptography)
  }

  /// Another machine with a copy of what is stored.
  func copy(_ name: String) throws -> Device {
    Device(name, try world.cryptography(), world, storage: MemoryStorage(storage.file))
  }

  var member: Membership { get throws { try service.membership() } }
  var id: Identifier { get throws { try member.identity.device } }
  var certificate: [UInt8] { get throws { try member.record.certificate } }
  var number: UInt64 { get throws { try member.roster.number } }

  func names() throws -> [String] { try service.devices().map { $0.name } }

  /// Joins with a new invite, approved without a look at the digits.
  func join(_ manager: Device) throws {
    let invite = try manager.service.invite(addresses: ["192.0.2.1"], port: 4711, at: world.now)
    let connection = try JoinConnection(manager, self, invite)
    connection.run()
    if let error = connection.guestEnd { throw error }
    _ = manager.service.tick(at: world.now)
  }

  /// Plays a link: both greet, and answer until nothing is left to say. Returns all messages that were sent.
  @discardableResult
  func link(_ other: Device) -> Int {
    guard let mine = try? service.greeting(at: world.now), let theirs = try? other.service.greeting(at: world.now),
      let own = try? certificate, let others = try? other.certificate
    else { return 0 }
    return exchange(other, [(self, mine), (other, theirs)], own, others)
  }

  /// Has one message of this device handled by the other one, and all that follows.
  @discardableResult
  func send(_ message: [UInt8], to other: Device) -> Int {
    guard let own = try? certificate, let others = try? other.certificate else { return 0 }
    return exchange(other, [(self, message)], own, others)
  }

  private func exchange(
    _ other: Device, _ first: [(from: Device, message: [UInt8])], _ own: [UInt8], _ others: [UInt8]
  ) -> Int {
    var (queue, count) = (first, 0)
    while !queue.isEmpty, count < 100 {
      count += 1
      let (from, message) = queue.removeFirst()
      let to = from === self ? other : self
      let shown = from === self ? own : others
      let events = to.service.receive(message, from: shown, at: world.now)
      to.events += events
      for event in events {
        guard !to.storage.isDead else { break }
        switch event {
        case .send(let target, let message) where target == (try? from.id): queue.append((to, message))
        case .sendToAll(let except, let message) where except != (try? from.id): queue.append((to, message))
        default: break
        }
      }
    }
    return count
  }

  func notices() -> [String] {
    events.compactMap { if case .notice(let error, _) = $0 { error.message } else { nil } }
  }
}

/// A connection on which a device joins, as TLS with the key of the invite would carry it.
final class JoinConnection {
  let inviter, guest: Device
  let number: UInt64
  private(set) var guestNumber: UInt64 = 0
  /// The questions on the screens of the inviter and of the guest.
  private(set) var asked: JoinQuestion?
  private(set) var shown: JoinQuestion?
  private(set) var inviterEnd: SegueError?
  private(set) var guestEnd: SegueError?
  private(set) var hasInviterEnded = false
  private(set) var hasGuestEnded = false
  private var queue: [(toGuest: Bool, bytes: [UInt8])] = []
  private var sent = 0
  var approves = true
  /// Changes, drops or doubles what is on the way: direction, number from 0, bytes.
  var tamper: ((Bool, Int, [UInt8]) -> [[UInt8]])?
  /// All that was sent, as it arrived.
  private(set) var arrived: [[UInt8]] = []

  /// - Parameter exporters: of both ends, which differ if somebody is in between.
  init(
    _ inviter: Device, _ guest: Device, _ invite: Invite, exporters: (inviter: UInt8, guest: UInt8) = (7, 7)
  ) throws {
    self.inviter = inviter
    self.guest = guest
    let now = inviter.world.now
    func exporter(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }
    let known = try #require(inviter.service.invite(forKey: invite.keyIdentity, at: now))
    number = try inviter.service.beginInviting(known, exporter: exporter(exporters.inviter), at: now)
    let (guestNumber, events) = try guest.service.beginJoining(
      try Invite(invite.text), exporter: exporter(exporters.guest), deviceName: guest.name, platform: "linux",
      at: guest.world.now)
    self.guestNumber = guestNumber
    handle(events, ofGuest: true)
  }

  /// Carries messages until there are no more.
  func run() {
    while !queue.isEmpty { step() }
  }

  /// Carries one message.
  func step() {
    guard !queue.isEmpty else { return }
    let (toGuest, bytes) = queue.removeFirst()
    let delivered = tamper?(toGuest, sent, bytes) ?? [bytes]
    sent += 1
    for bytes in delivered {
      arrived.append(bytes)
      if toGuest {
        handle(guest.service.receive(bytes, onJoin: guestNumber, at: guest.world.now), ofGuest: true)
      } else {
        handle(inviter.service.receive(bytes, onJoin: number, at: inviter.world.now), ofGuest: false)
      }
    }
  }

  var isIdle: Bool { queue.isEmpty }

  func approve() throws { handle(try inviter.service.approve(number, at: inviter.world.now), ofGuest: false) }
  func decline() { handle(inviter.service.decline(number, at: inviter.world.now), ofGuest: false) }

  func close() {
    queue = []
    handle(inviter.service.closed(join: number, at: inviter.world.now), ofGuest: false)
    handle(guest.service.closed(join: guestNumber, at: guest.world.now), ofGuest: true)
  }

  func tick() {
    handle(inviter.service.tick(at: inviter.world.now), ofGuest: false)
    handle(guest.service.tick(at: guest.world.now), ofGuest: true)
  }

  private func handle(_ events: [AccountEvent], ofGuest: Bool) {
    (ofGuest ? guest : inviter).events += events
    for event in events {
      // A process that has died sends nothing, not even that it failed.
      guard !(ofGuest ? guest : inviter).storage.isDead else { break }
      switch event {
      case .joinSend(_, let bytes): queue.append((!ofGuest, bytes))
      case .joinShows(_, let question) where ofGuest: shown = question
      case .joinAsks(_, let question):
        asked = question
        if approves { try? approve() }
      case .joinEnded(let ended, let error):
        if ofGuest {
          (guestEnd, hasGuestEnded) = (error, true)
        } else if ended == number {
          (inviterEnd, hasInviterEnded) = (error, true)
        }
      default: break
      }
    }
  }
}

/// Whether a call throws, and what.
func thrown<Result>(_ body: () throws -> Result) -> SegueError? {
  do { _ = try body() } catch { return error as? SegueError }
  return nil
}

/// Numbers that look random, the same ones for the same seed.
struct Draws {
  var state: UInt64

  mutating func next(below limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(truncatingIfNeeded: (state >> 33) % UInt64(max(1, limit)))
  }
}

extension AccountRecord {
  init(_ file: [UInt8], _ cryptography: any Cryptography) throws(SegueError) {
    try self.init(try Secret.copy(of: file), cryptography)
  }
}

extension Device {
  /// The key of the account, as the manager reads it to sign.
  var rootKey: Secret {
    get throws { try member.rootKey(to: "test", cryptography) }
  }

  /// A member in another state than the one that is stored.
  func membership(_ record: AccountRecord) throws -> Membership { try Membership(record, storage, cryptography) }
}
