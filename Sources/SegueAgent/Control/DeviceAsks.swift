import SegueDevices
import SegueModel
import SegueSystem
import SegueTransport
import SegueTrust

/// Answers requests at the second socket about other devices (docs/protocol.md). For the loop.
final class DeviceAsks {
  private let devices: DeviceService
  /// Whether a key is being derived from a passphrase.
  private var isDeriving = false

  init(_ devices: DeviceService) { self.devices = devices }

  typealias Answer = ControlAsks.Answer

  /// - Returns: false if it is no ask about devices.
  func handle(_ what: String, _ ask: Value, of asker: Asker, _ answer: @escaping Answer) throws(SegueError) -> Bool {
    switch true {
    case Text.isSame(what, "account"): try account(ask, asker, answer)
    case Text.isSame(what, "create-account"): try create(ask, answer)
    case Text.isSame(what, "invite"):
      try devices.whenRead(for: asker, answer) { [self] () throws(SegueError) in try invite(ask, answer) }
    case Text.isSame(what, "cancel-invites"):
      let invite = ask["link"] == nil ? nil : try Self.invite(ask)
      perform(answer) { account, now in
        if let invite { account.cancel(invite, at: now) } else { account.cancelInvites() }
        return []
      }
    case Text.isSame(what, "read-invite"): answer(.success(try read(ask)))
    case Text.isSame(what, "join"): try join(ask, asker, answer)
    case Text.isSame(what, "await-join"):
      try devices.joins.wait(for: try Self.number(ask), timeout: try ControlAsks.timeout(ask), asker, answer)
    case Text.isSame(what, "answer-join"):
      guard let isAdmitted = ask["admits"]?.bool else {
        throw SegueError(.invalidArgument, "admits: must be true or false")
      }
      try devices.joins.answer(try Self.number(ask), isAdmitted: isAdmitted, answer)
    case Text.isSame(what, "rename-device"): try rename(ask, answer)
    case Text.isSame(what, "revoke-device"):
      let device = try Self.device(ask)
      perform(answer) { account, now throws(SegueError) in try account.revoke(device, at: now) }
    case Text.isSame(what, "accept-roster"): try accept(ask, answer)
    case Text.isSame(what, "leave-account"): try leave(ask, answer)
    case Text.isSame(what, "recovery-file"): try makeRecoveryFile(ask, answer)
    case Text.isSame(what, "recover-account"): try recover(ask, answer)
    case Text.isSame(what, "set-devices"): devices.set(ask, answer)
    case Text.isSame(what, "pushes"): try pushes(ask, asker, answer)
    case Text.isSame(what, "answer-push"):
      guard let isAccepted = ask["accepts"]?.bool else {
        throw SegueError(.invalidArgument, "accepts: must be true or false")
      }
      try devices.pushes.incoming.answer(
        try ControlAsks.identifier(ask, "push"), isAccepted: isAccepted, try ControlAsks.environment(ask), answer)
    default: return false
    }
    return true
  }

  func abandon(_ asker: Asker) { devices.abandon(asker) }

  /// See `DeviceService.push`.
  func push(
    _ activity: Identifier, to device: Identifier, app: String?, timeout: Int64?, for asker: Asker,
    _ answer: @escaping Answer
  ) throws(SegueError) {
    try devices.whenRead(for: asker, answer) { [self] () throws(SegueError) in
      try devices.push(activity, to: device, app: app, timeout: timeout, for: asker, answer)
    }
  }

  // MARK: The account

  private func account(_ ask: Value, _ asker: Asker, _ answer: @escaping Answer) throws(SegueError) {
    let (after, timeout) = try Self.wait(ask)
    try devices.watch(after: after, timeout: timeout, for: asker, answer)
  }

  private func pushes(_ ask: Value, _ asker: Asker, _ answer: @escaping Answer) throws(SegueError) {
    let (after, timeout) = try Self.wait(ask)
    try devices.pushes.watch(after: after, timeout: timeout, for: asker, answer)
  }

  /// After which change an answer is wanted, and within how many milliseconds.
  private static func wait(_ ask: Value) throws(SegueError) -> (after: Int64?, timeout: Int64) {
    var after: Int64?
    if let value = ask["after"] {
      guard let number = value.int64 else { throw SegueError(.invalidArgument, "after: must be an integer") }
      after = number
    }
    return (after, try ControlAsks.timeout(ask) ?? Limits.longestAsk)
  }

  private func create(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    let name = try ControlAsks.text(ask, "name", atMost: Limits.identifier)
    let deviceName = try Self.deviceName(ask)
    perform(isFirst: true, answer) { account, now throws(SegueError) in
      try account.create(name: name, deviceName: deviceName, platform: AccountJoins.platform, at: now)
    }
  }

  private func accept(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    let device = try Self.device(ask)
    guard let digest = ask["digest"]?.data, digest.count == Limits.digest else {
      throw SegueError(.invalidArgument, "digest: must be \(Limits.digest) bytes of data")
    }
    perform(answer) { account, now throws(SegueError) in try account.accept(digest, of: device, at: now) }
  }

  private func leave(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    let isAbandoning = try Self.flag(ask, "abandons")
    devices.account.use({ account, _ throws(SegueError) in
      let (events, aside) = try account.leave(isAbandoning: isAbandoning)
      return (events, aside)
    }) { (result: Result<[String], SegueError>) in
      answer(
        Asker.map(result) { aside throws(SegueError) in
          guard !aside.isEmpty else { return .emptyDictionary }
          return try .dictionary([(key: .string("aside"), value: .string(aside.joined(separator: ", ")))])
        })
    }
  }

  /// One passphrase at a time: each takes half a second of the account's thread.
  private func beginDerivation() throws(SegueError) {
    guard !isDeriving else { throw SegueError(.busy, "account: another passphrase is in use, ask again in a second") }
    isDeriving = true
  }

  private func makeRecoveryFile(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    let passphrase = try ControlAsks.text(ask, "passphrase", atMost: Limits.passphrase)
    try beginDerivation()
    devices.account.use({ account, _ throws(SegueError) in
      ([], try account.recoveryFile(passphrase: passphrase))
    }) { [self] (result: Result<[UInt8], SegueError>) in
      isDeriving = false
      answer(
        Asker.map(result) { file throws(SegueError) in
          try .dictionary([(key: .string("file"), value: .data(file))])
        })
    }
  }

  private func recover(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    guard let file = ask["file"]?.data else { throw SegueError(.invalidArgument, "file: must be data") }
    let passphrase = try ControlAsks.text(ask, "passphrase", atMost: Limits.passphrase)
    try beginDerivation()
    perform({ [self] result in
      isDeriving = false
      answer(result)
    }) { account, now throws(SegueError) in try account.recover(file, passphrase: passphrase, at: now) }
  }

  // MARK: Joining

  /// An address without the name of an interface: `fe80::7` for `fe80::7%eth0`.
  private static func host(_ address: String) -> String {
    guard let zone = address.utf8.firstIndex(of: UInt8(ascii: "%")) else { return address }
    return String(decoding: Array(address.utf8[..<zone]), as: UTF8.self)
  }

  private func invite(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    for entry in ask.entries ?? [] {
      guard let key = entry.key.string, ["ask", "addresses", "automatic"].contains(where: { Text.isSame($0, key) })
      else { throw SegueError(.invalidArgument, "options: there is no '\(entry.key.string ?? "")'") }
    }
    let isAutomatic = try Self.flag(ask, "automatic")
    var addresses = devices.inviteAddresses
    if let value = ask["addresses"] {
      guard let elements = value.elements, !elements.isEmpty, elements.count <= Limits.inviteAddresses else {
        throw SegueError(.invalidArgument, "addresses: must be an array of 1 to \(Limits.inviteAddresses) strings")
      }
      addresses = []
      for element in elements {
        guard let address = element.string, (try? NetworkAddress.read(host: address, port: 1)) != nil else {
          throw SegueError(.invalidArgument, "addresses: must be IPv4 or IPv6 addresses alone; names are not looked up")
        }
        // Its interface here says nothing there.
        addresses.append(Self.host(address))
      }
    }
    let port = devices.port
    devices.account.use({ [addresses] account, now throws(SegueError) in
      if case .member = account.status, account.isManager {
        guard port > 0 else {
          throw SegueError(.invalidState, "invite: this device does not listen for others now")
        }
        guard !addresses.isEmpty else {
          throw SegueError(
            .invalidState, "invite: this device has no address that others could use; is it in a network?")
        }
      }
      let invite = try account.invite(addresses: addresses, port: port, isAutomatic: isAutomatic, at: now)
      return ([], (invite.text, now.date + Double(Limits.inviteLife) / 1000))
    }) { (result: Result<(String, Double), SegueError>) in
      answer(
        Asker.map(result) { made throws(SegueError) in
          try .dictionary([
            (key: .string("link"), value: .string(made.0)), (key: .string("expires"), value: try .date(made.1)),
          ])
        })
    }
  }

  private func read(_ ask: Value) throws(SegueError) -> Value {
    let invite = try Self.invite(ask)
    var addresses: [Value] = []
    for host in invite.addresses {
      // A text that is no address is shown as it is: nothing is dialled here.
      let address = try? NetworkAddress.read(host: host, port: invite.port)
      addresses.append(.string(address?.text ?? host))
    }
    return try .dictionary([
      (key: .string("account_name"), value: .string(invite.accountName)),
      (key: .string("account"), value: .uuid(invite.account)),
      (key: .string("addresses"), value: try .array(addresses)),
    ])
  }

  private func join(_ ask: Value, _ asker: Asker, _ answer: @escaping Answer) throws(SegueError) {
    let invite = try Self.invite(ask)
    devices.joins.join(
      invite, deviceName: try Self.deviceName(ask), timeout: try ControlAsks.timeout(ask), for: asker, answer)
  }

  // MARK: Devices

  private func rename(_ ask: Value, _ answer: @escaping Answer) throws(SegueError) {
    let name = try ControlAsks.text(ask, "name", atMost: Limits.identifier)
    let device = ask["device"] == nil ? nil : try Self.device(ask)
    let linked = devices.links?.devices ?? []
    let managerName = devices.snapshot.devices.first { $0.isManager }?.name ?? "another device"
    perform(answer) { account, now throws(SegueError) in
      let events = try account.rename(device, name, at: now)
      for event in events {
        if case .send(let manager, _) = event, !linked.contains(manager) {
          throw SegueError(
            .connectionUnavailable,
            "\(managerName): is not linked now, and only it, the manager of the account, renames")
        }
      }
      return events
    }
  }

  // MARK: Elements

  private func perform(
    isFirst: Bool = false, _ answer: @escaping Answer,
    _ body: @escaping (AccountService, Instant) throws(SegueError) -> [AccountEvent]
  ) {
    devices.account.use(
      isFirst: isFirst, { account, now throws(SegueError) in (try body(account, now), ()) }
    ) { (result: Result<Void, SegueError>) in
      answer(Asker.map(result) { () throws(SegueError) in .emptyDictionary })
    }
  }

  private static func invite(_ ask: Value) throws(SegueError) -> Invite {
    try Invite(try ControlAsks.text(ask, "link", atMost: Limits.inviteText))
  }

  private static func deviceName(_ ask: Value) throws(SegueError) -> String {
    guard ask["device_name"] != nil else { return DeviceName.current }
    let name = try ControlAsks.text(ask, "device_name", atMost: Limits.identifier)
    try ShownName.check(name, "device_name")
    return name
  }

  private static func device(_ ask: Value) throws(SegueError) -> Identifier {
    guard let device = ask["device"]?.uuid else { throw SegueError(.invalidArgument, "device: must be a UUID") }
    return device
  }

  private static func number(_ ask: Value) throws(SegueError) -> UInt64 {
    guard let number = ask["join"]?.int64.flatMap({ UInt64(exactly: $0) }) else {
      throw SegueError(.invalidArgument, "join: must be the number of a join")
    }
    return number
  }

  private static func flag(_ ask: Value, _ key: String) throws(SegueError) -> Bool {
    guard let value = ask[key] else { return false }
    guard let flag = value.bool else { throw SegueError(.invalidArgument, "\(key): must be true or false") }
    return flag
  }
}
