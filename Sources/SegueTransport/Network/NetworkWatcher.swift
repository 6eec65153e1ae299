// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// Calls back on the loop when this device gets or loses an address, or an interface its connection.
public final class NetworkWatcher {
  private let fd: Int32
  private var watch: Watch?
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
  public func start(on loop: Loop, _ body: @escaping () -> Void) throws(SegueError) {
    // `close` is called before this object is released.
    watch = try Watch(fd, on: loop) { [unowned(unsafe) self] _, _ in
      linux_drain(self.fd)
      // The system also tells that lifetimes of addresses have changed.
      let now = NetworkInterface.all()
      guard now != self.interfaces else { return }
      self.interfaces = now
      body()
    }
  }

  public func close() {
    watch?.close()
    watch = nil
  }
}
