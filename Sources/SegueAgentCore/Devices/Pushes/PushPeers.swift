// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel

/// The owner of the pushes between this device and others.
protocol DevicePushesOwner: AnyObject {
  /// Sends a message to a device, if it is linked then: in a later turn, as the hub may be in the middle of a call.
  func post(_ message: [UInt8], to device: Identifier)
  /// Returns the name of a device of the account; nil if there is no such device.
  func knownName(of device: Identifier) -> String?
  /// Takes note that a deadline has changed.
  func setTimer()
}

/// The other devices, as the pushes of all directions reach them. For one thread.
final class PushPeers {
  private let environment: any AgentEnvironment
  /// The owner outlives this object's use of it. Nil before `open` and after `close`.
  private unowned(unsafe) var owner: (any DevicePushesOwner)?

  init(in environment: any AgentEnvironment) { self.environment = environment }

  /// Has the owner carry out what follows, until `close`.
  func open(for owner: any DevicePushesOwner) { self.owner = owner }
  /// Calls the owner no longer.
  func close() { owner = nil }

  /// Sends a message to a device, if it is linked.
  func send(_ message: DeviceMessage, to device: Identifier) {
    do throws(SegueError) {
      owner?.post(try message.encoding(), to: device)
    } catch {
      environment.log(.error, "push: \(error.message)")
    }
  }

  /// Returns the name of a device; nil if it is not known.
  func name(of device: Identifier) -> String? { owner?.knownName(of: device) }
  /// Has the owner ask for the next deadline.
  func deadlineChanged() { owner?.setTimer() }
}
