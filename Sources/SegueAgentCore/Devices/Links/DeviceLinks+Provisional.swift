// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem

/// Devices that show a certificate of the account, and that the roster does not list: none of them gets a session of
/// the hub (docs/trust.md, "Devices that are not listed").
extension DeviceLinks {
  /// Tells such a device which roster this one has, and hears what it brings.
  func hold(_ connection: DeviceConnection) {
    guard let shown = connection.shown, let greeting = owner.greeting, !connection.isAttached else {
      // It was listed when the hub got the connection.
      return failed(connection, Self.unlisted)
    }
    if provisional.count >= ProvisionalLink.limit, let oldest = provisional.first { turnAway(oldest, Self.unlisted) }
    let held = ProvisionalLink(connection, shown, of: self, at: environment.uptime)
    provisional.append(held)
    table.hold(connection.number, until: environment.uptime + ProvisionalLink.time)
    environment.log(.info, "the device at \(connection.path.text) is not in the list of devices")
    held.begin(greeting)
    act()
  }

  /// Such a device says something about the account.
  func heard(_ message: [UInt8], over held: ProvisionalLink) {
    held.waits(at: environment.uptime)
    owner.heardUnlisted(message, from: held.shown) { [self] in
      let waited = held.judged(at: environment.uptime)
      // The time of the store is not the other device's.
      guard provisional.contains(where: { $0 === held }) else { return }
      table.extend(held.connection.number, by: waited)
      act()
    }
  }

  /// The list of devices has changed.
  func judge(_ held: ProvisionalLink) {
    let connection = held.connection
    guard let peer = connection.peer else { return }
    if connection.isRevoked(by: keys.context) { return turnAway(held, Self.unlisted) }
    guard keys.context.lists(peer.device) else { return }
    provisional.removeAll { $0 === held }
    held.release()
    link(connection, with: peer, isAttached: false)
  }

  /// Its time is over. A roster that is being stored may list its device.
  func overdue(_ held: ProvisionalLink, _ uptime: Int64) {
    guard held.waiting == 0 || uptime >= held.endsAt else {
      return table.hold(held.connection.number, until: uptime + ProvisionalLink.storeTime)
    }
    turnAway(held, Self.unlisted)
  }

  /// Leaves its address alone for a while, unless the list of devices changes.
  func turnAway(_ held: ProvisionalLink, _ error: SegueError) {
    held.close()
    provisional.removeAll { $0 === held }
    environment.log(.info, "no link with \(held.connection.path.text): \(error.message)")
    end(held.connection, .unlisted)
    owner.unlistedWasTurnedAway(held.shown)
  }

  /// The other end has refused the certificate of this device as revoked.
  public func isRefused(_ connection: DeviceConnection) {
    // A device that has itself been removed knows a key, too: while others link with this one, its word does not count.
    guard connection.peer != nil || table.devices.isEmpty else { return }
    owner.linkWasRefused(by: connection.peer?.device)
  }

  static var revoked: SegueError {
    SegueError(.notAllowed, "the other device's certificate was revoked meanwhile")
  }

  static func other(_ device: Identifier) -> SegueError {
    SegueError(.notAllowed, "leads to another device of the account (\(device.fingerprint))")
  }

  static var unlisted: SegueError {
    SegueError(.notAllowed, "the device has a certificate of the account, and is not in its list of devices")
  }
}
