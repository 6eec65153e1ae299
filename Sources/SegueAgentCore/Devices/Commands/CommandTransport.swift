// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// Links through commands of the user (R14.4): programs that the launcher starts in the product, simulated ones in the
/// fleet. For one thread. No call blocks.
public protocol CommandTransport: AnyObject {
  /// The name of a device, for logs.
  var name: ((Identifier) -> String)? { get set }
  /// Reads for which devices the user has set a command.
  /// - Parameter done: called once, in a later turn, unless the agent ends before.
  func find(_ done: @escaping (Result<[DeviceCommand], SegueError>) -> Void)
  /// Begins to start the command of a device; its standard input and output are the connection, which ends with it.
  /// Throws SYSTEM, BUSY, LIMIT_EXCEEDED.
  func start(to device: Identifier) throws(SegueError) -> any LinkSocket
  /// Accepts connections of other devices' commands, which end in this machine, until the listener is closed.
  /// - Parameters:
  ///   - accepted: called with each connection, which the callee owns.
  ///   - hasAccepted: called after those of a turn.
  /// Throws SYSTEM, UNSAFE_FOLDER.
  func listen(
    accepted: @escaping (any LinkSocket) -> Void, hasAccepted: @escaping () -> Void
  ) throws(SegueError) -> any LinkListener
}
