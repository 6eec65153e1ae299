import SegueEngine
import SegueModel
import SegueWire

/// A hub of a device of a fleet: its engine and its connections.
final class FleetHub {
  let engine: HubEngine
  let generation: UInt64
  /// Outlives it: the hub ends with its process.
  unowned(unsafe) let process: FleetProcess
  private(set) var isAlive = true

  /// Which end of which connection; never iterated.
  private var connections: [HubEngine.PeerNumber: (connection: Connection, end: Int)] = [:]
  /// The same, in ascending order, to go through.
  private var numbers: [HubEngine.PeerNumber] = []
  private var nextNumber: HubEngine.PeerNumber = 1
  private var deadline: Int64?
  /// Steps of it so far: a hub with many peers is not looked through after each.
  private var steps = 0

  init(_ engine: HubEngine, _ generation: UInt64, in process: FleetProcess) {
    self.engine = engine
    self.generation = generation
    self.process = process
  }

  private var fleet: Fleet { process.fleet }
  private var now: Moment { process.now }
  var peerCount: Int { numbers.count }

  // MARK: Connections

  func takeNumber() -> HubEngine.PeerNumber {
    defer { nextNumber += 1 }
    return nextNumber
  }

  func add(_ connection: Connection, end: Int, as number: HubEngine.PeerNumber) {
    connections[number] = (connection, end)
    numbers.append(number)
  }

  /// An app has connected.
  func accept(_ number: HubEngine.PeerNumber) {
    guard isAlive, connections[number] != nil else { return }
    engine.connected(number, now)
    settle()
  }

  func join(_ connection: Connection, end: Int, as number: HubEngine.PeerNumber) {
    add(connection, end: end, as: number)
    engine.connectedHub(number, now)
    settle()
  }

  func isConnected(_ number: HubEngine.PeerNumber) -> Bool { connections[number] != nil }

  func receive(_ bytes: [UInt8], from number: HubEngine.PeerNumber) {
    engine.receive(bytes, from: number, now)
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
      let peers = engine.takePeersToFlush()
      guard !peers.isEmpty else { break }
      for number in peers { flush(number) }
    }
    for number in engine.takePeersToClose() { close(number) }
    if let next = engine.nextDeadline, deadline.map({ next < $0 }) ?? true {
      deadline = next
      fleet.push(.hubDeadline(self, next), at: next)
    }
    steps += 1
    fleet.check(self, after: steps)
  }

  private func flush(_ number: HubEngine.PeerNumber) {
    guard let (connection, end) = connections[number], let link = engine.link(of: number) else { return }
    while link.takeOutput({ connection.write($0, from: end, fleet) }) {}
    fleet.check(process, link)
    if !link.hasOutput { engine.drained(number, now) }
  }

  private func close(_ number: HubEngine.PeerNumber) {
    guard let (connection, end) = connections.removeValue(forKey: number) else { return }
    if let index = place(of: number) { numbers.remove(at: index) }
    connection.close(end, fleet)
    engine.disconnected(number, now)
    if let link = connection.link { process.device.lost(link, connection) }
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
    for number in numbers {
      guard let (connection, end) = connections[number], connection.owners[1 - end] == nil else { continue }
      while let segment = connection.take(at: end), !segment.isEmpty { receive(segment, from: number) }
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
    fleet.trace(process.device.name, "ends hub", "\(generation) of \(process.name)")
    isAlive = false
    for number in numbers {
      guard let (connection, end) = connections[number] else { continue }
      connection.close(end, fleet)
      if let link = connection.link { process.device.lost(link, connection) }
    }
    forget()
  }

  /// The process is killed in the middle of writing.
  func cut() {
    for number in numbers { if let (connection, end) = connections[number] { connection.cut(from: end, fleet) } }
  }

  /// The device is gone without a word.
  func vanish() {
    isAlive = false
    for number in numbers {
      guard let (connection, end) = connections[number] else { continue }
      connection.vanish(end)
    }
    forget()
  }

  /// The fleet ends.
  func dissolve() {
    isAlive = false
    connections = [:]
  }

  private func forget() {
    connections = [:]
    numbers = []
    process.device.ended(self)
    if process.hub === self { process.hub = nil }
  }
}
