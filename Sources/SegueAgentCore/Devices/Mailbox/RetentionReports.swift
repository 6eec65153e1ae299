// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueWire

/// The last reports of what one device retains for another one (R14.5): those that this device has received, or those
/// that it has sent. A report that says nothing is none.
struct RetentionReports {
  private var offers: [(device: Identifier, states: [RetainedState], problem: SegueError?)] = []
  /// The pushes in the reports.
  private(set) var pushes: [(device: Identifier, states: [KeptPushState])] = []

  /// The last report of, or to, a device; nil: there is none.
  func offers(of device: Identifier) -> (states: [RetainedState], problem: SegueError?)? {
    offers.first { $0.device == device }.map { ($0.states, $0.problem) }
  }

  /// The pushes of the last report of, or to, a device.
  func pushes(of device: Identifier) -> [KeptPushState] { pushes.first { $0.device == device }?.states ?? [] }

  /// Sets the offers of the last report of, or to, a device.
  /// - Parameter problem: why these are not all that are wanted; nil: they are.
  mutating func set(_ states: [RetainedState], _ problem: SegueError?, of device: Identifier) {
    offers.removeAll { $0.device == device }
    if !states.isEmpty || problem != nil { offers.append((device, states, problem)) }
  }

  /// Sets the pushes of the last report of, or to, a device.
  mutating func set(_ states: [KeptPushState], of device: Identifier) {
    pushes.removeAll { $0.device == device }
    if !states.isEmpty { pushes.append((device, states)) }
  }

  /// Forgets those of, or to, other devices.
  mutating func keep(_ devices: [Identifier]) {
    offers.removeAll { !devices.contains($0.device) }
    pushes.removeAll { !devices.contains($0.device) }
  }

  /// Forgets those of, or to, a device.
  mutating func remove(_ device: Identifier) {
    offers.removeAll { $0.device == device }
    pushes.removeAll { $0.device == device }
  }
}
