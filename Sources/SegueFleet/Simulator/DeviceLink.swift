// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine

/// Whether two devices are to be linked, and the connection between their hubs.
final class DeviceLink {
  /// Milliseconds from the end of a connection to the next attempt, plus the time of the network.
  static let retryTime: Int64 = 250

  /// Invariant: both devices let go of the link as the fleet ends, which breaks the cycles.
  let first: FleetDevice
  let second: FleetDevice
  var isWanted = true
  /// Whether a partition drops everything, without notice.
  var isSilent = false
  /// The latest connection; its ends may have closed.
  var connection: Connection?
  /// The apps that have asked for the next connection, of the first device and of the second.
  private var requests: (LinkRequest?, LinkRequest?) = (nil, nil)
  /// Whether an attempt is in progress.
  var isJoining = false

  init(_ first: FleetDevice, _ second: FleetDevice) {
    self.first = first
    self.second = second
  }

  /// Whether the hubs of the two devices are connected, as far as they know.
  var isJoined: Bool {
    guard let connection, case .hub(let one, _) = connection.owners[0], case .hub(let two, _) = connection.owners[1]
    else { return false }
    return one === first.hub && two === second.hub
  }

  /// Whether messages of one device reach the other.
  var isUp: Bool { isWanted && !isSilent && isJoined }

  /// Whether messages reach the device at an end.
  func isHeard(at end: Int) -> Bool { !isSilent && (end == 0 ? first.isUp : second.isUp) }

  /// Ends the link; both hubs notice.
  func close(_ fleet: Fleet) {
    connection?.finish(0, fleet)
    connection?.finish(1, fleet)
  }

  /// Breaks the connection, and loses some bytes in flight; both hubs notice.
  func cut(_ fleet: Fleet) {
    guard connection?.isWhole ?? false else { return }
    fleet.trace(first.name, "has its link broken with", second.name)
    connection?.cut(from: 0, fleet)
    connection?.cut(from: 1, fleet)
    close(fleet)
  }

  /// An app of one of the two devices asks for the link.
  func ask(_ request: LinkRequest, of device: FleetDevice) {
    isWanted = true
    if device === first { requests.0 = request } else { requests.1 = request }
  }

  /// Takes the requests of the first and the second device; the next connection has none.
  func takeRequests() -> (LinkRequest?, LinkRequest?) {
    defer { requests = (nil, nil) }
    return requests
  }

  func other(_ device: FleetDevice) -> FleetDevice { device === first ? second : first }
}
