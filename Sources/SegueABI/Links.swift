// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 5 of segue.h: links with other devices.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension HandleKind where Object == LiveLink {
  static var link: Self { Self(.link) }
}

/// A link of the host.
private final class HostLink: LiveLink {
  private let function: segue_link_function?
  private var context: Context?

  init(_ function: segue_link_function?, _ context: Context) {
    self.function = function
    self.context = context
    super.init()
  }

  override func forget() { context = nil }

  override func linked(_ app: App, deviceName: String) {
    guard let function, let context else { return }
    let name = Text.terminated(deviceName)
    _ = handles.lend(app, .app) { app in
      function(context.pointer, app, name, name.count - 1, nil)
    }
  }

  override func ended(_ app: App, _ error: SharedBox<SegueError>) {
    guard let function, let context else { return }
    _ = handles.lend(app, .app) { app in
      handles.lend(error, .error) { error in function(context.pointer, app, nil, 0, error) }
    }
  }
}

@_cdecl("segue_app_link") @implementation
public func segue_app_link(
  _ app: OpaquePointer?, _ fd: Int32, _ flags: UInt32, _ function: segue_link_function?,
  _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?, _ link: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  let made = HostLink(function, Context(context, destroy))
  return handles.call(app, .app) { (app) throws(SegueError) in
    let anyUser = UInt32(SEGUE_LINK_ANY_USER)
    guard flags & ~anyUser == 0 else { throw SegueError(.invalidArgument, "flags: no such flag") }
    // Created first: once the link is asked for, its callback runs.
    let handle = try link.map { (_) throws(SegueError) in try handles.make(made as LiveLink, .link) }
    do throws(SegueError) {
      try app.link(fd, isOfAnyUser: flags & anyUser != 0, made)
    } catch {
      if let handle { _ = handles.release(handle, .link) }
      throw error
    }
    if let handle { link?.pointee = handle }
  }
}

@_cdecl("segue_link_cancel") @implementation
public func segue_link_cancel(_ link: OpaquePointer?) -> segue_status {
  handles.call(link, .link) { $0.cancel() }
}
