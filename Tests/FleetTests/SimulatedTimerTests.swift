// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueFleet
import Testing

/// The timer of an agent in a fleet, which does what the one that ships does (`AgentTimer`).
@Suite struct SimulatedTimerTests {
  /// Its time stands still at 1,000.
  private let environment = TestEnvironment()

  private final class Calls: AgentTimerOwner {
    var events: [() -> Void] = []
    var count = 0

    func timerIsDue(_ timer: any AgentTimer) { count += 1 }

    /// - Returns: the calls of the timer until then.
    func run() -> Int {
      while !events.isEmpty { events.removeFirst()() }
      return count
    }
  }

  @Test func `a later deadline does not put off the one that is set, and none ends it`() {
    let calls = Calls()
    let timer = SimulatedTimer(of: calls, in: environment) { _, body in calls.events.append(body) }
    timer.set(1_000)
    timer.set(1_020)
    #expect(calls.run() == 1)
    timer.set(1_000)
    timer.set(nil)
    #expect(calls.run() == 1)
    timer.set(1_000)
    #expect(calls.run() == 2)
    timer.close()
  }
}
