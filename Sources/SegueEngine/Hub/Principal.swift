// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The party that is charged for its use of a hub or an origin: a process of this device with all its apps, all links
/// that one process maintains, or a device that pushes. App identifiers are free, processes and devices are not.
///
/// An origin knows the principal of each receiver by its identifier, which comes with `fetch`.
public struct Principal: Hashable, Sendable {
  /// The share of what is there for all that one principal may use at most.
  public static let share = 4

  private enum Kind: UInt64 {
    case process
    case links
    case connection
    case device
  }

  private let kind: Kind
  private let number: UInt64

  private init(_ kind: Kind, _ number: UInt64) {
    self.kind = kind
    self.number = number
  }

  /// - Parameter number: of the process, as the system says (`SO_PEERCRED`).
  public static func process(_ number: Int32) -> Principal {
    Principal(.process, UInt64(truncatingIfNeeded: number))
  }

  /// A connection of which no process is known.
  static func connection(_ number: HubEngine.PeerNumber) -> Principal { Principal(.connection, number) }

  /// Another device of the user, which pushes (R3.15).
  public static func device(_ id: Identifier) -> Principal {
    Principal(.device, id.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
  }

  /// The principal of the links that the same process maintains.
  var ofLinks: Principal { kind == .process ? Principal(.links, number) : self }

  /// The same at each hub of this device, so that an origin knows it again.
  var id: Identifier { Identifier(high: kind.rawValue, low: number) }

  /// The device of a principal that an origin was told of (`Peer.principalID`); nil: it is none of a device.
  static func device(of id: Identifier) -> Identifier? {
    let high = id.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Kind(rawValue: high) == nil ? id : nil
  }
}

/// The number of uses of one resource by each principal. Never iterated.
public final class PrincipalTally {
  private var counts: [Principal: Int] = .init()
  /// The uses of all principals.
  public private(set) var total = 0

  public init() {}

  public subscript(principal: Principal) -> Int { counts[principal, default: 0] }

  public func add(_ principal: Principal) {
    counts[principal, default: 0] += 1
    total += 1
  }

  public func remove(_ principal: Principal) {
    let others = counts[principal, default: 1] - 1
    counts[principal] = others == 0 ? nil : others
    total -= 1
  }
}
