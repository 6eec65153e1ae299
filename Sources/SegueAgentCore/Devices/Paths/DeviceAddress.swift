// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// An address that the user has given a device (R14.2): IPv4, IPv6 in brackets, with a zone for a link-local one, or a
/// name; and a port, or none: then it is the port that the device itself has told.
public struct DeviceAddress: Equatable {
  public enum Host: Equatable {
    /// Digits. A zone names an interface of this device, which need not be there now.
    case numeric(String)
    case name(DeviceHostName)

    public static func == (left: Host, right: Host) -> Bool {
      switch (left, right) {
      case (.numeric(let one), .numeric(let other)): Text.isSame(one, other)
      case (.name(let one), .name(let other)): Text.isSame(one.text, other.text)
      case (.numeric, _), (.name, _): false
      }
    }
  }

  /// Bytes of its text: a name, a colon and a port.
  static let sizeLimit = DeviceHostName.sizeLimit + 6

  public let host: Host
  /// Nil: that of the device.
  public let port: UInt16?

  /// Reads `192.0.2.7:4711`, `[2001:db8::7]:4711`, `[fe80::7%eth0]:4711`, `laptop.example:4711`, or one of these
  /// without the port. Throws INVALID_ARGUMENT, which says what is wrong.
  public init(_ text: String) throws(SegueError) {
    let wrong = SegueError(
      .invalidArgument,
      "\(text): is no address, such as laptop.example, 192.0.2.7:4711 or [2001:db8::7]:4711")
    var host = Array(text.utf8)[...]
    var port: UInt16?
    let isIPv6 = host.first == UInt8(ascii: "[")
    let colon = host.lastIndex(of: UInt8(ascii: ":"))
    if let colon, !isIPv6 || host[..<colon].last == UInt8(ascii: "]") {
      let digits = String(decoding: host[(colon + 1)...], as: UTF8.self)
      guard let number = UInt16(digits), number > 0, Text.isSame("\(number)", digits) else { throw wrong }
      (port, host) = (number, host[..<colon])
    }
    if isIPv6 {
      guard host.last == UInt8(ascii: "]"), host.count > 2 else { throw wrong }
      host = host.dropFirst().dropLast()
      guard host.contains(UInt8(ascii: ":")) else { throw wrong }
    } else if host.contains(UInt8(ascii: ":")) {
      throw SegueError(.invalidArgument, "\(text): an address of IPv6 stands in brackets, such as [2001:db8::7]:4711")
    }
    let plain = String(decoding: Array(host), as: UTF8.self)
    let withPort = String(joining: isIPv6 ? "[\(plain)]:1" : "\(plain):1")
    if !isIPv6, let name = DeviceHostName(plain) {
      self.host = .name(name)
    } else if !NetworkAddress.isOfInterface(withPort) {
      self.host = .numeric(try NetworkAddress.read(withPort).host)
    } else {
      self.host = .numeric(plain)
    }
    self.port = port
  }

  /// As the user writes it.
  public var text: String {
    let host =
      switch host {
      case .name(let name): name.text
      case .numeric(let digits): digits.utf8.contains(UInt8(ascii: ":")) ? String(joining: "[\(digits)]") : digits
      }
    guard let port else { return host }
    return String(joining: "\(host):\(Int(port))")
  }

  /// The address to dial; nil for a name, without any port, and while its interface is not there.
  /// - Parameter told: the port that the device has told; 0: none.
  func network(told: UInt16) -> NetworkAddress? {
    guard case .numeric(let digits) = host, let port = port ?? (told > 0 ? told : nil) else { return nil }
    return try? NetworkAddress.read(host: digits, port: port)
  }
}
