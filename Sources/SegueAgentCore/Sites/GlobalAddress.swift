// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// Addresses that are routable on the whole Internet (W13): no site has another one, unless its user says so.
public enum GlobalAddress {
  /// - Parameter bytes: the 16 bytes of an IPv6 address; IPv4 as ::ffff:a.b.c.d.
  public static func contains(_ bytes: [UInt8]) -> Bool {
    guard bytes.count == 16 else { return false }
    let isIPv4 = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    return isIPv4 ? containsIPv4(Array(bytes[12...])) : containsIPv6(bytes)
  }

  /// The registry of special addresses of IPv4 (RFC 6890), multicast and what is reserved.
  private static func containsIPv4(_ bytes: [UInt8]) -> Bool {
    switch (bytes[0], bytes[1], bytes[2]) {
    case (0, _, _), (10, _, _), (127, _, _), (224..., _, _): false
    case (100, 64...127, _), (169, 254, _), (172, 16...31, _), (192, 168, _), (198, 18...19, _): false
    case (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 51, 100), (203, 0, 113): false
    default: true
    }
  }

  /// 2000::/3 is all that is global unicast. In it are protocols of the IETF, addresses for documents, and 6to4, which
  /// has an IPv4 address in it. So neither those that map IPv4 nor those that translate it (NAT64) are global.
  private static func containsIPv6(_ bytes: [UInt8]) -> Bool {
    switch (bytes[0], bytes[1], bytes[2], bytes[3]) {
    case (0x20, 0x01, 0x00...0x01, _), (0x20, 0x01, 0x0D, 0xB8), (0x20, 0x02, _, _): false
    case (0x3F, 0xFF, 0x00...0x0F, _): false
    case (0x20...0x3F, _, _, _): true
    default: false
    }
  }
}
