// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The cost of a path to a device (R14.1), the cheapest first. Both ends of a connection find the same cost: it follows
/// from the kind of path, or from the address and the interface: each end has one in the network of the other.
public enum PathCost: UInt8, Comparable, Sendable {
  /// Within one network.
  case neighbour
  /// Over routers.
  case routed
  /// Through a tunnel: a VPN or a tailnet, which itself goes over one of the above.
  case tunnel
  /// Through another device of the account.
  case relay
  /// By a command of the user (R14.4).
  case command

  /// All of them, the cheapest first.
  static var all: [PathCost] { [.neighbour, .routed, .tunnel, .relay, .command] }

  public static func < (left: PathCost, right: PathCost) -> Bool { left.rawValue < right.rawValue }

  /// - Parameter word: as users write it.
  init?(_ word: String) {
    guard let cost = Self.all.first(where: { Text.isSame(word, String(joining: "\($0.word)")) }) else { return nil }
    self = cost
  }

  /// As users read it.
  public var word: StaticString {
    switch self {
    case .neighbour: "same network"
    case .routed: "other network"
    case .tunnel: "tunnel"
    case .relay: "relay"
    case .command: "command"
    }
  }

  /// Their words.
  static func value(of costs: [PathCost]) throws(SegueError) -> Value {
    try .array(costs.map { .string(String(joining: "\($0.word)")) })
  }

  /// - Parameter interfaces: those of this device.
  public static func of(_ path: LinkPath, _ interfaces: [NetworkInterface]) -> PathCost {
    switch path {
    case .address(let address): of(address, interfaces)
    case .relay: .relay
    case .command: .command
    }
  }

  public static func of(_ address: NetworkAddress, _ interfaces: [NetworkInterface]) -> PathCost {
    if isOfTailnet(address) { return .tunnel }
    let near = interfaces.filter { interface in
      if address.isLinkLocal { return interface.index == address.system.scope || address.isIPv4 }
      return network(of: interface.address) == network(of: address)
    }
    if near.isEmpty { return address.isLinkLocal ? .neighbour : .routed }
    return near.allSatisfy { $0.isPointToPoint } ? .tunnel : .neighbour
  }

  /// Whether an address is one that Tailscale and its like give (100.64.0.0/10, fd7a:115c:a1e0::/48).
  public static func isOfTailnet(_ address: NetworkAddress) -> Bool {
    let bytes = address.bytes
    if address.isIPv4 { return bytes[12] == 100 && bytes[13] & 0xC0 == 64 }
    return bytes.starts(with: [0xFD, 0x7A, 0x11, 0x5C, 0xA1, 0xE0])
  }

  /// The first 24 bits of IPv4, the first 64 of IPv6: the usual networks. The length of a prefix is not told to the
  /// other end, which could find another cost by its own.
  private static func network(of address: NetworkAddress) -> [UInt8] {
    let bytes = address.bytes
    return Array(bytes.prefix(address.isIPv4 ? 15 : 8))
  }
}

/// An address of a device, and how attempts at it have ended.
public struct DialledPath<Address: Equatable> {
  public let address: Address
  public let cost: PathCost
  public let isTrying: Bool
  /// Whether the user does not want it used.
  public let isAvoided: Bool
  /// The reason for which the last attempt has failed; nil: it has not, or there was none.
  public let failure: SegueError?
}
