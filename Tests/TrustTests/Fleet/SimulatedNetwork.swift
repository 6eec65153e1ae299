import SegueDevices
import SegueDriver
import SegueModel
import SegueSystem
import SegueWire

@testable import SegueFleet

/// The location of a machine: one of several networks, and its number there.
struct Place: Equatable {
  let network: Int
  let host: Int

  func address(port: UInt16) -> NetworkAddress {
    // All numbers are small.
    (try? NetworkAddress.read("10.\(network).\(host >> 8).\(host & 255):1"))!.with(port: port)
  }

  init(network: Int, host: Int) { (self.network, self.host) = (network, host) }

  init(_ address: NetworkAddress) {
    let bytes = address.bytes
    self.init(network: Int(bytes[13]), host: Int(bytes[14]) << 8 | Int(bytes[15]))
  }
}

/// Something that has an address: a machine of the user, or a hostile one.
class Host {
  unowned let fleet: AccountFleet
  let name: String
  /// Nil: it is in no network.
  fileprivate(set) var place: Place?
  fileprivate(set) var isAwake = true
  /// The actions that came while it slept, and run when it wakes up.
  private var postponed: [() -> Void] = []

  init(_ name: String, in fleet: AccountFleet) {
    self.name = name
    self.fleet = fleet
  }

  /// Whether it listens at a port.
  func listens(at port: UInt16) -> Bool { false }
  /// A connection to a port at which it listens.
  func accept(_ wire: Wire, at port: UInt16) {}
  /// A datagram to the group of beacons.
  func heard(_ beacon: [UInt8], from place: Place) {}

  func move(to place: Place?) { self.place = place }

  func fallAsleep() { isAwake = false }

  func awake() {
    isAwake = true
    let postponed = self.postponed
    self.postponed = []
    for body in postponed { fleet.later(0, body) }
  }

  /// Does something now, or when it wakes up.
  func whenAwake(_ body: @escaping () -> Void) { if isAwake { body() } else { postponed.append(body) } }
}

/// A TCP connection: two ends, in order, and silent from when one of them has moved.
final class Wire {
  /// An event at an end.
  enum Event {
    case connected
    /// Nobody listens at the other end.
    case refused
    case bytes([UInt8])
    case closed
  }

  private struct End {
    let host: Host
    let place: Place
    var isOpen = true
    var lastAt: Int64 = 0
    var handle: (Event) -> Void = { _ in }
  }

  private unowned let fleet: AccountFleet
  private var ends: [End]
  /// Whether an end has moved, or lost its power: nothing arrives any more.
  private var isCut = false

  /// - Parameters:
  ///   - dialler: end 0.
  ///   - listener: end 1.
  init?(_ dialler: Host, _ listener: Host) {
    guard let one = dialler.place, let two = listener.place else { return nil }
    fleet = dialler.fleet
    ends = [End(host: dialler, place: one), End(host: listener, place: two)]
  }

  func host(_ end: Int) -> Host { ends[end].host }
  func place(_ end: Int) -> Place { ends[end].place }

  func open(_ end: Int, _ handle: @escaping (Event) -> Void) { ends[end].handle = handle }

  private var isWhole: Bool {
    !isCut && ends.allSatisfy { $0.host.place == $0.place } && ends[0].place.network == ends[1].place.network
  }

  func send(_ bytes: [UInt8], from end: Int) { send(.bytes(bytes), from: end) }

  func send(_ event: Event, from end: Int) {
    guard ends[end].isOpen else { return }
    deliver(to: 1 - end) { [self] in if ends[1 - end].isOpen { ends[1 - end].handle(event) } }
  }

  /// Closes an end; the other one learns of it.
  func close(_ end: Int) {
    guard ends[end].isOpen else { return }
    send(.closed, from: end)
    release(end)
  }

  private func release(_ end: Int) {
    ends[end].isOpen = false
    ends[end].handle = { _ in }
  }

  /// The power of an end is gone: nobody is told.
  func vanish(_ end: Int) {
    isCut = true
    release(end)
  }

  private func deliver(to end: Int, _ body: @escaping () -> Void) {
    let delay = fleet.network.delay(&fleet.random)
    let at = max(ends[end].lastAt, fleet.clock.uptime + delay)
    ends[end].lastAt = at
    fleet.later(at - fleet.clock.uptime) { [self] in
      guard isWhole else {
        isCut = true
        return
      }
      ends[end].host.whenAwake { if self.isWhole { body() } else { self.isCut = true } }
    }
  }
}

/// Stands for a TCP socket: an end of a wire, which reports events as a loop does, again and again while they last.
final class SimulatedSocket: LinkSocket {
  private let wire: Wire
  private let end: Int
  private let process: SimulatedProcess
  private var isConnecting: Bool
  private(set) var failure: SegueError?
  private var arrived: [UInt8] = []
  private var (hasEnded, isClosed) = (false, false)
  private var wanted = (reading: true, writing: false)
  private var ready: ((_ isReadable: Bool, _ isWritable: Bool) -> Void)?
  /// Whether a report is under way.
  private var isReporting = false

  init(_ wire: Wire, _ end: Int, in process: SimulatedProcess) {
    (self.wire, self.end, self.process) = (wire, end, process)
    isConnecting = end == 0
    wire.open(end) { [unowned self] event in self.handle(event) }
    process.keep(self)
  }

  private func handle(_ event: Wire.Event) {
    switch event {
    case .connected: isConnecting = false
    case .refused:
      isConnecting = false
      failure = SegueError(.system, "nobody listens there")
    case .bytes(let bytes): arrived += bytes
    case .closed: hasEnded = true
    }
    report()
  }

  func start(_ ready: @escaping (_ isReadable: Bool, _ isWritable: Bool) -> Void) {
    self.ready = ready
    report()
  }

  private var events: (isReadable: Bool, isWritable: Bool) {
    (wanted.reading && (!arrived.isEmpty || hasEnded), wanted.writing && !isConnecting)
  }

  private func report() {
    guard !isReporting, !isClosed, ready != nil, events.isReadable || events.isWritable else { return }
    isReporting = true
    process.later(0) { [self] in
      isReporting = false
      guard !isClosed, events.isReadable || events.isWritable else { return }
      ready?(events.isReadable, events.isWritable)
      report()
    }
  }

  func watch(reading: Bool, writing: Bool) {
    wanted = (reading, writing)
    report()
  }

  func read(atMost limit: Int, _ body: (consuming [UInt8], PassedDescriptor?) -> Void) -> ByteRead {
    guard !arrived.isEmpty else { return hasEnded ? .closed : .drained }
    let bytes = Array(arrived.prefix(limit))
    arrived.removeFirst(bytes.count)
    let isFull = bytes.count == limit
    body(bytes, nil)
    return isFull ? .full : .drained
  }

  func write(_ bytes: UnsafeRawBufferPointer, _ descriptor: PassedDescriptor?) -> ByteWrite {
    guard !isClosed, !isConnecting else { return .bytes(0) }
    if bytes.count > 0 { wire.send(Array(bytes), from: end) }
    return .bytes(bytes.count)
  }

  var unread: Int { arrived.count }
  func probe() {}

  func close() {
    guard !isClosed else { return }
    isClosed = true
    ready = nil
    wire.close(end)
    process.release(self)
  }

  /// The process is gone.
  func drop(isPowerLost: Bool) {
    isClosed = true
    ready = nil
    if isPowerLost { wire.vanish(end) } else { wire.close(end) }
  }
}

/// Stands for the networks of a machine.
final class SimulatedTransport: LinkTransport {
  private let machine: Machine
  private let process: SimulatedProcess

  init(_ process: SimulatedProcess) { (self.process, machine) = (process, process.machine) }

  var interfaces: [NetworkInterface] {
    guard let place = machine.place else { return [] }
    return [
      NetworkInterface(index: UInt32(place.network) + 1, canMulticast: true, address: place.address(port: 0))
    ]
  }

  func watchInterfaces(_ changed: @escaping () -> Void) -> any InterfaceWatch {
    let watch = Watch(self, changed)
    process.watches.append(watch)
    return watch
  }

  func listen(
    port: UInt16, accepted: @escaping (any LinkSocket, NetworkAddress) -> Void, hasAccepted: @escaping () -> Void
  ) throws(SegueError) -> any LinkListener {
    let listener = Listener(port == 0 ? machine.port : port, process) { [process] wire in
      accepted(SimulatedSocket(wire, 1, in: process), wire.place(0).address(port: 50_000))
      hasAccepted()
    }
    process.listeners.append(listener)
    return listener
  }

  func dial(_ address: NetworkAddress) throws(SegueError) -> any LinkSocket {
    guard let wire = machine.fleet.dial(address, from: machine) else {
      throw SegueError(.system, "dialling \(address.text): no route to host")
    }
    return SimulatedSocket(wire, 0, in: process)
  }

  func openBeacons(_ heard: @escaping ([UInt8], NetworkAddress) -> Void) -> any BeaconSockets {
    let sockets = Beacons(process, heard)
    process.beacons.append(sockets)
    return sockets
  }

  final class Watch: InterfaceWatch {
    private let transport: SimulatedTransport
    private(set) var interfaces: [NetworkInterface]
    private var changed: (() -> Void)?

    init(_ transport: SimulatedTransport, _ changed: @escaping () -> Void) {
      (self.transport, self.changed) = (transport, changed)
      interfaces = transport.interfaces
    }

    func look() {
      guard interfaces != transport.interfaces else { return }
      interfaces = transport.interfaces
      changed?()
    }

    func close() {
      changed = nil
      transport.process.watches.removeAll { $0 === self }
    }
  }

  final class Listener: LinkListener {
    let port: UInt16
    private let process: SimulatedProcess
    let accept: (Wire) -> Void

    init(_ port: UInt16, _ process: SimulatedProcess, _ accept: @escaping (Wire) -> Void) {
      (self.port, self.process, self.accept) = (port, process, accept)
    }

    func close() { process.listeners.removeAll { $0 === self } }
  }

  final class Beacons: BeaconSockets {
    private let process: SimulatedProcess
    private let heard: ([UInt8], NetworkAddress) -> Void
    private var hasJoined = false

    init(_ process: SimulatedProcess, _ heard: @escaping ([UInt8], NetworkAddress) -> Void) {
      (self.process, self.heard) = (process, heard)
    }

    func join(_ interfaces: [NetworkInterface]) { hasJoined = !interfaces.isEmpty }
    func send(_ beacon: [UInt8]) { if hasJoined { process.machine.fleet.multicast(beacon, from: process.machine) } }
    func hear(_ beacon: [UInt8], from place: Place) { if hasJoined { heard(beacon, place.address(port: 47_470)) } }
    func close() { process.beacons.removeAll { $0 === self } }
  }
}
