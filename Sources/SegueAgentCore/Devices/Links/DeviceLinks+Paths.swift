// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// The paths to a device that are known beside beacons (R14.1, R14.2).
public struct DevicePaths {
  public let device: Identifier
  /// The addresses that the user has given the device, as far as they can be dialled now; link-local ones of IPv6 once
  /// for each interface where they may be.
  public var addresses: [NetworkAddress] = []
  /// Those that are names, with their ports.
  public var names: [(name: DeviceHostName, port: UInt16)] = []
  /// Those that the device has told over a link.
  public var told: [NetworkAddress] = []
  /// The one by which this device has linked with it last; nil: the device has dialled, or was never linked.
  public var best: NetworkAddress?
  /// Those that are no addresses, and lead to this device alone.
  public var arranged: [LinkPath] = []
  /// The kinds of paths that the user does not want used to it.
  public var avoided: [PathCost] = []

  public init(to device: Identifier) { self.device = device }
}

/// A path to a device, for its user.
public struct PathReport {
  /// The state of a path.
  public enum State {
    /// The link uses it.
    case used
    /// It is being dialled.
    case trying
    /// The last attempt has failed, for this reason.
    case failed(String)
    /// It was not needed yet.
    case known
    /// The user does not want it used.
    case avoided
  }

  /// An address and port, a name, or what the path is instead (`LinkPath.name`); ` there` follows if the other device
  /// has arranged it.
  public let address: String
  /// Nil for a name.
  public let cost: PathCost?
  public let state: State
}

extension DeviceLinks {
  /// The most paths of one device that are reported, and bytes of a reason.
  private static let reportLimit = 6
  private static let reasonLimit = 120

  /// Sets the addresses that the user has named, and the paths to each device of the account. It is looked again where
  /// the addresses of the user lead.
  public func setAddresses(_ addresses: [NetworkAddress], _ paths: [DevicePaths] = []) {
    let all = addresses + paths.flatMap { $0.addresses }
    table.setStatic(all.map { .address($0) }, environment.uptime)
    setPaths(paths)
  }

  /// Sets the paths to each device of the account, after these devices have told something new.
  /// - Parameter isAgain: whether the user may have changed what arranged paths lead to.
  public func setPaths(_ paths: [DevicePaths], isAgain: Bool = false) {
    var ended: [DevicePaths] = []
    for former in self.paths where !paths.contains(where: { $0.device == former.device }) {
      if announcing.others.contains(former.device) {
        ended.append(DevicePaths(to: former.device))
      } else {
        table.forget(former.device)
      }
    }
    self.paths = paths
    let uptime = environment.uptime
    for each in paths + ended {
      for address in each.addresses { table.expect(each.device, at: .address(address)) }
      table.setTold(each.device, each.told.map { .address($0) }, best: each.best.map { .address($0) }, uptime)
      table.setArranged(each.device, each.arranged, uptime)
      table.setAvoided(each.device, each.avoided, uptime)
    }
    endUnarranged()
    endAvoided()
    if isAgain { retryArranged() }
    names.set(
      paths.flatMap { each in
        each.names.map { NameSchedule.Entry(name: $0.name, port: $0.port, device: each.device) }
      })
    act()
  }

  /// The user may have changed what paths lead to: attempts under way end, and all arranged paths are dialled.
  private func retryArranged() {
    for connection in connections.all where connection.isDialled && connection.path.device != nil {
      if !table.isLink(connection.number) { connection.terminate() }
    }
    table.retryArranged(environment.uptime)
  }

  /// Ends what this device has dialled by paths that are no longer arranged.
  private func endUnarranged() {
    for connection in connections.all where connection.isDialled {
      // Those through a relay end with the link to it.
      guard case .command(let device, version: _) = connection.path,
        !paths.contains(where: { $0.device == device && $0.arranged.contains(connection.path) })
      else { continue }
      environment.log(.info, "\(connection.path.text): no longer leads to \(device.fingerprint)")
      connection.terminate()
    }
  }

  /// Ends the connections of kinds that the user does not want used to their devices.
  func endAvoided() {
    for connection in connections.all {
      guard let device = connection.peer?.device ?? connection.path.device, isAvoided(connection, to: device) else {
        continue
      }
      environment.log(.info, "\(connection.path.text): not used any longer, as the user has set")
      connection.terminate()
      table.retry(device, environment.uptime)
    }
  }

  /// Whether a connection is of a kind that the user does not want used to a device.
  func isAvoided(_ connection: DeviceConnection, to device: Identifier) -> Bool {
    table.isAvoided(connection.path, to: device)
  }

  /// Whether another device may reach this one through a relay.
  func takes(_ path: LinkPath) -> Bool {
    guard case .relay(through: let relay, to: let device) = path else { return false }
    // A relay is reached without one itself.
    return isDirect(relay) && !table.isAvoided(path, to: device)
  }

  /// The promise that is broken; nil: none. A test reads it after each step.
  var broken: StaticString? {
    for device in devices {
      guard let path = path(to: device), let set = paths.first(where: { $0.device == device }) else { continue }
      if set.avoided.contains(PathCost.of(path, interfaces)) { return "a link uses a path that its user has forbidden" }
    }
    return nil
  }

  static func avoided(_ cost: PathCost) -> SegueError {
    SegueError(.notAllowed, "\(cost.word): the user does not want such a path used to that device")
  }

  /// A name was looked up.
  func resolved(_ entry: NameSchedule.Entry, _ lookup: NameLookup) {
    if case .addresses(let all) = lookup {
      // The helper may have become another's: nothing else than what may be dialled is.
      if case .addresses(let usable) = NameLookupOutput.usable(all, of: entry.name) {
        let dialled = usable.prefix(NameLookup.addressLimit).map { $0.with(port: entry.port) }
        table.resolved(entry.device, dialled.map { .address($0) }, environment.uptime)
      }
    }
    act()
  }

  /// Sets the costs of paths by the interfaces that there are.
  func setCosts() { table.setCosts { [interfaces] path in PathCost.of(path, interfaces) } }

  /// The paths to a device: the one in use first, then those that are known, the cheapest first.
  public func reports(of device: Identifier) -> [PathReport] {
    guard device != identity.device else { return [] }
    var reports: [PathReport] = []
    let used = path(to: device)
    if let used {
      let name = used.isOfOther(than: identity.device) ? text(of: used) : String(joining: "\(text(of: used)) there")
      reports.append(PathReport(address: name, cost: PathCost.of(used, interfaces), state: .used))
    }
    var arranged: [PathReport] = []
    for path in table.paths(to: device) where path.address != used {
      var state = PathReport.State.known
      if path.isAvoided {
        state = .avoided
      } else if path.isTrying {
        state = .trying
      } else if let error = path.failure {
        state = .failed(Self.reason(error.message))
      }
      let report = PathReport(address: text(of: path.address), cost: path.cost, state: state)
      if path.address.device == nil { reports.append(report) } else { arranged.append(report) }
    }
    for each in paths where each.device == device {
      for (name, port) in each.names {
        guard let failure = names.failure(of: NameSchedule.Entry(name: name, port: port, device: device)) else {
          continue
        }
        reports.append(PathReport(address: name.text, cost: nil, state: .failed(Self.reason(failure))))
      }
    }
    let isRelayAvoided = paths.contains { $0.device == device && $0.avoided.contains(.relay) }
    if used == nil, !isRelayAvoided { arranged += relays?.idle(for: device) ?? [] }
    arranged = Array(arranged.prefix(Dialler<LinkPath>.relayLimit))
    return Array(reports.prefix(max(1, Self.reportLimit - arranged.count)) + arranged)
  }

  /// A path as users read it.
  func text(of path: LinkPath) -> String {
    if case .relay(through: let relay, to: _) = path, let relays {
      return String(joining: "through \(relays.name(of: relay))")
    }
    return path.name
  }

  // MARK: Relays

  /// Whether a device is linked, and not through another one.
  func isDirect(_ device: Identifier) -> Bool {
    guard let path = path(to: device) else { return false }
    if case .relay = path { return false }
    return true
  }

  /// Sets the linked devices that may pass bytes on to the others of the account.
  /// - Parameter obstacle: why a relay does not lead to a device now; nil: it does.
  func setRelays(_ relays: [Identifier], _ obstacle: (_ relay: Identifier, _ device: Identifier) -> SegueError?) {
    for device in announcing.others {
      var usable: [(address: LinkPath, obstacle: SegueError?)] = []
      var others: [(address: LinkPath, obstacle: SegueError?)] = []
      for relay in relays where relay != device {
        let path = LinkPath.relay(through: relay, to: device)
        let error = obstacle(relay, device)
        if error == nil { usable.append((path, nil)) } else { others.append((path, error)) }
      }
      table.setRelayed(device, usable + others, environment.uptime)
    }
    act()
  }

  private static func reason(_ message: String) -> String { Text.start(of: message, atMost: reasonLimit) }
}
