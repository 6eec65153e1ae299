// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueRuntime

/// The hub of this device, at which the agent and the offers that it keeps take part. For the loop.
final class HubParticipation: AgentParticipation {
  private let device: Device

  init(on device: Device) { self.device = device }

  func join(_ engine: AgentEngine) throws(SegueError) -> any AgentParticipantHandle {
    AgentConnection(try AgentParticipant(engine, on: device))
  }

  func join(_ offer: KeptParticipant) throws(SegueError) -> any KeptOfferHandle {
    KeptConnection(try AgentParticipant(offer.engine, on: device) { offer.refuseRequests() })
  }
}

/// The agent itself, on its connection.
private final class AgentConnection: AgentParticipantHandle {
  private let participant: AgentParticipant<AgentEngine>

  init(_ participant: AgentParticipant<AgentEngine>) { self.participant = participant }

  func perform(_ body: (AgentEngine, Instant) -> Void) { participant.perform(body) }
  func close() { participant.close() }
}

/// An offer that the agent keeps, on its connection.
private final class KeptConnection: KeptOfferHandle {
  private let participant: AgentParticipant<AppEngine>

  init(_ participant: AgentParticipant<AppEngine>) { self.participant = participant }

  func perform(_ body: () -> Void) { participant.perform { _, _ in body() } }
  func close() { participant.close() }
}
