// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

/// The owner of an end of a connection.
enum Owner {
  /// The app of a process, of its connection to the hub.
  case app(FleetProcess)
  /// A hub that has yet to accept it.
  case backlog(FleetHub)
  /// A hub, of one of its connections.
  case hub(FleetHub, HubEngine.PeerNumber)

  var process: FleetProcess {
    switch self {
    case .app(let process): process
    case .backlog(let hub), .hub(let hub, _): hub.process
    }
  }
}

/// Two streams of bytes, one in each direction: between an app and its hub, or between two hubs.
final class Connection {
  /// Bytes in flight in one direction before a writer has to wait, as for a socket on Linux.
  static let capacity = 212_992

  /// Nil within a device.
  let link: DeviceLink?
  /// The owners of ends 0 and 1; nil for a closed end.
  private(set) var owners: [Owner?]
  /// Stream n goes to end n.
  private var streams = [Stream(), Stream()]

  /// The result of one read: bytes, and the descriptor that arrived with the first of them.
  struct Segment {
    var bytes: [UInt8] = []
    var descriptor: PassedDescriptor?
  }

  private struct Stream {
    /// An empty segment is the end of the stream.
    var segments: [Segment] = []
    var first = 0
    var size = 0
    /// The arrival time of the last segment: none overtakes another.
    var lastAt: Int64 = 0
    /// Arrivals that wait for the end of the partition.
    var held = 0
    /// The number of segments that have arrived: the first ones.
    var arrived = 0
    /// Whether a notification of unread bytes is queued for its reader.
    var isRestNotified = false
    var readCount = 0
    /// Whether its reader is not notified of unread bytes for now.
    var isPaused = false
    /// Whether the writer waits for room.
    var isBlocked = false
    var hasEnd = false
    /// Whether the writer is gone, so that a lost segment is not retransmitted.
    var isSaidOnce = false

    /// The reader is gone: drops what is in flight.
    mutating func drop() { self = Stream() }

    /// The number of segments that can be read. Within a device, bytes can be read as soon as they are written.
    func readable(isLocal: Bool) -> Int { isLocal ? segments.count - first : arrived }

    /// Performs one read: bytes of several segments, up to those with a descriptor. Empty at the end; nil if nothing
    /// arrived.
    mutating func read(atMost limit: Int, isLocal: Bool) -> Segment? {
      var more = readable(isLocal: isLocal)
      guard more > 0 else { return nil }
      var segment = take(atMost: limit)
      more -= 1
      while more > 0, segment.descriptor == nil, !segment.bytes.isEmpty, segment.bytes.count < limit,
        !segments[first].bytes.isEmpty
      {
        let next = take(atMost: limit - segment.bytes.count)
        segment.bytes.append(bytes: next.bytes)
        segment.descriptor = next.descriptor
        more -= 1
      }
      return segment
    }

    /// Removes and returns the first segment, or the first part of it. There must be one.
    private mutating func take(atMost limit: Int) -> Segment {
      var segment = Segment()
      guard segments[first].bytes.count <= limit else {
        segment.bytes = Array(segments[first].bytes[..<limit])
        segment.descriptor = segments[first].descriptor
        segments[first].bytes.removeFirst(limit)
        segments[first].descriptor = nil
        size -= limit
        return segment
      }
      swap(&segment, &segments[first])
      first += 1
      arrived = max(0, arrived - 1)
      size -= segment.bytes.count
      if first == segments.count {
        segments.removeAll(keepingCapacity: first <= 64)
        first = 0
      }
      return segment
    }

    /// The number of bytes in flight.
    var sizeUnderWay: Int { segments[(first + arrived)...].reduce(0) { $0 + $1.bytes.count } }

    /// Drops the bytes in flight, which no one retransmits.
    mutating func dropUnderWay() {
      size -= sizeUnderWay
      segments.removeSubrange((first + arrived)...)
      held = 0
      hasEnd = false
    }

    /// Keeps only that many bytes, including those that have arrived.
    mutating func cut(to kept: Int) {
      size = kept
      var room = kept
      var index = first
      while index < segments.count, segments[index].bytes.count <= room {
        room -= segments[index].bytes.count
        index += 1
      }
      guard index < segments.count else { return }
      // An empty segment would mean the end.
      if room > 0 {
        segments[index].bytes.removeLast(segments[index].bytes.count - room)
        index += 1
      }
      segments.removeSubrange(index...)
      arrived = min(arrived, index - first)
    }
  }

  init(_ zero: Owner, _ one: Owner, over link: DeviceLink? = nil) {
    owners = [zero, one]
    self.link = link
  }

  var isWhole: Bool { owners[0] != nil && owners[1] != nil }

  /// Whether each end hears from the other: none is gone, stopped, or behind a partition.
  var isAnswered: Bool {
    [0, 1].allSatisfy { owners[$0].map { !$0.process.isStalled } ?? false && comesThrough($0) }
  }

  /// Sends bytes.
  /// - Parameter descriptor: travels with the first of them.
  /// - Returns: the number of bytes that the buffer accepts.
  func write(
    _ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor? = nil, from end: Int, _ fleet: Fleet
  ) -> Int {
    let target = 1 - end
    // The system of a dead process accepts bytes until the end is noticed.
    let room = Self.capacity - streams[target].size
    guard room >= bytes.count else {
      streams[target].isBlocked = true
      if room > 0 { split(UnsafeRawBufferPointer(rebasing: bytes[0..<room]), descriptor, to: target, fleet) }
      return max(0, room)
    }
    split(bytes, descriptor, to: target, fleet)
    return bytes.count
  }

  /// Segments may be cut anywhere.
  private func split(
    _ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?, to target: Int, _ fleet: Fleet
  ) {
    if let descriptor, owners[target] != nil { unsafeDowncast(descriptor, to: FleetDescriptor.self).leave() }
    guard bytes.count > 1, fleet.random.chance(0.05) else {
      return send(Segment(bytes: Array(bytes), descriptor: descriptor), to: target, fleet)
    }
    let cut = 1 + fleet.random.below(bytes.count - 1)
    let first = Segment(bytes: Array(UnsafeRawBufferPointer(rebasing: bytes[..<cut])), descriptor: descriptor)
    send(first, to: target, fleet)
    send(Segment(bytes: Array(UnsafeRawBufferPointer(rebasing: bytes[cut...]))), to: target, fleet)
  }

  private func send(_ segment: consuming Segment, to target: Int, _ fleet: Fleet) {
    let delay = link == nil ? fleet.random.within(0, 1) : fleet.network.delay(&fleet.random)
    let at = max(streams[target].lastAt, fleet.clock.uptime + delay)
    streams[target].lastAt = at
    streams[target].size += segment.bytes.count
    streams[target].segments.append(segment)
    fleet.push(.arrival(self, target), at: at)
    if link != nil, fleet.random.chance(fleet.network.duplication) {
      // A duplicate arrives, and is dropped.
      fleet.push(.duplicate, at: at + fleet.network.mostDelay)
    }
  }

  /// The next segment has arrived, unless it was lost.
  func arrived(_ end: Int) {
    streams[end].arrived = min(streams[end].arrived + 1, streams[end].segments.count - streams[end].first)
  }

  /// Whether there is something to read at an end, or its end.
  func isReadable(_ end: Int) -> Bool { !streams[end].isPaused && streams[end].readable(isLocal: link == nil) > 0 }

  /// Reads once.
  func read(
    at end: Int, atMost limit: Int, _ fleet: Fleet, _ body: (consuming [UInt8], PassedDescriptor?) -> Void
  ) -> ByteRead {
    guard let segment = streams[end].read(atMost: limit, isLocal: link == nil) else { return .drained }
    streams[end].readCount += 1
    if streams[end].isBlocked { notifyOfRoom(1 - end, fleet) }
    guard !segment.bytes.isEmpty else { return .closed }
    let isFull = segment.bytes.count == limit
    body(segment.bytes, segment.descriptor)
    return isFull ? .full : .drained
  }

  /// The number of reads at an end that returned something.
  func readCount(_ end: Int) -> Int { streams[end].readCount }

  /// The owner of an end has read: notifies it again if bytes are left.
  func notifyOfRest(_ end: Int, _ fleet: Fleet) {
    guard streams[end].arrived > 0, !streams[end].isPaused, !streams[end].isRestNotified, owners[end] != nil else {
      return
    }
    streams[end].isRestNotified = true
    fleet.push(.readable(self, end), at: fleet.clock.uptime)
  }

  /// The notification of `notifyOfRest` is delivered.
  func notifiedOfRest(_ end: Int) { streams[end].isRestNotified = false }

  private func notifyOfRoom(_ end: Int, _ fleet: Fleet) {
    streams[1 - end].isBlocked = false
    fleet.push(.writable(self, end), at: fleet.clock.uptime)
  }

  /// Sets whether the owner of an end is notified of bytes, and when there is room.
  func watch(_ end: Int, reading: Bool, writing: Bool, _ fleet: Fleet) {
    if streams[end].isPaused == reading {
      streams[end].isPaused = !reading
      notifyOfRest(end, fleet)
    }
    streams[1 - end].isBlocked = writing
    guard writing else { return }
    if case .hub(let hub, let number) = owners[end] { hub.isBlocked(number) }
    if streams[1 - end].size < Self.capacity { notifyOfRoom(end, fleet) }
  }

  /// A hub has accepted it.
  func isAccepted(by hub: FleetHub, as number: HubEngine.PeerNumber) { owners[1] = .hub(hub, number) }

  /// The owner of an end has closed it: the other learns that after the bytes in flight.
  func close(_ end: Int, _ fleet: Fleet) {
    guard owners[end] != nil else { return }
    owners[end] = nil
    streams[end].drop()
    finish(1 - end, fleet)
    guard let link else { return }
    (end == 0 ? link.first : link.second).lost(link, self)
  }

  /// The owner of this end learns that the stream has ended.
  func finish(_ end: Int, _ fleet: Fleet) {
    guard owners[end] != nil, !streams[end].hasEnd else { return }
    streams[end].hasEnd = true
    send(Segment(), to: end, fleet)
  }

  /// The owner of an end is gone without notice, as when its device has lost its power. Bytes in flight still arrive
  /// unless a partition stops them.
  func vanish(_ end: Int) {
    owners[end] = nil
    streams[end].drop()
    if link?.isSilent ?? false { streams[1 - end].dropUnderWay() }
    streams[1 - end].isSaidOnce = true
  }

  /// The process at an end dies: some of its last bytes may not have left it.
  func cut(from end: Int, _ fleet: Fleet) {
    // It broke before that, and the notice is in flight.
    guard !streams[1 - end].hasEnd else { return }
    let lost = fleet.random.below(streams[1 - end].sizeUnderWay + 1)
    streams[1 - end].cut(to: streams[1 - end].size - lost)
  }

  // MARK: Silence

  /// A partition begins: what would arrive now arrives later, if the sender retransmits it.
  func hold(_ end: Int) { if streams[end].isSaidOnce { streams[end].dropUnderWay() } else { streams[end].held += 1 } }

  /// Whether what arrives now comes through.
  func comesThrough(_ end: Int) -> Bool { link?.isHeard(at: end) ?? true }

  /// The partition ends: what was held is retransmitted.
  func release(_ fleet: Fleet) {
    for end in [0, 1] where streams[end].held > 0 {
      let at = fleet.clock.uptime + fleet.random.within(1, Network.recoveryTime) + fleet.network.leastDelay
      streams[end].lastAt = max(at, streams[end].lastAt)
      for _ in 0..<streams[end].held { fleet.push(.arrival(self, end), at: at) }
      streams[end].held = 0
    }
  }

  /// The fleet ends: breaks all reference cycles.
  func tearDown() {
    owners = [nil, nil]
    for end in [0, 1] { streams[end].drop() }
  }
}
