// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine

/// A timer of an agent in simulated time.
public final class SimulatedTimer: AgentTimer {
  private let environment: any AgentEnvironment
  /// Does something after that many milliseconds, if the agent lives then.
  private let later: (_ milliseconds: Int64, _ body: @escaping () -> Void) -> Void
  /// The owner closes it before it is released. Nil once it is closed.
  private unowned(unsafe) var owner: (any AgentTimerOwner)?
  private var dueAt: Int64?
  /// The uptime of the earliest event that is in the queue.
  private var queuedAt: Int64?

  public init(
    of owner: any AgentTimerOwner, in environment: any AgentEnvironment,
    _ later: @escaping (_ milliseconds: Int64, _ body: @escaping () -> Void) -> Void
  ) {
    (self.environment, self.later, self.owner) = (environment, later, owner)
  }

  public func set(_ uptime: Int64?) {
    // As the timer that ships.
    if let uptime, let dueAt, dueAt <= uptime { return }
    dueAt = uptime
    if let uptime { queue(uptime) }
  }

  private func queue(_ uptime: Int64) {
    guard queuedAt.map({ uptime < $0 }) ?? true else { return }
    queuedAt = uptime
    later(max(0, uptime - environment.uptime)) { [self] in
      guard queuedAt == uptime else { return }
      queuedAt = nil
      guard let dueAt else { return }
      guard dueAt <= environment.uptime else { return queue(dueAt) }
      self.dueAt = nil
      owner?.timerIsDue(self)
    }
  }

  public func close() { (dueAt, owner) = (nil, nil) }
}
