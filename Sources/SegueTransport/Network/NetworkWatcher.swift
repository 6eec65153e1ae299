// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// Calls back on the loop when this device gets or loses an address, or an interface its connection.
public final class NetworkWatcher {
  private let fd: Int32
  /// Nil before `start` and after `close`.
  private var started: (watch: Watch, changed: () -> Void)?
  /// The addresses at the last look.
  public private(set) var interfaces: [NetworkInterface]

  /// Throws SYSTEM if the system tells no news of networks.
  public convenience init() throws(SegueError) {
    let fd = linux_network_events()
    guard fd >= 0 else { throw .system("news of the network") }
    // After the socket, so that nothing is missed.
    self.init(Descriptors.own(fd), NetworkInterface.all())
  }

  private init(_ fd: Int32, _ interfaces: [NetworkInterface]) {
    self.fd = fd
    self.interfaces = interfaces
  }

  deinit { Descriptors.close(fd) }

  /// Starts to watch, until `close`.
  public func start(on loop: Loop, _ changed: @escaping () -> Void) throws(SegueError) {
    started = (try Watch(fd, on: loop, for: self), changed)
  }

  public func close() {
    started?.watch.close()
    started = nil
  }
}

extension NetworkWatcher: WatchOwner {
  public func watchIsReady(_ watch: Watch, reading: Bool, writing: Bool) {
    linux_drain(fd)
    // The system also tells that lifetimes of addresses have changed.
    let now = NetworkInterface.all()
    guard now != interfaces else { return }
    interfaces = now
    started?.changed()
  }
}
