// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 14 of segue.h: the deletion of saved activities.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

/// The host's callback for a deletion.
private final class HostDeletionCallback: DeletionCallback {
  private let function: segue_deletion_function?
  private let context: Context

  init(_ function: segue_deletion_function?, _ context: Context) {
    self.function = function
    self.context = context
  }

  override func deleted(_ app: App, _ count: Int, _ error: SharedBox<SegueError>?) {
    guard let function else { return }
    let context = self.context.pointer
    _ = handles.lend(app, .app) { app in
      if let error {
        _ = handles.lend(error, .error) { error in function(context, app, 0, error) }
      } else {
        function(context, app, count, nil)
      }
    }
  }
}

@_cdecl("segue_app_delete_saved") @implementation
public func segue_app_delete_saved(
  _ app: OpaquePointer?, _ identifiers: OpaquePointer?, _ function: segue_deletion_function?,
  _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?
) -> segue_status {
  let callback = HostDeletionCallback(function, Context(context, destroy))
  return handles.call(app, .app) { (app) throws(SegueError) in
    _ = try Arguments.required(function, "function")
    try handles.use(identifiers, .value) { (identifiers) throws(SegueError) in
      try app.deleteSaved(try Activity.stringSet(identifiers.value, "persistent_identifiers"), callback)
    }
  }
}

@_cdecl("segue_app_delete_all_saved") @implementation
public func segue_app_delete_all_saved(
  _ app: OpaquePointer?, _ function: segue_deletion_function?, _ context: UnsafeMutableRawPointer?,
  _ destroy: segue_destroy?
) -> segue_status {
  let callback = HostDeletionCallback(function, Context(context, destroy))
  return handles.call(app, .app) { (app) throws(SegueError) in
    _ = try Arguments.required(function, "function")
    try app.deleteSaved(nil, callback)
  }
}
