import SegueDevices
import SegueModel

@testable import SegueFleet
@testable import SegueTrust

/// The location of a machine: one of several networks, and its number there.
struct Place: Equatable {
  let network: Int
  let host: Int

  /// As an invite has it.
  var text: String { "10.\(network).\(host >> 8).\(host & 255)" }
  /// The machine that a datagram or a connection comes from.
  var source: [UInt8] { [10, UInt8(network), UInt8(host >> 8), UInt8(host & 255)] }

  init(network: Int, host: Int) { (self.network, self.host) = (network, host) }

  init?(_ text: String) {
    let parts = text.split(separator: ".").compactMap { Int($0) }
    guard parts.count == 4 else { return nil }
    self.init(network: parts[1], host: parts[2] << 8 | parts[3])
  }
}

/// The place and the port on which a device listens.
struct Address: Equatable {
  let place: Place
  let port: UInt16
}

/// A unit that crosses a connection: the knock as bytes, the stand-in of TLS as values.
enum Packet {
  case knock([UInt8])
  /// TLS: a client's random number; with the key of an invite its identity and a proof, too.
  case hello(random: [UInt8])
  case joinHello(random: [UInt8], identity: [UInt8], proof: [UInt8])
  /// TLS: the server's random number, and what it shows.
  case server(random: [UInt8], certificate: [UInt8], signature: [UInt8])
  case joinServer(random: [UInt8], proof: [UInt8])
  /// TLS: what the client shows.
  case client(certificate: [UInt8], signature: [UInt8])
  case frame(Frame)
  case junk([UInt8])
}

/// A message under TLS.
enum Frame {
  case hello
  case ping
  case pong
  case account([UInt8])
  case join([UInt8])
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

  /// A connection to one of its ports; nil: nobody listens.
  func accept(_ wire: Wire, port: UInt16) -> Bool { false }
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
  private struct End {
    let host: Host
    let place: Place
    var isOpen = true
    var lastAt: Int64 = 0
    var received: (Packet) -> Void = { _ in }
    var closed: () -> Void = {}
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

  /// - Parameters:
  ///   - received: called with what arrives.
  ///   - closed: called once when the other end has closed it.
  func open(_ end: Int, received: @escaping (Packet) -> Void, closed: @escaping () -> Void) {
    ends[end].received = received
    ends[end].closed = closed
  }

  private var isWhole: Bool {
    !isCut && ends.allSatisfy { $0.host.place == $0.place } && ends[0].place.network == ends[1].place.network
  }

  func send(_ packet: Packet, from end: Int) {
    guard ends[end].isOpen else { return }
    deliver(to: 1 - end) { [self] in if ends[1 - end].isOpen { ends[1 - end].received(packet) } }
  }

  /// Closes an end; the other one learns of it.
  func close(_ end: Int) {
    guard ends[end].isOpen else { return }
    release(end)
    deliver(to: 1 - end) { [self] in
      guard ends[1 - end].isOpen else { return }
      let closed = ends[1 - end].closed
      release(1 - end)
      closed()
    }
  }

  private func release(_ end: Int) {
    ends[end].isOpen = false
    ends[end].received = { _ in }
    ends[end].closed = {}
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
