// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueWire

extension App {
  /// Links this device with another.
  /// - Parameter fd: a connected stream socket; owned by this object if the call succeeds.
  public func link(_ fd: Int32, isOfAnyUser: Bool, _ link: LiveLink) throws(SegueError) {
    try self.link(link) { () throws(SegueError) in try environment.takeLink(fd, isOfAnyUser: isOfAnyUser) }
  }

  /// - Parameter take: takes over the connection. Called with the lock.
  public func link(_ link: LiveLink, over take: () throws(SegueError) -> PassedDescriptor) throws(SegueError) {
    monitor.lock()
    defer { unlockAndLog() }
    guard isOpen, let engine else { throw notOpen }
    let number = engine.link(try take(), environment.now)
    link.begin(number, of: self)
    pending.add(number, .link(link))
    drainEngine()
  }
}
