// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The addresses of this device's user for each device, and those that devices tell each other (R14.1, R14.2).
extension DeviceService {
  // MARK: Addresses of the user

  /// Gives a device an address, or takes it back, and answers when that is stored. Throws NOT_FOUND (no such device),
  /// INVALID_ARGUMENT (this device, or no address).
  func changeAddress(
    _ text: String, of device: Identifier, isAdded: Bool, _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    let address = try DeviceAddress(text)
    try requireOther(device)
    change(answer) { records throws(SegueError) in
      if isAdded { try records.add(address, to: device) } else { try records.remove(address, from: device) }
    }
  }

  /// Has a kind of path to a device used no longer, or again, and answers when that is stored; a link of that kind ends
  /// then. Throws NOT_FOUND (no such device), INVALID_ARGUMENT (this device, or no kind of path).
  func changePath(
    _ word: String, to device: Identifier, isAvoided: Bool, _ answer: @escaping ControlClient.Answer
  ) throws(SegueError) {
    guard let cost = PathCost(word) else {
      throw SegueError(.invalidArgument, "path: must be same network, other network, tunnel, relay or command")
    }
    try requireOther(device)
    change(answer) { records in records.set(cost, isAvoided: isAvoided, to: device) }
  }

  private func requireOther(_ device: Identifier) throws(SegueError) {
    guard let found = snapshot.devices.first(where: { $0.id == device }) else {
      throw SegueError(.notFound, "device: the account has no such device")
    }
    guard !found.isThisDevice else { throw SegueError(.invalidArgument, "device: is this one") }
  }

  private func change(
    _ answer: @escaping ControlClient.Answer, _ body: @escaping (inout DeviceRecords) throws(SegueError) -> Void
  ) {
    stored.change({ [learned = currentSettings.learned] settings throws(SegueError) in
      for each in learned { settings.records.learn(each) }
      try body(&settings.records)
    }) { [self] result in
      guard case .success(let changed) = result else { return answer(result.map { _ in .emptyDictionary }) }
      guard !isClosed else { return }
      currentSettings.adopt(changed)
      dialAgain()
      publish()
      answer(.success(.emptyDictionary))
    }
  }

  /// Has the user's addresses dialled, wherever they have led.
  func dialAgain() { links?.setAddresses(settings.dialled, paths) }

  var paths: [DevicePaths] {
    let interfaces = links?.interfaces ?? []
    var all = settings.records.all.map { record in
      var paths = record.paths(interfaces)
      // Without discovery only what the user has set is dialled.
      if !settings.isAnnounced { (paths.told, paths.best) = ([], nil) }
      return paths
    }
    for command in commands.list where isOther(command.device) {
      let index = all.firstIndex { $0.device == command.device }
      if index == nil { all.append(DevicePaths(to: command.device)) }
      all[index ?? all.count - 1].arranged.append(.command(command.device, version: command.version))
    }
    return all
  }

  // MARK: Commands

  /// Reads for which devices the user has set a command (R14.4), and dials these. A link by other words of before ends.
  /// - Parameter done: called once, if this is not closed before.
  func readCommands(_ done: @escaping (SegueError?) -> Void = { _ in }) {
    guard let transport = links?.transport.commands else { return done(nil) }
    transport.find { [self] result in
      guard !isClosed else { return }
      commands = result
      if let problem = result.problem { environment.log(.error, "\(problem.message)") }
      links?.setPaths(paths, isAgain: true)
      publish()
      done(result.problem)
    }
  }

  // MARK: Addresses that are told

  /// Tells devices where this one can be reached, so that they need no beacon to find it again; without discovery its
  /// port alone.
  func tellAddresses(_ peers: [Identifier]) {
    let addresses = settings.isAnnounced ? ownAddresses : []
    guard port > 0, let told = try? DeviceMessage.addresses(port, addresses).encoding() else { return }
    for peer in peers { messages?.send(told, to: peer) }
  }

  /// The addresses at which others may reach this device: last those of IPv6 that count on one network, without the
  /// name that its interface has here.
  var ownAddresses: [NetworkAddress] {
    let all = (links?.interfaces ?? []).map { $0.address.with(port: 0) }
    var addresses = all.filter { !$0.isLinkLocal }
    for address in all where address.isLinkLocal && !address.isIPv4 {
      if !addresses.contains(address.withoutInterface) { addresses.append(address.withoutInterface) }
    }
    return Array(addresses.prefix(Limits.toldAddresses))
  }

  /// A device has told where it can be reached. Addresses that lead only through a zone that the device has no part in
  /// do not count, nor those that lead to no other machine.
  func heardAddresses(_ port: UInt16, _ addresses: [NetworkAddress], of peer: Identifier) {
    if isOther(peer), currentSettings.heard(port, addresses, of: peer, at: environment.uptime) { learnedOfPath() }
  }

  /// A device was reached at an address: the next link begins there.
  public func linkWasDialled(to peer: Identifier, at address: NetworkAddress) {
    if isOther(peer), currentSettings.reached(peer, at: address, environment.uptime) { learnedOfPath() }
  }

  private func learnedOfPath() {
    setTimer()
    links?.setPaths(paths)
  }

  private func isOther(_ peer: Identifier) -> Bool { snapshot.devices.contains { $0.id == peer && !$0.isThisDevice } }

  // MARK: For users

  /// The paths to a device as `account` tells them.
  /// - Parameter room: how many may be told; less those that are.
  func pathValues(of device: Identifier, _ room: inout Int) throws(SegueError) -> [Value] {
    var values: [Value] = []
    for report in links?.reports(of: device) ?? [] where room > 0 {
      room -= 1
      var (state, reason): (StaticString, String?) = ("known", nil)
      switch report.state {
      case .used: state = "used"
      case .trying: state = "trying"
      case .failed(let message): (state, reason) = ("failed", message)
      case .known: break
      case .avoided: state = "avoided"
      }
      var entries: [(key: Value, value: Value)] = [
        (key: .string("address"), value: .string(report.address)),
        (key: .string("state"), value: .string(String(joining: "\(state)"))),
      ]
      if let cost = report.cost {
        entries.append((key: .string("cost"), value: .string(String(joining: "\(cost.word)"))))
      }
      if let reason { entries.append((key: .string("message"), value: .string(reason))) }
      values.append(try .dictionary(entries))
    }
    return values
  }
}
