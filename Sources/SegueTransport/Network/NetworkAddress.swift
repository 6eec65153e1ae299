import CLinux
import SegueModel

/// An IPv4 or IPv6 address with a port.
public struct NetworkAddress: Equatable, Sendable {
  let system: linux_address

  init(_ system: linux_address) { self.system = system }

  /// The 16 bytes of the address; IPv4 as ::ffff:a.b.c.d.
  public var bytes: [UInt8] { withUnsafeBytes(of: system.bytes) { Array($0) } }
  public var port: UInt16 { system.port }

  /// The same address with another port.
  public func with(port: UInt16) -> NetworkAddress {
    var other = system
    other.port = port
    return NetworkAddress(other)
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
    guard let number = UInt16(port), number > 0,
      linux_numeric_address(String(decoding: host, as: UTF8.self), &address) == 1
    else { throw wrong }
    address.port = number
    return NetworkAddress(address)
  }

  /// The same, for people.
  public var text: String {
    var system = system
    var digits = [CChar](repeating: 0, count: 128)
    linux_address_text(&system, &digits, 128)
    let host = digits.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    return linux_is_v4(&system) == 1 ? "\(host):\(port)" : "[\(host)]:\(port)"
  }

  public static func == (left: NetworkAddress, right: NetworkAddress) -> Bool {
    left.port == right.port && left.system.scope == right.system.scope && left.bytes == right.bytes
  }
}
