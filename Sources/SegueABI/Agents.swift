// Section 11 of segue.h: the agent.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

@_cdecl("segue_app_set_accepts_waiting") @implementation
public func segue_app_set_accepts_waiting(_ app: OpaquePointer?, _ accepts: Bool) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in app.setAcceptsWaiting(accepts) }
}

@_cdecl("segue_app_launch") @implementation
public func segue_app_launch(
  _ app: OpaquePointer?, _ offer: OpaquePointer?, _ bundle: UnsafePointer<CChar>?, _ length: Int,
  _ timeout: UInt32, _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try handles.use(offer, .offer) { (offer) throws(SegueError) in
      let bundle = try Arguments.optionalText(bundle, length, "bundle_identifier", atMost: Limits.identifier)
      let report = try app.launch(offer.offer, in: bundle, timeout: try Arguments.timeout(timeout))
      try handles.give(report, to: result)
    }
  }
}

@_cdecl("segue_activity_push") @implementation
public func segue_activity_push(
  _ activity: OpaquePointer?, _ bundle: UnsafePointer<CChar>?, _ length: Int, _ timeout: UInt32,
  _ result: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let bundle = try Arguments.optionalText(bundle, length, "bundle_identifier", atMost: Limits.identifier)
    let timeout = try Arguments.timeout(timeout)
    guard let app = activity.app else { throw SegueError(.invalidState, "activity: was made without an app") }
    try handles.give(try app.push(activity, to: bundle, timeout: timeout), to: result)
  }
}

@_cdecl("segue_app_get_inbox") @implementation
public func segue_app_get_inbox(
  _ app: OpaquePointer?, _ entries: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let out = try Arguments.required(entries, "entries")
    try handles.give(try app.inbox(), to: out)
  }
}

@_cdecl("segue_app_get_failures") @implementation
public func segue_app_get_failures(
  _ app: OpaquePointer?, _ failures: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let out = try Arguments.required(failures, "failures")
    try handles.give(try app.unheardFailures(), to: out)
  }
}

@_cdecl("segue_app_drop_entry") @implementation
public func segue_app_drop_entry(_ app: OpaquePointer?, _ continuation: UnsafePointer<UInt8>?) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try app.dropEntry(try Arguments.identifier(continuation, "continuation_id"))
  }
}

@_cdecl("segue_app_retry_entry") @implementation
public func segue_app_retry_entry(_ app: OpaquePointer?, _ continuation: UnsafePointer<UInt8>?) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try app.retryEntry(try Arguments.identifier(continuation, "continuation_id"))
  }
}

@_cdecl("segue_app_withdraw_offer") @implementation
public func segue_app_withdraw_offer(_ app: OpaquePointer?, _ offer: OpaquePointer?) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try handles.use(offer, .offer) { (offer) throws(SegueError) in try app.withdraw(offer.offer) }
  }
}

@_cdecl("segue_app_get_apps") @implementation
public func segue_app_get_apps(
  _ app: OpaquePointer?, _ apps: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let out = try Arguments.required(apps, "apps")
    try handles.give(try app.knownApps(), to: out)
  }
}

@_cdecl("segue_app_get_route") @implementation
public func segue_app_get_route(
  _ app: OpaquePointer?, _ offer: OpaquePointer?, _ route: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try handles.use(offer, .offer) { (offer) throws(SegueError) in
      let out = try Arguments.required(route, "route")
      try handles.give(try app.route(offer.offer), to: out)
    }
  }
}

@_cdecl("segue_activity_get_route") @implementation
public func segue_activity_get_route(
  _ activity: OpaquePointer?, _ route: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let out = try Arguments.required(route, "route")
    guard let app = activity.app else { throw SegueError(.invalidState, "activity: was made without an app") }
    try handles.give(try app.route(activity), to: out)
  }
}

@_cdecl("segue_app_choose") @implementation
public func segue_app_choose(
  _ app: OpaquePointer?, _ type: UnsafePointer<CChar>?, _ typeLength: Int, _ bundle: UnsafePointer<CChar>?,
  _ length: Int
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let type = try Arguments.text(type, typeLength, "type", atMost: Limits.type)
    let bundle = try Arguments.optionalText(bundle, length, "bundle_identifier", atMost: Limits.identifier)
    try app.choose(bundle, for: type)
  }
}
