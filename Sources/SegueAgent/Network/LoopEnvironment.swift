// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport

/// The process of the agent, for what decides for it: the loop, the clocks and the log.
public final class LoopEnvironment: AgentEnvironment {
  private let loop: Loop

  public init(_ loop: Loop) { self.loop = loop }

  public var now: Instant { Clock.now }
  public var slept: Int64 { Clock.slept }
  public var deviceName: String { DeviceName.current }
  public func drawIdentifier() throws(SegueError) -> Identifier { try Randomness.identifier() }
  public func drawJitter() -> UInt32 { Randomness.jitter }
  public func post(_ body: @escaping () -> Void) { loop.post(body) }

  public func makeTimer(for owner: any AgentTimerOwner) throws(SegueError) -> any AgentTimer {
    let timer = try LoopTimer()
    try timer.start(on: loop, for: AgentTimerRelay(to: owner))
    return timer
  }

  public func log(_ severity: Severity, _ message: DiagnosticText) { Log.write(severity, message) }
}

/// Tells the owner of an agent's timer that it is due. The timer keeps it, and it the owner, until the timer is closed.
private final class AgentTimerRelay: TimerOwner {
  private let owner: any AgentTimerOwner

  init(to owner: any AgentTimerOwner) { self.owner = owner }

  func timerIsDue(_ timer: LoopTimer) { owner.timerIsDue(timer) }
}

extension LoopTimer: AgentTimer {}
extension Device: LinkHub {}
