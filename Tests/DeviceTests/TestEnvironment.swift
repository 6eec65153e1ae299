// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

@testable import SegueAgentCore

/// An environment whose time a test sets.
final class TestEnvironment: AgentEnvironment {
  private final class Timer: AgentTimer {
    var dueAt: Int64?
    weak var owner: (any AgentTimerOwner)?

    init(of owner: any AgentTimerOwner) { self.owner = owner }
    func set(_ uptime: Int64?) {
      if let uptime, let dueAt, dueAt <= uptime { return }
      dueAt = uptime
    }
    func close() { (dueAt, owner) = (nil, nil) }
  }

  private(set) var now = Instant(uptime: 0, date: 1_700_000_000)
  let slept: Int64 = 0
  let deviceName = "desk"
  private var drawn: UInt64 = 0
  private var timers: [Timer] = []
  private var posted: [() -> Void] = []

  func drawIdentifier() -> Identifier {
    drawn += 1
    return Identifier(high: 0, low: drawn)
  }

  func drawJitter() -> UInt32 { 0 }
  func post(_ body: @escaping () -> Void) { posted.append(body) }
  func log(_ severity: Severity, _ message: DiagnosticText) {}

  func makeTimer(for owner: any AgentTimerOwner) -> any AgentTimer {
    let timer = Timer(of: owner)
    timers.append(timer)
    return timer
  }

  /// Runs what was posted, until nothing is.
  func runPosted() {
    while !posted.isEmpty {
      let bodies = posted
      posted = []
      for body in bodies { body() }
    }
  }

  /// Lets time pass, and calls the timers that are due by then.
  func advance(to uptime: Int64) {
    now = Instant(uptime: uptime, date: now.date)
    for timer in timers where timer.dueAt.map({ $0 <= uptime }) ?? false {
      timer.dueAt = nil
      timer.owner?.timerIsDue(timer)
    }
    runPosted()
  }
}
