// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The devices that are linked, and the address and the cost of each link.
struct EstablishedLinks<Address: Equatable> {
  /// A link, by whichever end it was dialled.
  struct Link {
    let device: Identifier
    let address: Address
    var cost: PathCost
    /// The uptime since which it is the link.
    let since: Int64
  }

  /// The devices that are linked.
  private var linked: [Identifier] = []
  /// Linked devices of which nothing was heard since the network has changed: their connections may be dead.
  private var suspected: [Identifier] = []
  private var links: [Link] = []

  /// Whether a device is linked, and its connection was not suspected of being dead since something was heard on it.
  func contains(_ device: Identifier) -> Bool { linked.contains(device) }

  /// Whether a device is linked, by a connection that may be dead.
  func suspects(_ device: Identifier) -> Bool { suspected.contains(device) }

  /// The link with a device; nil if it is not linked.
  func link(with device: Identifier?) -> Link? { links.first { $0.device == device } }

  /// A device is linked, by whatever address.
  mutating func add(_ device: Identifier) {
    suspected.removeAll { $0 == device }
    if !linked.contains(device) { linked.append(device) }
  }

  /// The link with a device has ended.
  mutating func remove(_ device: Identifier) {
    linked.removeAll { $0 == device }
    suspected.removeAll { $0 == device }
    links.removeAll { $0.device == device }
  }

  /// The link with a device uses an address from now on.
  mutating func use(_ address: Address, _ cost: PathCost, for device: Identifier, _ uptime: Int64) {
    links.removeAll { $0.device == device }
    links.append(Link(device: device, address: address, cost: cost, since: uptime))
  }

  /// The network has changed: each link may be dead.
  mutating func suspectAll() {
    suspected += linked
    linked = []
  }

  /// Sets what the links cost now.
  mutating func setCosts(_ cost: (Address) -> PathCost) {
    for index in links.indices { links[index].cost = cost(links[index].address) }
  }
}
