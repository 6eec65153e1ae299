// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine

/// The pause of a connection after a write that the system has refused: the socket may report that it can be written
/// all the same.
struct WritePause {
  private(set) var isOn = false
  /// Nil before the first pause.
  private var timer: (any AgentTimer)?

  /// Begins the pause. Without memory for a timer there is none: the connection then relies on what the socket reports.
  /// - Parameter owner: its timer is due when the pause is over; it closes the pause before it is released.
  mutating func begin(for owner: any AgentTimerOwner, in environment: any AgentEnvironment) {
    if timer == nil { timer = try? environment.makeTimer(for: owner) }
    isOn = timer != nil
    timer?.set(environment.uptime + HubDriver.writePause)
  }

  /// Ends the pause.
  mutating func end() { isOn = false }

  /// Closes the timer. No pause may follow.
  func close() { timer?.close() }
}
