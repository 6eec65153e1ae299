// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// A route to another hub through a linked one.
final class HubRoute {
  /// The remote hub outlives it, and lists it.
  unowned(unsafe) let destination: RemoteHub
  /// The linked hub outlives it: routes through it are removed with it.
  unowned(unsafe) let peer: Peer
  /// Its position among the routes of that hub.
  private(set) var place = 0
  /// The hops from that hub.
  let hubs: [Identifier]
  let sequence: UInt64
  /// Whether that hub has lost it, and seeks another.
  private(set) var isSought = false

  init(to destination: RemoteHub, by peer: Peer, _ route: Route) {
    self.destination = destination
    self.peer = peer
    hubs = route.hubs
    sequence = route.sequence
  }

  func moved(to place: Int) { self.place = place }
  func noteSought() { isSought = true }

  var isDirect: Bool { hubs.count == 1 }
  /// The bytes that it counts as.
  var cost: Int { 256 + hubs.count * Identifier.size }
}
