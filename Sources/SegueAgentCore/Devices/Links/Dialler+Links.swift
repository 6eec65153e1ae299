// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The links, and what their paths say about the addresses.
extension Dialler {
  /// Whether a device is linked, and its connection was not suspected of being dead since something was heard on it.
  public func isLinked(_ device: Identifier) -> Bool { links.contains(device) }

  /// Whether a device that is linked has announced an address that was not known to lead to it, after it was linked: it
  /// has moved there, and may miss the link. A beacon with an address that has led to the device once tells nothing:
  /// the device may miss another one.
  /// - Parameter since: the uptime at which it was linked.
  public func hasMoved(_ device: Identifier, to address: Address, since: Int64) -> Bool {
    guard let target = targets.first(where: { $0.address == address }) else { return false }
    return (target.isDoubted || target.device != device) && target.heardAt > since
  }

  /// Whether an address is a better path to a linked device than that of its link, which is old enough to move (R14.1).
  public func isBetter(_ address: Address, for device: Identifier, _ uptime: Int64) -> Bool {
    guard let link = links.link(with: device) else { return false }
    return cost(address) < link.cost && uptime - link.since >= Self.moveInterval
  }

  /// Whether an address is a worse path than that of the link with a device: true or false if one of the two begins
  /// with another device or a program, and so both ends see the same; nil: it does not matter.
  func isWorse(_ address: Address, for device: Identifier) -> Bool? {
    guard let link = links.link(with: device) else { return nil }
    let cost = cost(address)
    guard (cost >= .relay) != (link.cost >= .relay) else { return nil }
    return cost > link.cost
  }

  /// The connection of a link, by whichever end it was dialled.
  public mutating func uses(_ address: Address, for device: Identifier, _ uptime: Int64) {
    let cost = cost(address)
    links.use(address, cost, for: device, uptime)
    for index in targets.indices where targets[index].device == device && targets[index].cost < cost {
      targets[index].planSoon(uptime)
    }
  }

  /// The last attempt at an address has failed.
  public mutating func note(_ failure: SegueError, at address: Address) {
    if let index = index(of: address) { targets[index].failure = failure }
  }

  /// The addresses that are known for a device, the cheapest first.
  public func paths(to device: Identifier) -> [DialledPath<Address>] {
    let known = targets.filter { $0.device == device }.map {
      DialledPath(
        address: $0.address, cost: $0.cost, isTrying: $0.isTrying, isAvoided: isAvoided($0.cost, to: device),
        failure: $0.obstacle ?? $0.failure)
    }
    return PathCost.all.flatMap { cost in known.filter { $0.cost == cost } }
  }

  /// A device is linked, by whatever address.
  public mutating func linked(_ device: Identifier) { links.add(device) }

  /// Something was heard of a linked device.
  public mutating func heard(_ device: Identifier) { if links.suspects(device) { links.add(device) } }

  /// The link with a device has ended: its addresses are dialled again.
  public mutating func unlinked(_ device: Identifier, _ uptime: Int64, random: UInt32) {
    links.remove(device)
    for index in targets.indices where targets[index].device == device && !targets[index].isTrying {
      targets[index].pause = Self.firstPause
      targets[index].heardAt = max(targets[index].heardAt, uptime)
      targets[index].dueAt = nil
      targets[index].improvements = Self.improvementLimit
      targets[index].planAgain(uptime, random)
    }
  }
}
