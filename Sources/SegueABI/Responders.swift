// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 11 of segue.h: responders. The app's did_update: AppDelegates.swift.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension HandleKind where Object == HostResponder {
  static var responder: Self { Self(.responder) }
}

/// An object of the host.
final class HostResponder: LiveResponder {
  private let onUpdate: segue_will_save_function?
  fileprivate let onRestore: segue_restore_state_function?
  private(set) var context: Context?

  init(
    of app: App, _ onUpdate: segue_will_save_function?, _ onRestore: segue_restore_state_function?, _ context: Context
  ) {
    self.onUpdate = onUpdate
    self.onRestore = onRestore
    self.context = context
    super.init(of: app)
  }

  override func destroy() { context = nil }

  override var updates: Bool { onUpdate != nil }

  override func update(_ activity: LiveActivity, _ save: PendingSave) -> Reply {
    handles.call(onUpdate, "update_state", context?.pointer, activity, save)
  }

  override var restores: Bool { onRestore != nil }

  override func restore(_ activity: LiveActivity) -> Bool {
    guard let onRestore else { return false }
    let context = self.context?.pointer
    return handles.lend(activity, .activity) { activity in onRestore(context, activity) } ?? false
  }
}

@_cdecl("segue_responder_create") @implementation
public func segue_responder_create(
  _ app: OpaquePointer?, _ update: segue_will_save_function?, _ restore: segue_restore_state_function?,
  _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?, _ responder: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  let context = Context(context, destroy)
  return handles.call(app, .app) { (app) throws(SegueError) in
    let out = try Arguments.required(responder, "responder")
    let made = HostResponder(of: app, update, restore, context)
    try app.add(made)
    do throws(SegueError) {
      try handles.give(made, .responder, to: out)
    } catch {
      made.lastHandleReleased()
      throw error
    }
  }
}

@_cdecl("segue_responder_set_activity") @implementation
public func segue_responder_set_activity(_ responder: OpaquePointer?, _ activity: OpaquePointer?) -> segue_status {
  handles.call(responder, .responder) { (responder) throws(SegueError) in
    try handles.use(optional: activity, .activity) { (activity) throws(SegueError) in
      try responder.app.setActivity(activity, of: responder)
    }
  }
}

@_cdecl("segue_responder_get_activity") @implementation
public func segue_responder_get_activity(
  _ responder: OpaquePointer?, _ activity: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(responder, .responder) { (responder) throws(SegueError) in
    let out = try Arguments.required(activity, "activity")
    guard let found = responder.app.activity(of: responder) else { return out.pointee = nil }
    try handles.give(found, .activity, to: out)
  }
}

@_cdecl("segue_responder_set_next") @implementation
public func segue_responder_set_next(_ responder: OpaquePointer?, _ next: OpaquePointer?) -> segue_status {
  handles.call(responder, .responder) { (responder) throws(SegueError) in
    try handles.use(optional: next, .responder) { (next) throws(SegueError) in
      try responder.app.setNext(next, of: responder)
    }
  }
}

@_cdecl("segue_responder_get_restorable") @implementation
public func segue_responder_get_restorable(
  _ responder: OpaquePointer?, _ restorable: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(responder, .responder) { (responder) throws(SegueError) in
    let out = try Arguments.required(restorable, "restorable")
    guard responder.onRestore != nil else {
      throw SegueError(.invalidState, "responder: has no restore function")
    }
    try handles.give(ResponderRestorable(responder), .restorable, to: out)
  }
}

@_cdecl("segue_app_set_main_responder") @implementation
public func segue_app_set_main_responder(_ app: OpaquePointer?, _ responder: OpaquePointer?) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try handles.use(optional: responder, .responder) { (responder) throws(SegueError) in
      try app.setMainResponder(responder)
    }
  }
}
