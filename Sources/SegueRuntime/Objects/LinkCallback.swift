import SegueModel

/// A link to another device that the host has asked for, with its callback.
open class LinkCallback {
  public init() {}

  /// The link is established.
  open func linked(_ app: App, deviceName: String) {}

  /// Called once, last, without locks; then released.
  open func ended(_ app: App, _ error: Box<SegueError>) {}
}
