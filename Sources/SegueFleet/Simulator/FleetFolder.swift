/// The runtime folder of a device of a fleet: generations of hubs, with their locks, sockets and heartbeats.
final class FleetFolder {
  /// The files of a generation.
  final class Place {
    let generation: UInt64
    /// The process that runs the generation and holds its lock; nil if its files are left over.
    fileprivate(set) var hub: FleetHub?
    /// Whether its socket is listed.
    fileprivate(set) var isListed = false
    /// The uptime at which the hub last served an app; nil if it never has.
    var beatAt: Int64?

    fileprivate init(_ generation: UInt64, _ hub: FleetHub) {
      self.generation = generation
      self.hub = hub
    }
  }

  /// Ordered by generation, ascending.
  private var places: [Place] = []

  /// - Parameter process: also sees its own hub that does not listen yet.
  func highest(for process: FleetProcess) -> Place? { places.last { $0.isListed || $0.hub?.process === process } }

  func place(_ generation: UInt64) -> Place? { places.first { $0.generation == generation } }

  func place(of hub: FleetHub) -> Place? { places.first { $0.hub === hub } }

  /// The active hub; nil if there is none, or it no longer listens.
  var hub: FleetHub? { places.last { $0.isListed }?.hub }

  func isLocked(_ generation: UInt64) -> Bool { place(generation)?.hub != nil }

  /// A hub locks its generation, which must not be locked.
  func lock(for hub: FleetHub) -> Place {
    places.removeAll { $0.generation == hub.generation }
    let place = Place(hub.generation, hub)
    places.insert(place, at: places.firstIndex { $0.generation > hub.generation } ?? places.count)
    return place
  }

  /// A hub listens: removes files of older generations.
  func list(_ place: Place) {
    guard places.contains(where: { $0 === place }) else { return }
    place.isListed = true
    places.removeAll { $0.generation < place.generation }
  }

  /// A hub is gone. Its socket stays, without a listener.
  func release(_ hub: FleetHub) {
    guard let place = place(of: hub) else { return }
    place.hub = nil
    if !place.isListed { places.removeAll { $0 === place } }
  }

  /// Removes the files of a generation, and of older ones.
  func remove(upTo generation: UInt64) { places.removeAll { $0.generation <= generation } }

  func removeAll() { places = [] }
}
