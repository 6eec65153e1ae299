// Section 5 of segue.h: links with other devices.
import CSegue
import SegueModel
import SegueRuntime

/// The host's callback for a link.
private final class HostLinkCallback: LinkCallback {
  private let function: segue_link_function?
  private let context: Context

  init(_ function: segue_link_function?, _ context: Context) {
    self.function = function
    self.context = context
  }

  override func linked(_ app: App, deviceName: String) {
    guard let function else { return }
    let length = deviceName.utf8.count
    _ = handles.lend(app, .app) { app in
      deviceName.withCString { name in function(context.pointer, app, name, length, nil) }
    }
  }

  override func ended(_ app: App, _ error: Box<SegueError>) {
    guard let function else { return }
    _ = handles.lend(app, .app) { app in
      handles.lend(error, .error) { error in function(context.pointer, app, nil, 0, error) }
    }
  }
}

@_cdecl("segue_app_link") @implementation
public func segue_app_link(
  _ app: OpaquePointer?, _ fd: Int32, _ flags: UInt32, _ function: segue_link_function?,
  _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?
) -> segue_status {
  let callback = HostLinkCallback(function, Context(context, destroy))
  return handles.call(app, .app) { (app) throws(SegueError) in
    let anyUser = UInt32(SEGUE_LINK_ANY_USER)
    guard flags & ~anyUser == 0 else { throw SegueError(.invalidArgument, "flags: no such flag") }
    try app.link(fd, isOfAnyUser: flags & anyUser != 0, callback)
  }
}
