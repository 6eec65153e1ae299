import SegueEngine
import SegueModel
import SegueTransport

extension App {
  /// Links this device with another.
  /// - Parameter fd: a connected stream socket; owned by this object if the call succeeds.
  public func link(_ fd: Int32, isOfAnyUser: Bool, _ link: LiveLink) throws(SegueError) {
    monitor.lock()
    defer { unlockAndLog() }
    guard isOpen, let engine else { throw notOpen }
    let descriptor = try environment.takeLink(fd, isOfAnyUser: isOfAnyUser)
    let number = engine.link(descriptor, environment.now)
    link.begin(number, of: self)
    pending.add(number, .link(link))
    drainEngine()
  }
}
