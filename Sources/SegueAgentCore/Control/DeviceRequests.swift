// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// Answers the requests of control clients about other devices (docs/protocol.md). No I/O. For one thread.
final class DeviceRequests {
  private let environment: any AgentEnvironment
  private let devices: DeviceService
  /// Whether a key is being derived from a passphrase.
  private var isDeriving = false

  init(in environment: any AgentEnvironment, _ devices: DeviceService) {
    (self.environment, self.devices) = (environment, devices)
  }

  typealias Answer = ControlRequests.Answer

  /// - Returns: false if it is no request about devices.
  func handle(_ name: String, _ request: Value, of client: ControlClient, _ answer: @escaping Answer) throws(SegueError)
    -> Bool
  {
    switch true {
    case Text.isSame(name, "account"): try account(request, client, answer)
    case Text.isSame(name, "create-account"): try create(request, answer)
    case Text.isSame(name, "invite"):
      try invite(request, answer)
    case Text.isSame(name, "cancel-invites"):
      try RequestOptions.requireOne(request, "link")
      let invite = request["link"] == nil ? nil : try Self.invite(request)
      perform(answer) { account, now in
        if let invite { account.cancel(invite, at: now) } else { account.cancelInvites() }
        return []
      }
    case Text.isSame(name, "read-invite"): answer(.success(try read(request)))
    case Text.isSame(name, "join"): try join(request, client, answer)
    case Text.isSame(name, "await-join"):
      try devices.joins.wait(
        for: try Self.number(request), timeout: try ControlRequests.timeout(request), client, answer)
    case Text.isSame(name, "answer-join"):
      guard let isAdmitted = request["admits"]?.bool else {
        throw SegueError(.invalidArgument, "admits: must be true or false")
      }
      try devices.joins.answer(try Self.number(request), isAdmitted: isAdmitted, answer)
    case Text.isSame(name, "rename-device"): try rename(request, answer)
    case Text.isSame(name, "revoke-device"):
      let device = try Self.device(request)
      perform(answer) { account, now throws(SegueError) in try account.revoke(device, at: now) }
    case Text.isSame(name, "accept-roster"): try accept(request, answer)
    case Text.isSame(name, "leave-account"): try leave(request, answer)
    case Text.isSame(name, "recovery-file"): try makeRecoveryFile(request, answer)
    case Text.isSame(name, "recover-account"): try recover(request, answer)
    case Text.isSame(name, "set-devices"): devices.set(request, answer)
    case Text.isSame(name, "add-address"): try changeAddress(request, isAdded: true, answer)
    case Text.isSame(name, "remove-address"): try changeAddress(request, isAdded: false, answer)
    case Text.isSame(name, "avoid-path"): try changePath(request, isAvoided: true, answer)
    case Text.isSame(name, "use-path"): try changePath(request, isAvoided: false, answer)
    case Text.isSame(name, "read-paths"):
      devices.readCommands { error in answer(error.map { .failure($0) } ?? .success(.emptyDictionary)) }
    case Text.isSame(name, "pushes"): try pushes(request, client, answer)
    case Text.isSame(name, "answer-push"):
      guard let isAccepted = request["accepts"]?.bool else {
        throw SegueError(.invalidArgument, "accepts: must be true or false")
      }
      try devices.pushes.incoming.answer(
        try ControlRequests.identifier(request, "push"), isAccepted: isAccepted,
        try ControlRequests.environment(request), answer)
    default: return false
    }
    return true
  }

  func abandon(_ client: ControlClient) { devices.abandon(client) }

  func name(of device: Identifier) -> String { devices.name(of: device) }

  /// See `DeviceService.push`.
  func push(
    _ activity: Identifier, to device: Identifier, app: String?, timeout: Int64?, for client: ControlClient,
    _ answer: @escaping Answer
  ) throws(SegueError) {
    try devices.push(activity, to: device, app: app, timeout: timeout, for: client, answer)
  }

  // MARK: The account

  private func account(_ request: Value, _ client: ControlClient, _ answer: @escaping Answer) throws(SegueError) {
    let (after, timeout) = try Self.wait(request)
    try devices.watch(after: after, timeout: timeout, for: client, answer)
  }

  private func pushes(_ request: Value, _ client: ControlClient, _ answer: @escaping Answer) throws(SegueError) {
    let (after, timeout) = try Self.wait(request)
    try devices.pushes.watch(after: after, timeout: timeout, for: client, answer)
  }

  /// After which change an answer is wanted, and within how many milliseconds.
  private static func wait(_ request: Value) throws(SegueError) -> (after: Int64?, timeout: Int64) {
    var after: Int64?
    if let value = request["after"] {
      guard let number = value.int64 else { throw SegueError(.invalidArgument, "after: must be an integer") }
      after = number
    }
    return (after, try ControlRequests.timeout(request) ?? Limits.longestAsk)
  }

  private func create(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    let name = try ControlRequests.text(request, "name", atMost: Limits.identifier)
    let deviceName = try deviceName(request)
    perform(isFirst: true, answer) { account, now throws(SegueError) in
      try account.create(name: name, deviceName: deviceName, platform: AccountJoins.platform, at: now)
    }
  }

  private func accept(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    let device = try Self.device(request)
    guard let digest = request["digest"]?.data, digest.count == Limits.digest else {
      throw SegueError(.invalidArgument, "digest: must be \(Limits.digest) bytes of data")
    }
    perform(answer) { account, now throws(SegueError) in try account.accept(digest, of: device, at: now) }
  }

  private func leave(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    let isAbandoning = try ControlRequests.flag(request, "abandons")
    devices.account.use({ account, _ throws(SegueError) in
      let (events, aside) = try account.leave(isAbandoning: isAbandoning)
      return (events, aside)
    }) { (result: Result<[String], SegueError>) in
      answer(
        ControlClient.map(result) { aside throws(SegueError) in
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

  private func makeRecoveryFile(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    let passphrase = try ControlRequests.text(request, "passphrase", atMost: Limits.passphrase)
    try beginDerivation()
    devices.account.use({ account, _ throws(SegueError) in
      ([], try account.recoveryFile(passphrase: passphrase))
    }) { [self] (result: Result<[UInt8], SegueError>) in
      isDeriving = false
      answer(
        ControlClient.map(result) { file throws(SegueError) in
          try .dictionary([(key: .string("file"), value: .data(file))])
        })
    }
  }

  private func recover(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    guard let file = request["file"]?.data else { throw SegueError(.invalidArgument, "file: must be data") }
    let passphrase = try ControlRequests.text(request, "passphrase", atMost: Limits.passphrase)
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

  private func invite(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    let isAutomatic = try ControlRequests.flag(request, "automatic")
    var addresses = devices.inviteAddresses
    if let value = request["addresses"] {
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
        ControlClient.map(result) { made throws(SegueError) in
          try .dictionary([
            (key: .string("link"), value: .string(made.0)), (key: .string("expires"), value: try .date(made.1)),
          ])
        })
    }
  }

  private func read(_ request: Value) throws(SegueError) -> Value {
    let invite = try Self.invite(request)
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

  private func join(_ request: Value, _ client: ControlClient, _ answer: @escaping Answer) throws(SegueError) {
    let invite = try Self.invite(request)
    devices.joins.join(
      invite, deviceName: try deviceName(request), timeout: try ControlRequests.timeout(request), for: client, answer)
  }

  // MARK: Devices

  private func rename(_ request: Value, _ answer: @escaping Answer) throws(SegueError) {
    let name = try ControlRequests.text(request, "name", atMost: Limits.identifier)
    let device = request["device"] == nil ? nil : try Self.device(request)
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

  private func changeAddress(_ request: Value, isAdded: Bool, _ answer: @escaping Answer) throws(SegueError) {
    let device = try Self.device(request)
    let address = try ControlRequests.text(request, "address", atMost: DeviceAddress.sizeLimit)
    try devices.changeAddress(address, of: device, isAdded: isAdded, answer)
  }

  private func changePath(_ request: Value, isAvoided: Bool, _ answer: @escaping Answer) throws(SegueError) {
    let device = try Self.device(request)
    let path = try ControlRequests.text(request, "path", atMost: Limits.identifier)
    try devices.changePath(path, to: device, isAvoided: isAvoided, answer)
  }

  // MARK: Elements

  private func perform(
    isFirst: Bool = false, _ answer: @escaping Answer,
    _ body: @escaping (AccountService, Instant) throws(SegueError) -> [AccountEvent]
  ) {
    devices.account.use(
      isFirst: isFirst, { account, now throws(SegueError) in (try body(account, now), ()) }
    ) { (result: Result<Void, SegueError>) in
      answer(ControlClient.map(result) { () throws(SegueError) in .emptyDictionary })
    }
  }

  private static func invite(_ request: Value) throws(SegueError) -> Invite {
    try Invite(try ControlRequests.text(request, "link", atMost: Limits.inviteText))
  }

  private func deviceName(_ request: Value) throws(SegueError) -> String {
    guard request["device_name"] != nil else { return environment.deviceName }
    let name = try ControlRequests.text(request, "device_name", atMost: Limits.identifier)
    try DisplayName.check(name, "device_name")
    return name
  }

  private static func device(_ request: Value) throws(SegueError) -> Identifier {
    guard let device = request["device"]?.uuid else { throw SegueError(.invalidArgument, "device: must be a UUID") }
    return device
  }

  private static func number(_ request: Value) throws(SegueError) -> UInt64 {
    guard let number = request["join"]?.int64.flatMap({ UInt64(exactly: $0) }) else {
      throw SegueError(.invalidArgument, "join: must be the number of a join")
    }
    return number
  }

}
