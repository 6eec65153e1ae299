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
    try timer.start(on: loop) { [unowned(unsafe) owner, unowned(unsafe) timer] in owner.timerIsDue(timer) }
    return timer
  }

  public func log(_ severity: Severity, _ message: DiagnosticText) { Log.write(severity, message) }
}

extension LoopTimer: AgentTimer {}
extension Device: LinkHub {}
