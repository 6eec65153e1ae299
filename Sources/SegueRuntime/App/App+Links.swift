import SegueEngine
import SegueModel
import SegueTransport

extension App {
  /// Links this device with another.
  /// - Parameter fd: a connected stream socket; owned by this object if the call succeeds.
  public func link(_ fd: Int32, isOfAnyUser: Bool, _ callback: LinkCallback) throws(SegueError) {
    monitor.lock()
    defer { unlockAndLog() }
    guard case .open = state, let engine else { throw notOpen }
    guard asFleetApp == nil else {
      throw SegueError(.invalidState, "app: the devices of a virtual fleet are linked by segue_fleet_device_set_linked")
    }
    let descriptor = OwnedDescriptor(try Socket.take(fd, isOfAnyUser: isOfAnyUser))
    pending.add(engine.link(descriptor, now), .link(callback))
    drainEngine()
  }
}
