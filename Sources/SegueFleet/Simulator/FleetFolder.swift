// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The runtime folder of a device of a fleet: generations of hubs, with their locks, sockets and heartbeats.
final class FleetFolder {
  /// Connections that the system queues for a hub.
  static let usualBacklog = 4096

  /// The files of a generation.
  final class Place {
    let generation: UInt64
    /// Differs from those of other places of the folder.
    let number: UInt64
    /// The hub that holds the lock; nil if its process is dead.
    fileprivate(set) var hub: FleetHub?
    /// Whether other processes find its socket.
    fileprivate(set) var isListed = false
    /// The uptime of the last heartbeat; nil if there was none.
    var beatAt: Int64?

    fileprivate init(_ generation: UInt64, _ number: UInt64, _ hub: FleetHub) {
      self.generation = generation
      self.number = number
      self.hub = hub
    }
  }

  /// Ordered by generation, ascending.
  private var places: [Place] = []
  private var lastNumber: UInt64 = 0
  /// Whether the folder was removed from its path, so that no file can be created in it.
  private var isRemoved = false

  /// Returns the highest generation that a process sees: its own hub counts before it listens.
  func highest(for process: FleetProcess) -> Place? { places.last { $0.isListed || $0.hub?.process === process } }

  func place(_ generation: UInt64) -> Place? { places.first { $0.generation == generation } }

  func place(of hub: FleetHub) -> Place? { places.first { $0.hub === hub } }

  func holds(_ place: Place) -> Bool { places.contains { $0 === place } }

  /// The hub of the highest generation; nil if there is none, or its process is dead.
  var hub: FleetHub? { places.last { $0.isListed }?.hub }

  func isLocked(_ generation: UInt64) -> Bool { place(generation)?.hub != nil }

  /// Locks the generation of a hub. Invariant: it is not locked.
  func lock(for hub: FleetHub) -> Place {
    places.removeAll { $0.generation == hub.generation }
    lastNumber += 1
    let place = Place(hub.generation, lastNumber, hub)
    insert(place)
    return place
  }

  private func insert(_ place: Place) {
    places.insert(place, at: places.firstIndex { $0.generation > place.generation } ?? places.count)
  }

  /// Lists the socket of a hub. Replaces another socket of the same generation, and removes older ones.
  func list(_ place: Place) {
    guard !isRemoved else { return }
    places.removeAll { $0.generation <= place.generation && $0 !== place }
    // The lock may have been removed meanwhile, and another hub may have locked the generation anew.
    if !holds(place) { insert(place) }
    place.isListed = true
  }

  /// Gives the lock and the socket of a dead process's hub to another hub object.
  func keep(_ generation: UInt64, _ hub: FleetHub) -> Place? {
    guard let place = place(generation), place.isListed, place.hub == nil else { return nil }
    place.hub = hub
    return place
  }

  /// Releases the lock of a hub. Its socket stays listed, without a listener.
  func release(_ hub: FleetHub) {
    guard let place = place(of: hub) else { return }
    place.hub = nil
    if !place.isListed { places.remove(place) }
  }

  /// Removes the files of a generation, and of older ones.
  func remove(upTo generation: UInt64) { places.removeAll { $0.generation <= generation } }

  /// - Parameter isKept: whether the folder itself stays.
  func removeAll(isKept: Bool) {
    places = []
    isRemoved = !isKept
  }
}
