// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The addresses that are known of a device of the account (R14.2): those that the user has given it, and those that
/// this device has learned. Stored with the settings.
struct DeviceRecord {
  let device: Identifier
  /// Given by the user, at most `Limits.addressesPerDevice`.
  var addresses: [DeviceAddress] = []
  /// The kinds of paths that the user does not want used to it, the cheapest first.
  var avoided: [PathCost] = []
  /// The port at which the device listens; 0: it has not told.
  var port: UInt16 = 0
  /// The addresses that it has told, without zones and ports, at most `Limits.toldAddresses`.
  var told: [NetworkAddress] = []
  /// The address and port, with its zone, by which this device has linked with it last.
  var best: String?

  init(_ device: Identifier) { self.device = device }

  /// Whether the user has set nothing of it.
  var isLearned: Bool { addresses.isEmpty && avoided.isEmpty }
  var isEmpty: Bool { isLearned && port == 0 && told.isEmpty && best == nil }
  var bytes: Int { addresses.reduce(0) { $0 + Text.size($1.text) } }

  /// The paths that can be dialled on these interfaces.
  func paths(_ interfaces: [NetworkInterface]) -> DevicePaths {
    var paths = DevicePaths(to: device)
    for address in addresses {
      if case .name(let name) = address.host {
        let port = address.port ?? self.port
        if port > 0 { paths.names.append((name, port)) }
      } else if let network = address.network(told: port) {
        paths.addresses += network.onInterfaces(interfaces)
      }
    }
    if port > 0 {
      let all = told.flatMap { $0.with(port: port).onInterfaces(interfaces) }
      paths.told = Array(all.prefix(Limits.toldAddresses))
    }
    paths.best = best.flatMap { try? NetworkAddress.read($0) }
    paths.avoided = avoided
    return paths
  }

  /// The reason for which an address of the user cannot be dialled now; nil: it can.
  func obstacle(of address: DeviceAddress) -> StaticString? {
    if address.port == nil, port == 0 { return "waits until the device has told its port" }
    if case .numeric = address.host, address.network(told: port) == nil { return "waits for its network interface" }
    return nil
  }
}

/// The records of the devices of the account, in the order in which they came.
struct DeviceRecords {
  private(set) var all: [DeviceRecord] = []

  subscript(device: Identifier) -> DeviceRecord? { all.first { $0.device == device } }

  /// Changes the record of a device. The oldest record of which the user has set nothing makes room for a new one.
  mutating func change<Failure>(
    _ device: Identifier, _ body: (inout DeviceRecord) throws(Failure) -> Void
  ) throws(Failure) {
    var record = self[device] ?? DeviceRecord(device)
    try body(&record)
    guard let index = all.firstIndex(where: { $0.device == device }) else {
      if all.count >= Limits.devices, let oldest = all.firstIndex(where: { $0.isLearned }) {
        all.remove(at: oldest)
      }
      if !record.isEmpty, all.count < Limits.devices { all.append(record) }
      return
    }
    if record.isEmpty { all.remove(at: index) } else { all[index] = record }
  }

  /// Takes what this device has learned of another one.
  mutating func learn(_ news: DeviceRecord) {
    change(news.device) { record in (record.port, record.told, record.best) = (news.port, news.told, news.best) }
  }

  /// Forgets all devices but those.
  mutating func keep(_ devices: [Identifier]) { all.removeAll { !devices.contains($0.device) } }

  // MARK: Changes of the user

  /// Adds an address of a device. Throws LIMIT_EXCEEDED, and INVALID_ARGUMENT if neither the address nor the device has
  /// told a port.
  mutating func add(_ address: DeviceAddress, to device: Identifier) throws(SegueError) {
    let total = all.reduce(Text.size(address.text)) { $0 + $1.bytes }
    guard total <= Limits.deviceAddressBytes else {
      throw SegueError(
        .limitExceeded,
        "address: all addresses have \(total) bytes together, at most \(Limits.deviceAddressBytes) are allowed")
    }
    try change(device) { record throws(SegueError) in
      guard address.port != nil || record.port > 0 else {
        throw SegueError(
          .invalidArgument,
          """
          address: \(address.text): needs a port, since the device has told none yet; `segue account` there shows it
          """)
      }
      guard !record.addresses.contains(address) else { return }
      guard record.addresses.count < Limits.addressesPerDevice else {
        throw SegueError(.limitExceeded, "address: the device has \(Limits.addressesPerDevice) already")
      }
      record.addresses.append(address)
    }
  }

  /// Throws NOT_FOUND if the device has no such address of the user.
  mutating func remove(_ address: DeviceAddress, from device: Identifier) throws(SegueError) {
    guard self[device]?.addresses.contains(address) ?? false else {
      throw SegueError(.notFound, "address: the device has no address \(address.text) that was set here")
    }
    change(device) { $0.addresses.removeAll { $0 == address } }
  }

  /// Has a kind of path to a device used no longer, or again.
  mutating func set(_ cost: PathCost, isAvoided: Bool, to device: Identifier) {
    change(device) { record in
      record.avoided = PathCost.all.filter { $0 == cost ? isAvoided : record.avoided.contains($0) }
    }
  }

  // MARK: The file

  /// The keys of a record. An element that cannot be used is left out: the user can set it again, and a link tells the
  /// rest.
  mutating func read(_ value: Value) {
    for element in value.elements ?? [] {
      guard let device = element["device"]?.uuid, all.count < Limits.devices, self[device] == nil else { continue }
      var record = DeviceRecord(device)
      for each in element["addresses"]?.elements ?? [] where record.addresses.count < Limits.addressesPerDevice {
        if let text = each.string, let address = try? DeviceAddress(text) { record.addresses.append(address) }
      }
      let avoided = (element["avoided"]?.elements ?? []).compactMap { $0.string.flatMap { PathCost($0) } }
      record.avoided = PathCost.all.filter { avoided.contains($0) }
      record.port = element["port"]?.int64.flatMap { UInt16(exactly: $0) } ?? 0
      for each in element["told"]?.elements ?? [] where record.told.count < Limits.toldAddresses {
        if let bytes = each.data, let address = NetworkAddress(bytes: bytes), address.isOfMachine {
          record.told.append(address)
        }
      }
      record.best = element["best"]?.string
      if !record.isEmpty { all.append(record) }
    }
  }

  func value() throws(SegueError) -> Value {
    var values: [Value] = []
    for record in all {
      var entries: [(key: Value, value: Value)] = [
        (key: .string("device"), value: .uuid(record.device)),
        (key: .string("addresses"), value: try .array(record.addresses.map { .string($0.text) })),
        (key: .string("port"), value: .integer(Int64(record.port))),
        (key: .string("told"), value: try .array(record.told.map { .data($0.bytes) })),
      ]
      if let best = record.best { entries.append((key: .string("best"), value: .string(best))) }
      if !record.avoided.isEmpty {
        entries.append((key: .string("avoided"), value: try PathCost.value(of: record.avoided)))
      }
      values.append(try .dictionary(entries))
    }
    return try .array(values)
  }
}
