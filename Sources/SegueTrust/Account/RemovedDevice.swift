import SegueModel

/// A device that was revoked. It is remembered as long as a certificate of it may last, also one that another manager
/// had made.
struct RemovedDevice: Sendable {
  let id: Identifier
  /// When the last of its certificates has expired, of any manager: seconds since 1970.
  var until: Int64
  /// Its certificates that are known, for the list of revocations.
  var serials: [[UInt8]]

  init(_ device: RosterDevice, at date: Int64) {
    id = device.id
    serials = device.certificates.map { $0.serial }
    // What a manager has made that this one has not heard of was made before now.
    let latest = min(Instant.lastSecond, date + Limits.certificateLife + Limits.clockTolerance)
    until = device.certificates.reduce(latest) { max($0, $1.until) }
  }

  init(_ value: Value) throws(SegueError) {
    var fields = try Fields(value, "removed device")
    id = try fields.id("id")
    until = try fields.date("until")
    serials = []
    for value in try fields.list("serials", atMost: Limits.revocations) {
      guard let serial = value.data, serial.count <= 20 else {
        throw SegueError(.malformed, "removed device: a serial is not data within its bound")
      }
      serials.append(serial)
    }
  }

  func write(_ writer: inout ValueWriter) throws(SegueError) {
    try writer.putArray { writer throws(SegueError) in
      try writer.put(id)
      try writer.put(date: until)
      try writer.putArray { writer throws(SegueError) in for serial in serials { try writer.put(data: serial) } }
    }
  }

  /// Takes what another roster knows of the same device.
  mutating func merge(_ other: RemovedDevice) {
    until = max(until, other.until)
    for serial in other.serials where !serials.contains(where: { $0.elementsEqual(serial) }) { serials.append(serial) }
  }
}

/// The devices that were revoked, those revoked last at the end.
struct RemovedDevices: Sendable {
  /// At most `Limits.removedDevices`.
  private(set) var all: [RemovedDevice] = []

  /// Throws MALFORMED.
  init(_ values: [Value]) throws(SegueError) { for value in values { all.append(try RemovedDevice(value)) } }

  init() {}

  func has(_ device: Identifier) -> Bool { all.contains { $0.id == device } }

  /// Adds a device; of those beyond the limit the first that was added goes.
  mutating func add(_ device: RemovedDevice) {
    if let index = all.firstIndex(where: { $0.id == device.id }) {
      all[index].merge(device)
    } else {
      all.append(device)
      all.removeFirst(max(0, all.count - Limits.removedDevices))
    }
  }

  /// Forgets those whose certificates have all expired.
  mutating func expire(at date: Int64) { all.removeAll { $0.until < date } }

  /// What the list of revocations has: the certificates of those that were revoked last.
  var serials: [[UInt8]] { all.flatMap { $0.serials }.suffix(Limits.revocations) }
}
