import SegueEngine
import SegueModel
import SegueWire

/// A hub of a device of a fleet: its engine and its connections.
final class FleetHub {
  let engine: HubEngine
  let generation: UInt64
  /// Outlives it: the hub ends with its process.
  unowned(unsafe) let process: FleetProcess
  private let clock: DeviceClock
  /// Outlives all that is in it.
  private unowned(unsafe) let fleet: Fleet
  private(set) var isAlive = true

  /// One of its connections, and which end of it is the hub's.
  private struct Entry {
    let connection: Connection
    let end: Int
  }

  /// In ascending order of their numbers.
  private var entries: [Entry] = []
  /// Theirs, in the same order, to search through.
  private var numbers: [HubEngine.PeerNumber] = []
  private var nextNumber: HubEngine.PeerNumber = 1
  private var deadline: Int64?
  /// Streams that cross links.
  private var ferries: [(crossing: Crossing, socket: FleetSocket)] = []
  /// Steps of it so far: a hub with many peers is not looked through after each.
  private var steps = 0

  init(_ engine: HubEngine, _ generation: UInt64, in process: FleetProcess) {
    self.engine = engine
    self.generation = generation
    self.process = process
    fleet = process.fleet
    clock = process.device.clock
    engine.keepChanges()
  }

  private var now: Moment { clock.now }
  var peerCount: Int { entries.count }

  // MARK: Connections

  func takeNumber() -> HubEngine.PeerNumber {
    defer { nextNumber += 1 }
    return nextNumber
  }

  func add(_ connection: Connection, end: Int, as number: HubEngine.PeerNumber) {
    // Numbers rise.
    entries.append(Entry(connection: connection, end: end))
    numbers.append(number)
  }

  /// An app has connected.
  func accept(_ number: HubEngine.PeerNumber) {
    guard isAlive, isConnected(number) else { return }
    engine.connected(number, now)
    settle()
  }

  /// - Parameter request: the app's that has asked for it.
  func join(_ connection: Connection, end: Int, as number: HubEngine.PeerNumber, for request: LinkRequest?) {
    add(connection, end: end, as: number)
    engine.connectedHub(number, for: request, secret: fleet.drawIdentifier(), now)
    settle()
  }

  func isConnected(_ number: HubEngine.PeerNumber) -> Bool { place(of: number) != nil }

  func receive(_ segment: Connection.Segment, from number: HubEngine.PeerNumber) {
    engine.receive(segment.bytes, with: segment.descriptor, from: number, now)
    settle()
  }

  /// The other end has closed.
  func lost(_ number: HubEngine.PeerNumber) {
    close(number)
    settle()
  }

  /// The writer's buffer has room again.
  func drained(_ number: HubEngine.PeerNumber) {
    flush(number)
    settle()
  }

  /// After it was stopped: room may have come meanwhile.
  func flushAll() {
    for number in numbers { flush(number) }
    settle()
  }

  // MARK: Streams

  /// There may be something to do at the socket of a stream that crosses a link.
  func attend(to socket: FleetSocket) {
    guard let ferry = ferries.first(where: { $0.socket === socket }) else { return }
    carry(ferry.crossing, socket)
    settle()
  }

  /// Sockets have come from apps, or are to go to them.
  private func transferDescriptors() {
    for transfer in engine.takeTransfers() {
      switch transfer {
      case .link(let request, let descriptor):
        guard case .link(let link) = unsafeDowncast(descriptor, to: FleetDescriptor.self).content else {
          engine.refuse(request, SegueError(.malformed, "what came with the message leads nowhere"))
          continue
        }
        link.ask(request, of: process.device)
        process.device.join(link)
      case .outgoing(let crossing, let descriptor):
        guard let socket = unsafeDowncast(descriptor, to: FleetDescriptor.self).takeSocket() else {
          engine.lose(crossing, SegueError(.malformed, "what came with the message is no stream"))
          continue
        }
        ferry(crossing, socket)
      case .incoming(let crossing):
        let (near, far) = FleetSocket.pair(fleet)
        engine.connect(crossing, FleetDescriptor(far))
        ferry(crossing, near)
      }
    }
  }

  @inline(never)
  private func ferry(_ crossing: Crossing, _ socket: FleetSocket) {
    ferries.append((crossing, socket))
    socket.give(to: .hub(self))
    carry(crossing, socket)
  }

  @inline(never)
  private func carry(_ crossing: Crossing, _ socket: FleetSocket) {
    repeat { engine.carry(crossing, socket) } while !crossing.isOver && crossing.mayRead && socket.isReadable
    if crossing.isOver { socket.close() }
  }

  /// - Returns: whether there were any.
  private func carryStreams() -> Bool {
    transferDescriptors()
    guard let crossing = engine.takeCrossing() else { return false }
    if let ferry = ferries.first(where: { $0.crossing === crossing }) { carry(crossing, ferry.socket) }
    ferries.removeAll { $0.socket.isClosed }
    return true
  }

  @inline(never)
  private func closeFerries() {
    for ferry in ferries { ferry.socket.close() }
    ferries = []
  }

  // MARK: The engine

  func tick() {
    deadline = nil
    guard let next = engine.nextDeadline, next <= now.uptime else { return settle() }
    engine.tick(now)
    settle()
    if let next = engine.nextDeadline, next <= now.uptime {
      fleet.report(process.name, "a deadline of the hub that has passed stays due: it would be busy for ever")
    }
  }

  /// False: the deadline was set anew meanwhile.
  func isDue(_ at: Int64) -> Bool { deadline == at }

  func settle() {
    guard isAlive else { return }
    while true {
      while carryStreams() || engine.flushNext({ flush($0, $1) }) {}
      // Those that stay are told of what has gone with those that close.
      let closing = engine.takePeersToClose()
      guard !closing.isEmpty else { break }
      for number in closing { close(number) }
    }
    if let next = engine.nextDeadline, deadline.map({ next < $0 }) ?? true {
      deadline = next
      fleet.push(.hubDeadline(self, next), at: next)
    }
    steps += 1
    fleet.check(self, after: steps)
  }

  private func flush(_ number: HubEngine.PeerNumber) {
    guard let link = engine.link(of: number) else { return }
    flush(number, link)
    if !link.hasOutput { engine.drained(number, now) }
  }

  @inline(never)
  private func flush(_ number: HubEngine.PeerNumber, _ link: Link) {
    guard let place = place(of: number) else { return }
    let (fleet, entry) = (fleet, entries[place])
    while link.takeOutput({ entry.connection.write($0, link.outgoingDescriptor, from: entry.end, fleet) }) {}
    if Fleet.isOverfull(link) { fleet.reportOverfull(link, of: process) }
  }

  private func close(_ number: HubEngine.PeerNumber) {
    guard let place = place(of: number) else { return }
    let entry = entries.remove(at: place)
    numbers.remove(at: place)
    entry.connection.close(entry.end, fleet)
    engine.disconnected(number, now)
    if let link = entry.connection.link { process.device.lost(link, entry.connection) }
  }

  private func place(of number: HubEngine.PeerNumber) -> Int? {
    var low = 0
    var high = numbers.count
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low < numbers.count && numbers[low] == number ? low : nil
  }

  // MARK: Its end

  /// The process closes. What its own app said last is still under way.
  func close() {
    for (number, entry) in zip(numbers, entries)
    where isConnected(number) && entry.connection.owners[1 - entry.end] == nil {
      while let segment = entry.connection.take(at: entry.end), !segment.bytes.isEmpty {
        receive(segment, from: number)
      }
    }
    stepDown()
  }

  /// A hub of a higher generation has taken over.
  func stepDown() {
    engine.stepDown()
    settle()
    end()
  }

  func end() {
    guard isAlive else { return }
    fleet.trace(process.device.name, "ends hub", text: "\(generation) of \(process.name)")
    isAlive = false
    for entry in entries {
      entry.connection.close(entry.end, fleet)
      if let link = entry.connection.link { process.device.lost(link, entry.connection) }
    }
    forget()
  }

  /// The process is killed in the middle of writing.
  func cut() {
    for entry in entries { entry.connection.cut(from: entry.end, fleet) }
  }

  /// The device is gone without a word.
  func vanish() {
    isAlive = false
    for entry in entries { entry.connection.vanish(entry.end) }
    forget()
  }

  /// The fleet ends.
  func dissolve() {
    isAlive = false
    entries = []
    numbers = []
    closeFerries()
  }

  private func forget() {
    entries = []
    numbers = []
    closeFerries()
    process.device.ended(self)
    if process.hub === self { process.hub = nil }
  }
}
