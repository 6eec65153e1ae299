// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A device that was revoked. No date ends that: only `Limits.removedDevices` does.
struct RemovedDevice: Sendable {
  let id: Identifier
  /// Its certificates that are known, for the list of revocations; the newest last, at most
  /// `Limits.certificatesPerDevice`.
  private(set) var serials: [[UInt8]]

  init(_ device: RosterDevice) { self.init(device.id, serials: device.certificates.map { $0.serial }) }

  init(_ id: Identifier, serials: [[UInt8]]) {
    self.id = id
    self.serials = serials.suffix(Limits.certificatesPerDevice)
  }

  /// - Parameter version: of the roster.
  init(_ value: Value, _ version: UInt64) throws(SegueError) {
    var fields = try Fields(value, "removed device")
    id = try fields.id("id")
    // A date, up to which the device was remembered.
    if version == Roster.formerVersion { _ = try fields.date("until") }
    var serials: [[UInt8]] = []
    for value in try fields.list("serials", atMost: Limits.revocations) {
      guard let serial = value.data, serial.count <= 20 else {
        throw SegueError(.malformed, "removed device: a serial is not data within its bound")
      }
      serials.append(serial)
    }
    self.serials = serials.suffix(Limits.certificatesPerDevice)
  }

  func write(_ writer: inout ValueWriter) throws(SegueError) {
    try writer.putArray { writer throws(SegueError) in
      try writer.put(id)
      try writer.putArray { writer throws(SegueError) in for serial in serials { try writer.put(data: serial) } }
    }
  }

  /// Takes what another roster knows of the same device, as far as there is room: if an old one went for a new one, the
  /// same two rosters would change each other without end.
  /// - Parameter room: for serials.
  /// - Returns: whether something was taken.
  fileprivate mutating func merge(_ other: RemovedDevice, room: Int) -> Bool {
    let room = min(room, Limits.certificatesPerDevice - serials.count)
    let new = other.serials.filter { serial in !serials.contains { $0.elementsEqual(serial) } }.suffix(max(0, room))
    serials += new
    return !new.isEmpty
  }

  /// Drops the oldest serials.
  /// - Returns: how many there were of as many.
  fileprivate mutating func dropSerials(_ count: Int) -> Int {
    let dropped = min(count, serials.count)
    serials.removeFirst(dropped)
    return dropped
  }
}

/// The devices that were revoked, those revoked last at the end.
struct RemovedDevices: Sendable {
  /// At most `Limits.removedDevices`, with at most `Limits.revocations` serials together.
  private(set) var all: [RemovedDevice] = []

  /// - Parameter version: of the roster. Throws MALFORMED.
  init(_ values: [Value], _ version: UInt64) throws(SegueError) {
    for value in values { all.append(try RemovedDevice(value, version)) }
    dropSerials()
  }

  init() {}

  var isFull: Bool { all.count >= Limits.removedDevices }

  func has(_ device: Identifier) -> Bool { all.contains { $0.id == device } }

  /// Adds a device. Beyond the limit the first that was added is dropped, and still gets in nowhere: it is not listed.
  /// - Returns: whether there was something new, and whether one was dropped.
  @discardableResult
  mutating func add(_ device: RemovedDevice) -> (isNew: Bool, dropsOne: Bool) {
    if let index = all.firstIndex(where: { $0.id == device.id }) {
      let room = Limits.revocations - serials.count
      return (all[index].merge(device, room: room), false)
    }
    all.append(device)
    let surplus = all.count - Limits.removedDevices
    all.removeFirst(max(0, surplus))
    dropSerials()
    return (true, surplus > 0)
  }

  /// Drops the serials of the devices that were revoked first, as many as are too many: a roster with the most devices
  /// of all kinds fits into `Limits.rosterBytes`.
  private mutating func dropSerials() {
    var surplus = serials.count - Limits.revocations
    for index in all.indices where surplus > 0 { surplus -= all[index].dropSerials(surplus) }
  }

  /// All serials, oldest first, for the list of revocations.
  var serials: [[UInt8]] { all.flatMap { $0.serials } }
}
