// Section 11 of segue.h: saved activities and search.
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

  override func deleted(_ app: App, _ count: Int, _ error: Box<SegueError>?) {
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

@_cdecl("segue_app_search") @implementation
public func segue_app_search(
  _ app: OpaquePointer?, _ query: UnsafePointer<CChar>?, _ queryLength: Int, _ bundle: UnsafePointer<CChar>?,
  _ length: Int, _ limit: Int, _ results: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let out = try Arguments.required(results, "results")
    let query = try Arguments.optionalText(query, queryLength, "query", atMost: Limits.query) ?? ""
    let bundle = try Arguments.optionalText(bundle, length, "bundle_identifier", atMost: Limits.identifier)
    guard 1...1_000 ~= limit else { throw SegueError(.invalidArgument, "limit: must be 1 to 1000") }
    try handles.give(try app.search(query, in: bundle, limit: limit), to: out)
  }
}

@_cdecl("segue_app_open_saved") @implementation
public func segue_app_open_saved(
  _ app: OpaquePointer?, _ found: OpaquePointer?, _ timeout: UInt32, _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try handles.use(found, .value) { (found) throws(SegueError) in
      guard found.value.kind == .dictionary else {
        throw SegueError(.wrongKind, "found: a dictionary is needed, not \(found.value.kind.name)")
      }
      try handles.give(try app.openSaved(found.value, timeout: try Arguments.timeout(timeout)), to: result)
    }
  }
}

@_cdecl("segue_app_forget_saved") @implementation
public func segue_app_forget_saved(
  _ app: OpaquePointer?, _ bundle: UnsafePointer<CChar>?, _ length: Int, _ count: UnsafeMutablePointer<Int>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let bundle = try Arguments.optionalText(bundle, length, "bundle_identifier", atMost: Limits.identifier)
    let deleted = try app.forgetSaved(of: bundle)
    count?.pointee = deleted
  }
}
