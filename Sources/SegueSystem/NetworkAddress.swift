// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// An IPv4 or IPv6 address with a port.
public struct NetworkAddress: Equatable, Sendable {
  public let system: linux_address

  public init(_ system: linux_address) { self.system = system }

  /// An address without port and interface. Nil unless there are 16 bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    var address = linux_address()
    withUnsafeMutableBytes(of: &address.bytes) { $0.copyBytes(from: bytes) }
    system = address
  }

  /// The 16 bytes of the address; IPv4 as ::ffff:a.b.c.d.
  public var bytes: [UInt8] { withUnsafeBytes(of: system.bytes) { Array($0) } }
  public var port: UInt16 { system.port }

  /// The bytes that the addresses of one network share: all of IPv4, the first 64 bits of IPv6, of which one machine
  /// has as many addresses as it likes (RFC 4291 §2.5.4).
  public var prefix: [UInt8] { isIPv4 ? bytes : bytes.prefix(8) + [UInt8](repeating: 0, count: 8) }

  /// The same address with another port.
  public func with(port: UInt16) -> NetworkAddress {
    var other = system
    other.port = port
    return NetworkAddress(other)
  }

  /// The same address without its interface.
  public var withoutInterface: NetworkAddress { with(interface: 0) }

  /// The same address on an interface, by the system's number of that.
  public func with(interface: UInt32) -> NetworkAddress {
    var other = system
    other.scope = interface
    return NetworkAddress(other)
  }

  /// The same addresses on each interface of this device where an address without one may be: a link-local one of IPv6
  /// may be on any of them.
  public func onInterfaces(_ interfaces: [NetworkInterface]) -> [NetworkAddress] {
    guard isLinkLocal, !isIPv4, system.scope == 0 else { return [self] }
    var numbers: [UInt32] = []
    for interface in interfaces where !interface.address.isIPv4 && !numbers.contains(interface.index) {
      numbers.append(interface.index)
    }
    return numbers.map { with(interface: $0) }
  }

  /// Reads `192.0.2.7:4711`, `[2001:db8::7]:4711` or `[fe80::7%eth0]:4711`. Throws INVALID_ARGUMENT for anything else;
  /// names are not looked up.
  public static func read(_ text: String) throws(SegueError) -> NetworkAddress {
    let wrong = SegueError(
      .invalidArgument, "\(text): is no address and port, such as 192.0.2.7:4711 or [fe80::7%eth0]:4711")
    let bytes = Array(text.utf8)
    guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")), !bytes.contains(0) else { throw wrong }
    var host = bytes[..<colon]
    if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(UInt8(ascii: ":")) {
      throw wrong
    }
    let port = String(decoding: bytes[(colon + 1)...], as: UTF8.self)
    var address = linux_address()
    // inet_aton(3) reads "1", "127.1" and "010.0.0.1", too, all as something else than what people mean.
    let isIPv4 = !host.contains(UInt8(ascii: ":"))
    guard let number = UInt16(port), String(number) == port, number > 0, !isIPv4 || isDotted(host),
      linux_numeric_address(String(decoding: host, as: UTF8.self), &address) == 1
    else { throw wrong }
    address.port = number
    let read = NetworkAddress(address)
    guard read.isOfMachine else {
      throw SegueError(.invalidArgument, "\(text): is no address of one machine")
    }
    return read
  }

  /// Whether a text is a link-local address and port of a named interface, which need not be there:
  /// `[fe80::7%eth0]:4711`.
  public static func isOfInterface(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard let zone = bytes.firstIndex(of: UInt8(ascii: "%")), let end = bytes.lastIndex(of: UInt8(ascii: "]")),
      end > zone + 1
    else { return false }
    let plain = String(decoding: bytes[..<zone] + bytes[end...], as: UTF8.self)
    return (try? read(plain))?.isLinkLocal ?? false
  }

  /// Whether a text is four numbers, none with a zero before it.
  private static func isDotted(_ host: ArraySlice<UInt8>) -> Bool {
    let parts = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 4
      && parts.allSatisfy { part in
        let text = String(decoding: part, as: UTF8.self)
        return UInt8(text).map { String($0) == text } ?? false
      }
  }

  /// Not none (0.0.0.0, ::), and not one of many (multicast, 255.255.255.255).
  public var isOfMachine: Bool {
    let bytes = bytes
    if isIPv4 { return bytes[12] != 0 && bytes[12] < 224 }
    return bytes[0] != 0xff && bytes.contains { $0 != 0 }
  }

  /// Reads an address without a port, and adds one. Throws INVALID_ARGUMENT.
  public static func read(host: String, port: UInt16) throws(SegueError) -> NetworkAddress {
    let isIPv6 = host.utf8.contains(UInt8(ascii: ":"))
    return try read(isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)")
  }

  /// The same, for people.
  public var text: String { isIPv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }

  /// The address without the port.
  public var host: String {
    var system = system
    var digits = [CChar](repeating: 0, count: 128)
    linux_address_text(&system, &digits, 128)
    return digits.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
  }

  public var isIPv4: Bool {
    var system = system
    return linux_is_v4(&system) == 1
  }

  /// Whether it means something on one network alone (169.254.0.0/16, fe80::/10).
  public var isLinkLocal: Bool {
    let bytes = bytes
    return isIPv4 ? bytes[12] == 169 && bytes[13] == 254 : bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
  }

  /// Whether it leads to this machine (127.0.0.0/8, ::1).
  public var isLoopback: Bool {
    let bytes = bytes
    return isIPv4 ? bytes[12] == 127 : bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
  }

  public static func == (left: NetworkAddress, right: NetworkAddress) -> Bool {
    left.port == right.port && left.system.scope == right.system.scope && left.bytes == right.bytes
  }
}
