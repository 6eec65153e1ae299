// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A device in the list of its account.
public struct RosterDevice: Sendable {
  /// Derives from its key.
  public let id: Identifier
  /// As its user named it, made fit to be shown.
  public internal(set) var name: String
  /// The name of its system, such as "linux".
  public let platform: String
  /// When it joined: seconds since 1970.
  public let joined: Int64
  /// Whether it has said, with its own key, that it stored what it needs.
  public internal(set) var isConfirmed: Bool
  /// Its certificates, the newest last, at most `Limits.certificatesPerDevice`: those that its revocation lists. (That
  /// it is in the list of devices no more is what shuts it out.)
  private(set) var certificates: [IssuedCertificate]

  func write(_ writer: inout ValueWriter) throws(SegueError) {
    try writer.putArray { writer throws(SegueError) in
      try writer.put(id)
      try writer.put(name)
      try writer.put(platform)
      try writer.put(date: joined)
      try writer.put(isConfirmed)
      try writer.putArray { writer throws(SegueError) in
        for certificate in certificates {
          try writer.putArray { writer throws(SegueError) in
            try writer.put(data: certificate.serial)
            try writer.put(date: certificate.until)
          }
        }
      }
    }
  }

  init(id: Identifier, name: String, platform: String, joined: Int64, certificates: [IssuedCertificate]) {
    self.id = id
    self.name = DisplayName.clean(name)
    self.platform = Self.clean(platform)
    self.joined = joined
    isConfirmed = false
    self.certificates = certificates
  }

  init(_ value: Value) throws(SegueError) {
    var fields = try Fields(value, "roster device")
    id = try fields.id("id")
    name = try fields.name("name")
    platform = Self.clean(try fields.text("platform", atMost: Limits.platform))
    joined = try fields.date("joined")
    isConfirmed = try fields.bool("confirmed")
    certificates = []
    for value in try fields.list("certificates", atMost: Limits.certificatesPerDevice) {
      var fields = try Fields(value, "roster certificate")
      certificates.append(
        IssuedCertificate(serial: try fields.data("serial", atMost: 20), until: try fields.date("until")))
    }
  }

  /// Adds a new certificate. The oldest beyond the limit is forgotten; no date decides that, since a clock may be
  /// wrong.
  mutating func add(_ certificate: IssuedCertificate) {
    certificates.append(certificate)
    certificates.removeFirst(max(0, certificates.count - Limits.certificatesPerDevice))
  }

  /// Takes the certificates that another roster, or the device itself, has.
  /// - Returns: whether there were other ones.
  mutating func take(_ others: [IssuedCertificate]) -> Bool {
    let count = certificates.count
    for other in others where !certificates.contains(where: { $0.serial.elementsEqual(other.serial) }) {
      guard certificates.count < Limits.certificatesPerDevice else { break }
      certificates.insert(other, at: certificates.firstIndex { $0.until > other.until } ?? certificates.count)
    }
    return certificates.count > count
  }

  /// Letters, digits and a few signs.
  static func clean(_ platform: String) -> String {
    var kept: [UInt8] = []
    for byte in platform.utf8 where kept.count < Limits.platform {
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x20, 0x2d, 0x2e, 0x5f: kept.append(byte)
      default: break
      }
    }
    return String(decoding: kept, as: UTF8.self)
  }
}

/// A certificate of a device, as its revocation needs it.
struct IssuedCertificate: Sendable {
  let serial: [UInt8]
  let until: Int64
}
