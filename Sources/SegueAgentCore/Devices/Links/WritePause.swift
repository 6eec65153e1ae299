// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine

/// The pause of a connection after a write that the system has refused: the socket may report that it can be written
/// all the same.
struct WritePause {
  private(set) var isOn = false
  /// Nil before the first pause.
  private var timer: (any AgentTimer)?

  /// Begins it. Without memory for a timer there is no pause: what the socket reports is all there is.
  /// - Parameter owner: its timer is due when the pause is over; it closes the pause before it is released.
  mutating func begin(for owner: any AgentTimerOwner, in environment: any AgentEnvironment) {
    if timer == nil { timer = try? environment.makeTimer(for: owner) }
    isOn = timer != nil
    timer?.set(environment.uptime + HubDriver.writePause)
  }

  /// It is over.
  mutating func end() { isOn = false }

  /// There is no further one.
  func close() { timer?.close() }
}
