// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 5 of segue.h: apps.
import CSegue
import SegueApp
import SegueEngine
import SegueManifests
import SegueModel
import SegueRuntime
import SegueTransport

extension HandleKind where Object == App {
  public static var app: Self { Self(.app) }
}

@_cdecl("segue_app_create") @implementation
public func segue_app_create(
  _ bundleIdentifier: UnsafePointer<CChar>?, _ length: Int, _ app: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  attempt { () throws(SegueError) in
    let out = try Arguments.required(app, "app")
    let bundleIdentifier = try Arguments.text(
      bundleIdentifier, length, "bundle_identifier", atMost: Limits.identifier)
    try handles.give(App(AppSettings(bundleIdentifier: bundleIdentifier)), .app, to: out)
  }
}

/// Describes the app with a required text.
private func set(
  _ app: OpaquePointer?, _ text: UnsafePointer<CChar>?, _ length: Int, _ name: StaticString, atMost limit: Int,
  _ change: (inout AppSettings, String) throws(SegueError) -> Void
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let text = try Arguments.text(text, length, name, atMost: limit)
    try app.configure { (settings) throws(SegueError) in try change(&settings, text) }
  }
}

private func set(_ app: OpaquePointer?, _ change: (inout AppSettings) throws(SegueError) -> Void) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in try app.configure(change) }
}

@_cdecl("segue_app_set_name") @implementation
public func segue_app_set_name(_ app: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ length: Int) -> segue_status {
  set(app, name, length, "name", atMost: Limits.identifier) { (settings, text) throws(SegueError) in
    try settings.setName(text)
  }
}

@_cdecl("segue_app_set_team_identifier") @implementation
public func segue_app_set_team_identifier(
  _ app: OpaquePointer?, _ team: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  set(app, team, length, "team", atMost: Limits.identifier) { (settings, text) throws(SegueError) in
    try settings.setTeam(text)
  }
}

@_cdecl("segue_app_add_activity_type") @implementation
public func segue_app_add_activity_type(
  _ app: OpaquePointer?, _ type: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  set(app, type, length, "type", atMost: Limits.type) { (settings, text) throws(SegueError) in
    try settings.addType(text)
  }
}

@_cdecl("segue_app_load_manifest") @implementation
public func segue_app_load_manifest(
  _ app: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let path = try Arguments.text(path, length, "path", atMost: AppSettings.folderLimit)
    try Text.check(path, "path", atMost: AppSettings.folderLimit)
    // Before the file is read: an app that is open gets the error whatever the file is.
    var identifier = ""
    try app.configure { (settings) throws(SegueError) in identifier = settings.bundleIdentifier }
    let (manifest, warnings) = try AppManifest.read(path, of: identifier)
    for warning in warnings { Log.write(.info, "manifest \(path): \(warning)") }
    try app.load(manifest)
  }
}

@_cdecl("segue_app_set_chooser") @implementation
public func segue_app_set_chooser(_ app: OpaquePointer?, _ chooser: Bool) -> segue_status {
  set(app) { (settings) throws(SegueError) in settings.isChooser = chooser }
}

@_cdecl("segue_app_set_label") @implementation
public func segue_app_set_label(_ app: OpaquePointer?, _ label: UnsafePointer<CChar>?, _ length: Int) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try app.setLabel(try Arguments.optionalText(label, length, "label", atMost: Limits.label))
  }
}

@_cdecl("segue_app_set_delivery") @implementation
public func segue_app_set_delivery(_ app: OpaquePointer?, _ delivery: segue_delivery) -> segue_status {
  set(app) { (settings) throws(SegueError) in
    guard let delivery = AppSettings.CallbackThread(rawValue: delivery) else {
      throw SegueError(.invalidArgument, "delivery: no such delivery: \(delivery)")
    }
    settings.delivery = delivery
  }
}

@_cdecl("segue_app_set_runtime_folder") @implementation
public func segue_app_set_runtime_folder(
  _ app: OpaquePointer?, _ folder: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  set(app, folder, length, "folder", atMost: AppSettings.folderLimit) { (settings, text) throws(SegueError) in
    try settings.setRuntimeFolder(text)
  }
}

@_cdecl("segue_app_set_offers_frontmost_only") @implementation
public func segue_app_set_offers_frontmost_only(_ app: OpaquePointer?, _ only: Bool) -> segue_status {
  set(app) { (settings) throws(SegueError) in settings.offersFrontmostOnly = only }
}

@_cdecl("segue_app_set_save_policy") @implementation
public func segue_app_set_save_policy(_ app: OpaquePointer?, _ policy: segue_save_policy) -> segue_status {
  set(app) { (settings) throws(SegueError) in
    guard let policy = SavePolicy(rawValue: policy) else {
      throw SegueError(.invalidArgument, "policy: no such save policy: \(policy)")
    }
    settings.savePolicy = policy
  }
}

@_cdecl("segue_app_set_activity_delegate") @implementation
public func segue_app_set_activity_delegate(_ app: OpaquePointer?, _ delegate: OpaquePointer?) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try handles.use(optional: delegate, .activityDelegate) { (delegate) throws(SegueError) in
      app.setActivityDelegate(delegate)
    }
  }
}

@_cdecl("segue_app_set_delegate") @implementation
public func segue_app_set_delegate(_ app: OpaquePointer?, _ delegate: OpaquePointer?) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try handles.use(optional: delegate, .appDelegate) { (delegate) throws(SegueError) in app.setDelegate(delegate) }
  }
}

@_cdecl("segue_app_open") @implementation
public func segue_app_open(_ app: OpaquePointer?) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in try app.open() }
}

@_cdecl("segue_app_close") @implementation
public func segue_app_close(_ app: OpaquePointer?) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in try app.close() }
}

@_cdecl("segue_app_dispatch") @implementation
public func segue_app_dispatch(
  _ app: OpaquePointer?, _ timeout: Int32, _ delivered: UnsafeMutablePointer<Int>?
) -> segue_status {
  let status = handles.call(app, .app) { (app) throws(SegueError) in
    let count = try app.dispatch(timeout: timeout)
    delivered?.pointee = count
  }
  Cancellation.takeEffect()
  return status
}

@_cdecl("segue_app_wake") @implementation
public func segue_app_wake(_ app: OpaquePointer?) -> segue_status {
  handles.callQuietly(app, .app) { app in app.wake() }
}

@_cdecl("segue_app_fd") @implementation
public func segue_app_fd(_ app: OpaquePointer?, _ fd: UnsafeMutablePointer<Int32>?) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let descriptor = try app.descriptor()
    fd?.pointee = descriptor
  }
}

@_cdecl("segue_app_set_foreground") @implementation
public func segue_app_set_foreground(_ app: OpaquePointer?, _ foreground: Bool) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in try app.setForeground(foreground) }
}

@_cdecl("segue_app_get_connection") @implementation
public func segue_app_get_connection(
  _ app: OpaquePointer?, _ connection: UnsafeMutablePointer<segue_connection>?,
  _ problem: UnsafeMutablePointer<segue_status>?, _ message: TextOut, _ messageLength: LengthOut
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let (isReady, found) = app.connectionState
    // The message may quote text of another app.
    let line = found.map { Text.decoded(Text.oneLine($0.message)) }
    try Results.give(line, to: message, length: messageLength)
    connection?.pointee = isReady ? SEGUE_CONNECTION_READY : SEGUE_CONNECTION_SEARCHING
    problem?.pointee = found?.status.rawValue ?? SEGUE_OK
  }
}

@_cdecl("segue_app_get_offers") @implementation
public func segue_app_get_offers(
  _ app: OpaquePointer?, _ offers: UnsafeMutablePointer<OpaquePointer?>?, _ capacity: Int,
  _ count: UnsafeMutablePointer<Int>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let out = try Arguments.required(count, "count")
    guard capacity >= 0 else { throw SegueError(.invalidArgument, "capacity: is more than memory can hold") }
    guard offers != nil || capacity == 0 else { throw SegueError(.invalidArgument, "offers: is NULL") }
    let list = app.offers
    var given = 0
    do throws(SegueError) {
      while let offers, given < min(capacity, list.count) {
        try handles.give(list[given], .offer, to: offers + given)
        given += 1
      }
    } catch {
      // All or nothing.
      for index in 0..<given { _ = handles.release(offers?[index], .offer) }
      throw error
    }
    out.pointee = list.count
  }
}

@_cdecl("segue_app_describe") @implementation
public func segue_app_describe(_ app: OpaquePointer?, _ text: TextOut, _ length: LengthOut) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in try Results.give(app.describe(), to: text, length: length) }
}
