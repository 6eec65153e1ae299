// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

@testable import SegueFleet
@testable import SegueAgentCore

/// A host that somebody else has in a network: it hears all beacons there, sends them again, there or elsewhere, forges
/// some, answers who dials it, and dials.
final class HostileHost: Host {
  private static let memory = 64

  private unowned let fleet: AccountFleet

  /// The treatment of a connection that it accepts.
  private enum Manner: CaseIterable { case silent, junk, closing, relaying }

  private var beacons: [[UInt8]] = []
  private var wires: [Wire] = []
  /// Invites that somebody has shown around.
  var leaked: [Invite] = []

  init(_ name: String, in fleet: AccountFleet) {
    self.fleet = fleet
    super.init(name, in: fleet)
  }

  /// Settles in a network.
  func settle(in network: Int) { move(to: fleet.newPlace(in: network)) }

  override func heard(_ beacon: [UInt8], from place: Place) {
    beacons.append(beacon)
    if beacons.count > Self.memory { beacons.removeFirst() }
  }

  func replay() {
    guard !beacons.isEmpty else { return }
    fleet.meet("beacons replayed")
    for _ in 0..<8 { multicast(beacons[fleet.random.below(beacons.count)]) }
  }

  func forge() {
    for number in 0..<8 {
      var beacon = beacons.isEmpty ? [] : beacons[fleet.random.below(beacons.count)]
      while beacon.count < Beacon.size { beacon.append(UInt8(truncatingIfNeeded: fleet.random.next())) }
      beacon[number * 4 % Beacon.size] ^= 1 << UInt8(fleet.random.below(8))
      multicast(beacon)
    }
  }

  // MARK: Connections

  override func listens(at port: UInt16) -> Bool { true }

  override func accept(_ wire: Wire, at port: UInt16) {
    fleet.meet("a hostile host dialled")
    wires.append(wire)
    let manner = Manner.allCases[fleet.random.below(Manner.allCases.count)]
    switch manner {
    case .silent: break
    case .junk: wire.send((0..<16).map { _ in UInt8(truncatingIfNeeded: fleet.random.next()) }, from: 1)
    case .closing: wire.close(1)
    case .relaying: relay(wire)
    }
  }

  /// Passes on all that both ends say: to a device that listens in the same network.
  private func relay(_ wire: Wire) {
    let others = fleet.machines.filter { $0.place?.network == place?.network && $0 !== wire.host(0) }
    guard !others.isEmpty, let address = others[fleet.random.below(others.count)].listener,
      let second = dial(address)
    else { return wire.close(1) }
    fleet.meet("a connection relayed")
    wires.append(second)
    wire.open(1) { event in
      switch event {
      case .bytes(let bytes): second.send(bytes, from: 0)
      case .closed, .refused: second.close(0)
      case .connected: break
      }
    }
    second.open(0) { event in
      switch event {
      case .bytes(let bytes): wire.send(bytes, from: 1)
      case .closed, .refused: wire.close(1)
      case .connected: break
      }
    }
  }

  /// Dials a device, and says nothing, or junk.
  func bother(_ address: NetworkAddress) {
    for number in 0..<6 {
      guard let wire = dial(address) else { return }
      wires.append(wire)
      if number % 2 == 0 { wire.send([UInt8](repeating: UInt8(number), count: Knock.answerSize), from: 0) }
    }
  }

  /// Asks to join with an invite that it has seen.
  func join(with invite: Invite, at address: NetworkAddress) {
    let cryptography = StandInCryptography(fleet.signatures, seed: fleet.random.next())
    let context = SimulatedContext(joiningWith: invite, cryptography) { [fleet] in fleet.clock.now.seconds }
    let channel = SecureChannel(joiningWith: invite, nonce: fleet.random.identifier().bytes, context)
    guard let key = try? cryptography.makeKey(), let request = try? cryptography.makeRequest(key: key),
      let nonce = try? cryptography.random(32), let wire = dial(address),
      let hello = try? JoinMessage.hello(
        commitment: JoinTranscript.commitment(to: nonce), request: request, name: "Your new phone", platform: "Linux",
        date: fleet.clock.now.seconds
      ).encoding(),
      let opening = try? JoinMessage.opening(nonce: nonce).encoding()
    else { return }
    fleet.meet("a leaked invite used")
    wires.append(wire)
    var (hasBegun, hasOpened) = (false, false)
    wire.open(0) { event in
      guard case .bytes(let bytes) = event else { return }
      var hasHeard = false
      bytes.withUnsafeBytes { bytes in try? channel.receive(bytes) { _ in hasHeard = true } }
      if channel.isUp, !hasBegun {
        hasBegun = true
        _ = JoinFraming.frame(hello).withUnsafeBytes { try? channel.write($0) }
      }
      if hasHeard, !hasOpened {
        hasOpened = true
        _ = JoinFraming.frame(opening).withUnsafeBytes { try? channel.write($0) }
      }
      wire.send(channel.takeOutput(), from: 0)
    }
  }

  /// Goes away, and with it all that it holds open.
  func leave() {
    for wire in wires where wire.host(0) === self { wire.close(0) }
    for wire in wires where wire.host(1) === self { wire.close(1) }
    wires = []
    move(to: nil)
  }
}
