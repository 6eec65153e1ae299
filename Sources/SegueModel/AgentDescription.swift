// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The agent that carries a hub, as the hub's welcome describes it (docs/agent.md).
public struct AgentDescription: Sendable {
  /// The version of its program, for people: "0.1.0".
  public let version: String
  /// The services of the agent besides carrying the hub: a sum of bits. Readers ignore bits that they do not know.
  public let capabilities: UInt64
  /// The app as which the agent takes part in continuations, and to which apps send what can be searched (R8.1); nil if
  /// it does not.
  public let participant: Identifier?

  public init(version: String, capabilities: UInt64, participant: Identifier? = nil) {
    self.version = version
    self.capabilities = capabilities
    self.participant = participant
  }
}
