// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

@testable import SegueFleet
@testable import SegueAgentCore

/// Any message about an account, from a linked device or one that is not listed; genuine rosters that were changed,
/// by others or by a holder of the account's keys: nothing that is not signed counts, and what is stored can be read.
func fuzzAccount(_ bytes: UnsafeRawBufferPointer) {
  var input = Input(bytes)
  switch input.number(below: 4) {
  case 0: checkMessage(Array(input.rest()))
  case 1: checkRoster(Array(input.rest()))
  default:
    let story = FuzzScript()
    while !input.isEmpty { story.step(&input) }
  }
}

/// A message that was read can be sent, and is then read as the same. No message is of both kinds.
private func checkMessage(_ bytes: [UInt8]) {
  let trust = (try? TrustMessage.known(bytes)) ?? nil
  let device = (try? DeviceMessage.known(bytes)) ?? nil
  require(trust == nil || device == nil, "a message of two kinds")
  if let trust {
    // A roster of the former version is read as such, and nothing in it is read.
    guard let sent = try? trust.encoding() else { fatalError("a message that came cannot be sent") }
    guard let again = try? TrustMessage.known(sent) else { fatalError("a message that was sent cannot be read") }
    require((try? again.encoding()) == sent, "it changes each time")
  }
  if let device {
    guard let sent = try? device.encoding() else { fatalError("a message that came cannot be sent") }
    guard let again = try? DeviceMessage.known(sent) else { fatalError("a message that was sent cannot be read") }
    require((try? again.encoding()) == sent, "it changes each time")
  }
}

private func checkRoster(_ bytes: [UInt8]) {
  guard let roster = try? Roster(bytes) else { return }
  require(1...Limits.devices ~= max(1, roster.devices.count), "devices without bound")
  require(roster.removed.all.count <= Limits.removedDevices, "removals without bound")
  guard roster.version == Roster.version, let sent = try? roster.encoding() else { return }
  guard let again = try? Roster(sent) else { fatalError("a roster that was written cannot be read") }
  require((try? again.encoding()) == sent, "it changes each time")
}

private final class Disk: AccountStorage {
  var file: [UInt8]?

  init(_ file: [UInt8]?) { self.file = file }

  func load() throws(SegueError) -> Secret? {
    guard let file else { return nil }
    return try Secret.copy(of: file)
  }

  func store(_ file: Secret) throws(SegueError) { self.file = file.bytes }
  func erase() throws(SegueError) { file = nil }
  func setAside() throws(SegueError) -> [String] { [] }
}

/// An account of the devices desk, its manager, and phone. The desk has admitted xray while the phone was off, and xray
/// has taken over with the recovery file. Made once: each input begins with the phone as it was.
private struct Household: @unchecked Sendable {
  static let made = Household()
  static let now = Instant(uptime: 1_000_000, date: 1_795_392_000)

  let signatures = StandInCryptography.Signatures()
  /// The file that the phone has stored.
  let phone: [UInt8]
  let rootKey: Secret
  /// The keys and certificates of desk and xray.
  let keys: [Secret]
  let certificates: [[UInt8]]
  /// The rosters: that of the phone; the desk's with xray in it; xray's, as the manager.
  let rosters: [SignedRoster]

  init() {
    func service(_ seed: UInt64, _ signatures: StandInCryptography.Signatures) -> (AccountService, Disk) {
      let disk = Disk(nil)
      return (AccountService(storage: disk, cryptography: StandInCryptography(signatures, seed: seed)), disk)
    }
    let (desk, _) = service(1, signatures)
    let (phone, phoneDisk) = service(2, signatures)
    let (xray, _) = service(3, signatures)
    _ = try! desk.create(name: "Home", deviceName: "desk", platform: "linux", at: Self.now)
    Self.join(phone, "phone", desk)
    let first = try! desk.membership().record.roster
    Self.carry(first, from: desk, to: phone)
    self.phone = phoneDisk.file!
    Self.join(xray, "xray", desk)
    let second = try! desk.membership().record.roster
    Self.carry(second, from: desk, to: xray)
    let file = try! desk.recoveryFile(passphrase: "correct horse battery")
    rootKey = try! desk.membership().rootKey(to: "sign", StandInCryptography(signatures, seed: 9))
    _ = try! xray.recover(file, passphrase: "correct horse battery", at: Self.now)
    let third = try! xray.membership().record.roster
    rosters = [first, second, third]
    keys = [try! desk.membership().record.key, try! xray.membership().record.key]
    certificates = [try! desk.membership().record.certificate, try! xray.membership().record.certificate]
  }

  private static func carry(_ roster: SignedRoster, from sender: AccountService, to reader: AccountService) {
    let certificate = try! sender.membership().record.certificate
    _ = reader.receive(try! roster.message(), from: certificate, at: now)
  }

  /// The digits are not looked at.
  private static func join(_ guest: AccountService, _ name: String, _ manager: AccountService) {
    let invite = try! manager.invite(addresses: ["192.0.2.1"], port: 4711, at: now)
    let exporter = [UInt8](repeating: 7, count: 32)
    let here = try! manager.beginInviting(invite, exporter: exporter, at: now)
    let (there, begun) = try! guest.beginJoining(
      try! Invite(invite.text), exporter: exporter, deviceName: name, platform: "linux", at: now)
    var queue: [(isOfGuest: Bool, event: AccountEvent)] = begun.map { (true, $0) }
    while !queue.isEmpty {
      let (isOfGuest, event) = queue.removeFirst()
      switch event {
      case .joinSend(_, let bytes) where isOfGuest:
        queue += manager.receive(bytes, onJoin: here, at: now).map { (false, $0) }
      case .joinSend(_, let bytes): queue += guest.receive(bytes, onJoin: there, at: now).map { (true, $0) }
      case .joinAsks where !isOfGuest: queue += (try! manager.approve(here, at: now)).map { (false, $0) }
      default: break
      }
    }
    require((try? guest.membership()) != nil, "\(name) has not joined")
  }
}

/// The phone, and what desk and xray say to it.
private final class FuzzScript {
  private let disk = Disk(Household.made.phone)
  private let cryptography = StandInCryptography(Household.made.signatures, seed: 4)
  private let phone: AccountService
  private var now = Household.now

  init() { phone = AccountService(storage: disk, cryptography: cryptography) }

  func step(_ input: inout Input) {
    let household = Household.made
    let certificate = household.certificates[input.number(below: 2)]
    let signed = household.rosters[input.number(below: household.rosters.count)]
    switch input.number(below: 7) {
    case 0: hear(try! signed.message(), certificate)
    case 1:
      // Somebody has changed it on its way.
      let genuine = try! signed.message()
      let changed = change(genuine, &input)
      let former = disk.file
      hear(changed, certificate)
      if changed != genuine, changed.count > 1, changed[1] == 12 {
        require(disk.file == former, "a roster counts that was changed")
      }
    case 2:
      // A holder of the keys signs what it likes.
      let encoding = change(signed.encoding, &input)
      hear(message(encoding, manager: household.keys[input.number(below: 2)]), certificate)
    case 3: hear(Array(input.bytes()), certificate)
    case 4:
      now.uptime += Int64(input.byte()) * 100_000
      now.date += Double(input.byte()) * 100_000 - 5_000_000
      check(phone.tick(at: now))
    case 5: hear([0x81, input.byte()], certificate)
    default:
      guard let waiting = phone.takeOvers.first else { return }
      check((try? phone.accept(waiting.digest, of: waiting.device, at: now)) ?? [])
    }
  }

  /// Another byte, or more of them in its place.
  private func change(_ bytes: [UInt8], _ input: inout Input) -> [UInt8] {
    var bytes = bytes
    for _ in 0...input.number(below: 3) {
      let place = Int(input.byte()) << 8 | Int(input.byte())
      let end = min(bytes.count, place % bytes.count + Int(input.byte() % 4))
      bytes.replaceSubrange(place % bytes.count..<end, with: Array(input.bytes(atMost: 40)))
      guard !bytes.isEmpty else { break }
    }
    return bytes
  }

  private func message(_ encoding: [UInt8], manager key: Secret) -> [UInt8] {
    func sign(_ purpose: String, _ key: Secret) -> [UInt8] {
      try! cryptography.sign(Array(purpose.utf8) + encoding, with: key)
    }
    let message = TrustMessage.roster(
      encoding: encoding, signature: sign("segue roster 3\n", Household.made.rootKey),
      managerSignature: sign("segue roster 3 by its manager\n", key))
    return try! message.encoding()
  }

  private func hear(_ message: [UInt8], _ certificate: [UInt8]) {
    check(phone.receive(message, from: certificate, at: now))
  }

  private func check(_ events: [AccountEvent]) {
    for event in events {
      switch event {
      case .send(_, let message), .sendToAll(_, let message):
        require((try? TrustMessage.known(message)) != nil, "it says what others cannot read")
      case .notice(let error, _): require(error.message.utf8.count <= 4_096, "a notice without bound")
      default: break
      }
    }
    require(phone.takeOvers.count <= Limits.takeOvers, "takeovers without bound")
    require(phone.refused.count <= Limits.refusedDevices, "refused devices without bound")
    guard let file = disk.file else { return }
    require(file.count <= Limits.accountFile, "a file without bound")
    let again = AccountService(storage: Disk(file), cryptography: cryptography)
    require((try? again.membership()) != nil, "what is stored cannot be read")
    guard let devices = try? phone.devices() else { return }
    require(devices.count <= Limits.devices, "devices without bound")
  }
}
