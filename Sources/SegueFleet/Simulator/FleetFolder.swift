/// The runtime folder of a device of a fleet: generations of hubs, with their locks, sockets and heartbeats.
final class FleetFolder {
  /// Connections that the system queues for a hub.
  static let usualBacklog = 4096

  /// What a generation has in the folder.
  final class Place {
    let generation: UInt64
    /// Runs the generation, and holds its lock; nil: what is left of it is dead.
    fileprivate(set) var hub: FleetHub?
    /// Whether others find its socket.
    fileprivate(set) var isListed = false
    /// Uptime at which the hub last served somebody; nil: it never has.
    var beatAt: Int64?

    fileprivate init(_ generation: UInt64, _ hub: FleetHub) {
      self.generation = generation
      self.hub = hub
    }
  }

  /// In ascending order of their generations.
  private var places: [Place] = []
  /// It has no path any more: nothing comes into it.
  private var isRemoved = false

  /// - Parameter process: sees also a hub of its own that does not listen yet.
  func highest(for process: FleetProcess) -> Place? { places.last { $0.isListed || $0.hub?.process === process } }

  func place(_ generation: UInt64) -> Place? { places.first { $0.generation == generation } }

  func place(of hub: FleetHub) -> Place? { places.first { $0.hub === hub } }

  func holds(_ place: Place) -> Bool { places.contains { $0 === place } }

  /// The hub that counts; nil: there is none, or nobody listens any more.
  var hub: FleetHub? { places.last { $0.isListed }?.hub }

  func isLocked(_ generation: UInt64) -> Bool { place(generation)?.hub != nil }

  /// A hub locks its generation, which is not locked.
  func lock(for hub: FleetHub) -> Place {
    places.removeAll { $0.generation == hub.generation }
    let place = Place(hub.generation, hub)
    insert(place)
    return place
  }

  private func insert(_ place: Place) {
    places.insert(place, at: places.firstIndex { $0.generation > place.generation } ?? places.count)
  }

  /// Names the socket of a hub that listens: it replaces another of the same generation, and what older ones have left
  /// is removed.
  func list(_ place: Place) {
    guard !isRemoved else { return }
    places.removeAll { $0.generation <= place.generation && $0 !== place }
    // The lock may have been removed meanwhile, and another hub may have locked the generation anew.
    if !holds(place) { insert(place) }
    place.isListed = true
  }

  /// The lock and the socket of a hub that is gone are kept by another.
  func keep(_ generation: UInt64, _ hub: FleetHub) -> Place? {
    guard let place = place(generation), place.isListed, place.hub == nil else { return nil }
    place.hub = hub
    return place
  }

  /// A hub is gone. Its socket stays, and nobody listens there.
  func release(_ hub: FleetHub) {
    guard let place = place(of: hub) else { return }
    place.hub = nil
    if !place.isListed { places.removeAll { $0 === place } }
  }

  /// Removes the files of a generation, and of older ones.
  func remove(upTo generation: UInt64) { places.removeAll { $0.generation <= generation } }

  /// - Parameter isKept: the folder itself stays.
  func removeAll(isKept: Bool) {
    places = []
    isRemoved = !isKept
  }
}
