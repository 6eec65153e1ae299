// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The owner of a connection with another device, which is told of its events. For one thread.
public protocol DeviceConnectionOwner: AnyObject {
  /// A connection that is not up has failed; the owner ends it.
  func failed(_ connection: DeviceConnection, _ error: SegueError)
  /// The device at the other end of a dialled connection is authenticated; it knows nothing of this one yet.
  func isAuthenticated(_ connection: DeviceConnection)
  /// TLS is up: it is a link, or a device joins over it.
  func isUp(_ connection: DeviceConnection)
  /// It is closed.
  func ended(_ connection: DeviceConnection)
  /// The other end has proved the knock key.
  func knocked(_ connection: DeviceConnection)
  /// Something was heard on a link that was suspected of being dead.
  func heard(_ connection: DeviceConnection)
  /// The other end has refused the certificate of this device as revoked. It has proved a key of the account, and is
  /// authenticated if this device has dialled it.
  func isRefused(_ connection: DeviceConnection)
}

extension DeviceConnectionOwner {
  public func isAuthenticated(_ connection: DeviceConnection) {}
  public func knocked(_ connection: DeviceConnection) {}
  public func heard(_ connection: DeviceConnection) {}
  public func isRefused(_ connection: DeviceConnection) {}
}
