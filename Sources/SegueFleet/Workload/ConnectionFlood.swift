// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A process that connects to its device's hub many times, and sends nothing.
final class ConnectionFlood {
  private let process: FleetProcess
  private var connections: [Connection] = []

  /// Nil without a hub.
  convenience init?(_ count: Int, on device: FleetDevice) {
    guard let hub = device.hub else { return nil }
    self.init(count, on: device, to: hub)
  }

  private init(_ count: Int, on device: FleetDevice, to hub: FleetHub) {
    process = FleetProcess(String(joining: "\(device.name)/mute"), on: device)
    for _ in 0..<count { connections.append(device.connect(process, to: hub)) }
  }

  /// Connections that the hub has not closed.
  var count: Int { connections.count { $0.owners[1] != nil } }
}
