// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Decides which addresses a device dials, and when. No I/O, no clock, no randomness: its owner dials what `takeDue`
/// returns, and says how that ended. An address is dialled again after a pause that doubles, for as long as it is
/// static or was announced lately. Addresses that lead to a linked device, or to this one, are left alone for a while:
/// where a connection leads is not up to the device that was there last.
public struct Dialler<Address: Equatable> {
  /// Milliseconds between two attempts at one address, whatever happens there: a beacon that is replayed, or an
  /// address that comes and goes, causes no more (A8).
  public static var leastPause: Int64 { 5_000 }
  /// Milliseconds to the second attempt, and the most between two.
  public static var firstPause: Int64 { 1_000 }
  public static var longestPause: Int64 { 60_000 }
  /// Milliseconds for which an announced address is dialled after its last beacon.
  public static var announcedTime: Int64 { 90_000 }
  /// The most announced addresses (`makeRoom`).
  public static var announcedLimit: Int { 64 }
  /// The same for addresses that were announced under a former epoch, which a revoked device knows, too; the most that
  /// one machine announces, by its ports.
  public static var formerLimit: Int { 16 }
  public static var sourceLimit: Int { 8 }
  /// The most attempts at a time; of those at addresses that were announced under a former epoch; and at addresses that
  /// one machine has announced.
  public static var attemptLimit: Int { 16 }
  public static var formerAttemptLimit: Int { 4 }
  public static var sourceAttemptLimit: Int { 4 }
  /// Milliseconds after which an attempt ends if another address waits for its turn: until the knock is answered, and
  /// from then on. An address that leads nowhere holds up none that does.
  public static var knockPatience: Int64 { 500 }
  public static var linkPatience: Int64 { 1_000 }
  /// The same for all of an attempt at an arranged path, which begins with a program or another device; and the most of
  /// those at a time.
  public static var arrangedPatience: Int64 { 10_000 }
  public static var arrangedAttemptLimit: Int { 4 }
  /// The paths to one device through others.
  public static var relayLimit: Int { 4 }
  /// The addresses of one device that are kept before others.
  public static var deviceLimit: Int { 4 }
  /// Milliseconds until a static address is looked at again that has led to a linked device, or to this one; and the
  /// most between two attempts at an address that a device has told, or at an arranged path.
  public static var recheckPause: Int64 { 300_000 }
  /// Milliseconds between the beginnings of two attempts at one device: the cheapest path begins first (R14.1).
  public static var stagger: Int64 { 250 }
  /// Milliseconds between two moves of a link to another path (R14.1).
  public static var moveInterval: Int64 { 5_000 }
  /// The most attempts at a better path for a linked device, until its addresses or the network change.
  public static var improvementLimit: Int { 3 }

  /// The end of an attempt.
  public enum End: Sendable {
    /// A device is linked by it now, or already was.
    case linked(Identifier)
    /// The address led to this device.
    case own
    /// The other side did not prove the knock key: it may know only an older epoch.
    case silent
    /// The other side did not even ask for the knock, so its epoch is none of the reasons.
    case unreached
    /// The device there does not belong to the account, or no longer.
    case foreign
    /// The device there has a certificate of the account, and is not in the list of devices.
    case unlisted
    /// The user does not want that kind of path used to the device there.
    case avoided(Identifier)
    /// All else.
    case failed
  }

  typealias Target = DialTarget<Address>

  var targets: [Target] = []
  var links = EstablishedLinks<Address>()
  /// The kinds of paths that are not used to a device.
  var avoided: [(device: Identifier, costs: [PathCost])] = []
  var cost: (Address) -> PathCost = { _ in .routed }

  public init() {}

  public var addressCount: Int { targets.count }
  func knows(_ address: Address) -> Bool { index(of: address) != nil }
  /// The place of an address; nil if it is not known.
  func index(of address: Address) -> Int? { targets.firstIndex { $0.address == address } }

  /// Whether it leads to a device to which paths of its kind are not used. One that the user has named again may lead
  /// elsewhere.
  func isAvoided(_ target: Target) -> Bool {
    guard let device = target.device, !target.isDoubted else { return false }
    return isAvoided(target.cost, to: device)
  }

  /// Whether paths of a kind are not used to a device.
  func isAvoided(_ cost: PathCost, to device: Identifier) -> Bool {
    avoided.contains { $0.device == device && $0.costs.contains(cost) }
  }

  /// Whether an address is a path of a kind that is not used to a device.
  public func isAvoided(_ address: Address, to device: Identifier) -> Bool { isAvoided(cost(address), to: device) }
}
