// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// An environment whose time stands still.
final class TestEnvironment: AgentEnvironment {
  private final class Timer: AgentTimer {
    func set(_ uptime: Int64?) {}
    func close() {}
  }

  let now = Instant(uptime: 1_000, date: 1_700_000_000)
  let slept: Int64 = 0
  let deviceName = "desk"
  private var drawn: UInt64 = 0

  func drawIdentifier() -> Identifier {
    drawn += 1
    return Identifier(high: 0, low: drawn)
  }

  func drawJitter() -> UInt32 { 0 }
  func post(_ body: @escaping () -> Void) {}
  func makeTimer(for owner: any AgentTimerOwner) -> any AgentTimer { Timer() }
  func log(_ severity: Severity, _ message: DiagnosticText) {}
}
