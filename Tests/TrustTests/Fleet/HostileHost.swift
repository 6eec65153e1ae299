import SegueDevices
import SegueModel

@testable import SegueFleet
@testable import SegueTrust

/// A host that somebody else has in a network: it hears all beacons there, sends them again, there or elsewhere, forges
/// some, answers who dials it, and dials.
final class HostileHost: Host {
  private static let memory = 64

  /// The treatment of a connection that it accepts.
  private enum Manner: CaseIterable { case silent, junk, closing, relaying }

  private var beacons: [[UInt8]] = []
  private var wires: [Wire] = []
  /// Invites that somebody has shown around.
  var leaked: [Invite] = []

  /// Settles in a network.
  func settle(in network: Int) { move(to: fleet.newPlace(in: network)) }

  override func heard(_ beacon: [UInt8], from place: Place) {
    beacons.append(beacon)
    if beacons.count > Self.memory { beacons.removeFirst() }
  }

  func replay() {
    guard !beacons.isEmpty else { return }
    fleet.meet("beacons replayed")
    for _ in 0..<8 { fleet.multicast(beacons[fleet.random.below(beacons.count)], from: self) }
  }

  func forge() {
    for number in 0..<8 {
      var beacon = beacons.isEmpty ? [] : beacons[fleet.random.below(beacons.count)]
      while beacon.count < Beacon.size { beacon.append(UInt8(truncatingIfNeeded: fleet.random.next())) }
      beacon[number * 4 % Beacon.size] ^= 1 << UInt8(fleet.random.below(8))
      fleet.multicast(beacon, from: self)
    }
  }

  // MARK: Connections

  override func accept(_ wire: Wire, port: UInt16) -> Bool {
    fleet.meet("a hostile host dialled")
    wires.append(wire)
    let manner = Manner.allCases[fleet.random.below(Manner.allCases.count)]
    switch manner {
    case .silent: break
    case .junk: wire.send(.knock((0..<16).map { _ in UInt8(truncatingIfNeeded: fleet.random.next()) }), from: 1)
    case .closing: wire.close(1)
    case .relaying: relay(wire)
    }
    return true
  }

  /// Passes on all that both ends say: to a device that listens in the same network.
  private func relay(_ wire: Wire) {
    let others = fleet.machines.filter { $0.place?.network == place?.network && $0 !== wire.host(0) }
    guard !others.isEmpty, let address = others[fleet.random.below(others.count)].listener,
      let second = fleet.dial(address, from: self, refused: { wire.close(1) })
    else { return wire.close(1) }
    fleet.meet("a connection relayed")
    wires.append(second)
    wire.open(1, received: { second.send($0, from: 0) }, closed: { second.close(0) })
    second.open(0, received: { wire.send($0, from: 1) }, closed: { wire.close(1) })
  }

  /// Dials a device, and says nothing, or junk.
  func bother(_ address: Address) {
    for number in 0..<6 {
      guard let wire = fleet.dial(address, from: self, refused: {}) else { return }
      wires.append(wire)
      if number % 2 == 0 { wire.send(.knock([UInt8](repeating: UInt8(number), count: Knock.answerSize)), from: 0) }
    }
  }

  /// Asks to join with an invite that it has seen.
  func join(with invite: Invite, at address: Address) {
    let cryptography = StandInCryptography(fleet.signatures, seed: fleet.random.next())
    guard let channel = try? SimulatedChannel(joiningWith: invite, cryptography),
      let key = try? cryptography.makeKey(), let request = try? cryptography.makeRequest(key: key),
      let nonce = try? cryptography.random(32), let wire = fleet.dial(address, from: self, refused: {}),
      let hello = try? JoinMessage.hello(
        commitment: JoinTranscript.commitment(to: nonce), request: request, name: "Your new phone", platform: "Linux",
        date: fleet.clock.now.seconds
      ).encoding(),
      let opening = try? JoinMessage.opening(nonce: nonce).encoding()
    else { return }
    fleet.meet("a leaked invite used")
    wires.append(wire)
    var (hasBegun, hasOpened) = (false, false)
    wire.open(
      0,
      received: { [unowned self] packet in
        let frames = (try? channel.receive(packet, at: self.fleet.clock.now.seconds)) ?? []
        for packet in channel.takeOutput() { wire.send(packet, from: 0) }
        if channel.isUp, !hasBegun {
          hasBegun = true
          wire.send(.frame(.join(JoinFraming.frame(hello))), from: 0)
        }
        if !frames.isEmpty, !hasOpened {
          hasOpened = true
          wire.send(.frame(.join(JoinFraming.frame(opening))), from: 0)
        }
      }, closed: {})
  }

  /// Goes away, and with it all that it holds open.
  func leave() {
    for wire in wires where wire.host(0) === self { wire.close(0) }
    for wire in wires where wire.host(1) === self { wire.close(1) }
    wires = []
    move(to: nil)
  }
}
