// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueWire

extension FleetAgent: AgentParticipation {
  public func join(_ engine: AgentEngine) -> any AgentParticipantHandle {
    let participant = FleetParticipant(engine, in: self) { [self] in
      if let broken = engine.brokenInvariant { fleet.report(name, "\(broken)") }
    }
    ownParticipant = participant
    later(0) { participant.settle() }
    return AgentConnection(participant)
  }

  public func join(_ offer: KeptParticipant) -> any KeptOfferHandle {
    keeps(offer)
    let participant = FleetParticipant(offer.engine, in: self) { offer.refuseRequests() }
    kept.append((offer, participant))
    election?.add(participant, fleet.clock.uptime)
    participant.settle()
    return KeptConnection(participant, of: self)
  }
}

/// The agent itself, at the hub.
private final class AgentConnection: AgentParticipantHandle {
  private let participant: FleetParticipant<AgentEngine>

  init(_ participant: FleetParticipant<AgentEngine>) { self.participant = participant }

  func perform(_ body: (AgentEngine, Instant) -> Void) { participant.perform(body) }
  func close() { participant.close() }
}

/// An offer that an agent keeps, at the hub.
private final class KeptConnection: KeptOfferHandle {
  private let participant: FleetParticipant<AppEngine>
  private let agent: FleetAgent

  init(_ participant: FleetParticipant<AppEngine>, of agent: FleetAgent) {
    (self.participant, self.agent) = (participant, agent)
  }

  func perform(_ body: () -> Void) { participant.perform { _, _ in body() } }

  func close() {
    participant.close()
    agent.kept.removeAll { $0.participant === participant }
  }
}

extension FleetAgent: LinkHub {
  public func addLink(
    of device: Identifier,
    _ make: (_ number: UInt64, _ ready: @escaping (_ isReadable: Bool) -> Void) -> any ByteConnection
  ) throws(SegueError) {
    guard let hub else { throw SegueError(.invalidState, "the agent carries no hub") }
    try hub.addLink(of: device, make)
  }

  public func hub(at number: UInt64) -> Identifier? { hub?.engine.hub(at: number) }
  public func networkChanged() { hub?.call { engine, now in engine.networkChanged(now) } }

  public func setAccountHandler(_ handler: ((_ device: Identifier, _ message: [UInt8]?) -> [UInt8]?)?) {
    carried.accountHandler = handler
    hub?.engine.trustHandler = handler
  }

  public func sendAccount(_ message: [UInt8], to device: Identifier) {
    hub?.call { engine, now in engine.sendAccount(message, to: device, now) }
  }

  public func setRelayHandler(_ handler: ((_ device: Identifier, _ frame: RelayFrame) -> Void)?) {
    carried.relayHandler = handler
    hub?.engine.relayHandler = handler
  }

  public func sendRelay(_ frames: [(frame: RelayFrame, device: Identifier)]) {
    hub?.call { engine, now in engine.sendRelay(frames, now) }
  }

  public func unsent(to device: Identifier) -> Int { hub?.engine.unsent(to: device) ?? 0 }

  public func endLinks(of device: Identifier?, _ error: SegueError) {
    hub?.call { engine, now in engine.endLinks(of: device, error, now) }
  }

  public func setPrivacy(_ isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?) {
    carried.isPrivate = isPrivate
    fleet.checker.disturb(for: InvariantChecker.agreementTime)
    hub?.call { engine, now in engine.setPrivacy(isPrivate, now) }
  }

  public func setRetention(_ retention: (any OfferRetention)?) {
    carried.retention = retention
    hub?.engine.setRetention(retention)
  }

  public func setDevices(_ devices: AccountDevices?) {
    carried.devices = devices
    fleet.expectLinks()
    hub?.call { engine, now in engine.setDevices(devices, now) }
  }
}
