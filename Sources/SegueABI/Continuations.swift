// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 8 of segue.h: continuing.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension HandleKind where Object == Continuation {
  static var continuation: Self { Self(.continuation) }
}

extension HandleKind where Object == Restorable {
  static var restorable: Self { Self(.restorable) }
}

/// An object of the host.
final class HostRestorable: Restorable {
  private let function: segue_restore_state_function
  private let context: Context

  init(_ function: @escaping segue_restore_state_function, _ context: Context) {
    self.function = function
    self.context = context
  }

  override func restore(_ activity: LiveActivity) -> Bool {
    handles.lend(activity, .activity) { activity in function(context.pointer, activity) } ?? false
  }
}

@_cdecl("segue_app_continue") @implementation
public func segue_app_continue(
  _ app: OpaquePointer?, _ offer: OpaquePointer?, _ timeout: UInt32,
  _ continuation: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    try handles.use(offer, .offer) { (offer) throws(SegueError) in
      let started = try app.continue(offer.offer, timeout: try Arguments.timeout(timeout))
      try handles.give(started, .continuation, to: continuation)
    }
  }
}

@_cdecl("segue_continuation_cancel") @implementation
public func segue_continuation_cancel(_ continuation: OpaquePointer?) -> segue_status {
  handles.call(continuation, .continuation) { (continuation) throws(SegueError) in continuation.cancel() }
}

@_cdecl("segue_continuation_decline") @implementation
public func segue_continuation_decline(
  _ continuation: OpaquePointer?, _ reason: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  handles.call(continuation, .continuation) { (continuation) throws(SegueError) in
    try continuation.decline(Arguments.reason(reason, length) ?? "")
  }
}

@_cdecl("segue_continuation_restore") @implementation
public func segue_continuation_restore(
  _ continuation: OpaquePointer?, _ restorables: UnsafePointer<OpaquePointer?>?, _ count: Int
) -> segue_status {
  handles.call(continuation, .continuation) { (continuation) throws(SegueError) in
    guard count >= 0, count <= Limits.restorables else {
      throw SegueError(.limitExceeded, "count: at most \(Limits.restorables) objects can be restored")
    }
    guard restorables != nil || count == 0 else { throw SegueError(.invalidArgument, "restorables: is NULL") }
    var objects: [Restorable] = []
    for index in 0..<count {
      let object = try handles.use(restorables?[index], .restorable) { (object) throws(SegueError) in object }
      objects.append(object)
    }
    try continuation.restore(objects)
  }
}

@_cdecl("segue_continuation_complete") @implementation
public func segue_continuation_complete(_ continuation: OpaquePointer?, _ handled: Bool) -> segue_status {
  handles.call(continuation, .continuation) { (continuation) throws(SegueError) in
    try continuation.complete(handled: handled)
  }
}

@_cdecl("segue_continuation_fail") @implementation
public func segue_continuation_fail(
  _ continuation: OpaquePointer?, _ reason: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  handles.call(continuation, .continuation) { (continuation) throws(SegueError) in
    try continuation.fail(Arguments.reason(reason, length))
  }
}

@_cdecl("segue_continuation_complete_opening") @implementation
public func segue_continuation_complete_opening(
  _ continuation: OpaquePointer?, _ document: OpaquePointer?, _ reason: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  handles.call(continuation, .continuation) { (continuation) throws(SegueError) in
    let reason = Arguments.reason(reason, length)
    try handles.use(optional: document, .document) { (document) throws(SegueError) in
      try continuation.completeOpening(document, reason)
    }
  }
}

@_cdecl("segue_continuation_get_id") @implementation
public func segue_continuation_get_id(
  _ continuation: OpaquePointer?, _ id: UnsafeMutablePointer<UInt8>?
) -> segue_status {
  handles.call(continuation, .continuation) { (continuation) throws(SegueError) in
    Results.give(continuation.id, to: id)
  }
}

@_cdecl("segue_continuation_get_progress") @implementation
public func segue_continuation_get_progress(
  _ continuation: OpaquePointer?, _ received: UnsafeMutablePointer<UInt64>?, _ total: UnsafeMutablePointer<UInt64>?
) -> segue_status {
  handles.call(continuation, .continuation) { (continuation) throws(SegueError) in
    let progress = continuation.progress
    received?.pointee = UInt64(progress.received)
    total?.pointee = UInt64(progress.total)
  }
}

@_cdecl("segue_continuation_get_opens_document") @implementation
public func segue_continuation_get_opens_document(
  _ continuation: OpaquePointer?, _ opens: UnsafeMutablePointer<Bool>?
) -> segue_status {
  handles.call(continuation, .continuation) { (continuation) throws(SegueError) in
    opens?.pointee = continuation.opensDocument
  }
}

@_cdecl("segue_continuation_get_offer") @implementation
public func segue_continuation_get_offer(
  _ continuation: OpaquePointer?, _ offer: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(continuation, .continuation) { (continuation) throws(SegueError) in
    try handles.give(continuation.heldOffer, .offer, to: Arguments.required(offer, "offer"))
  }
}

@_cdecl("segue_restorable_create") @implementation
public func segue_restorable_create(
  _ function: segue_restore_state_function?, _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?,
  _ restorable: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  let context = Context(context, destroy)
  return attempt { () throws(SegueError) in
    let out = try Arguments.required(restorable, "restorable")
    try handles.give(HostRestorable(Arguments.required(function, "function"), context), .restorable, to: out)
  }
}

/// The host's callback for the state that comes back.
private final class HostResumeBack: ResumeBack {
  private let function: segue_resume_back_function
  private var context: Context?

  init(_ activity: LiveActivity, _ function: @escaping segue_resume_back_function, _ context: Context) {
    self.function = function
    self.context = context
    super.init(activity)
  }

  override func forget() { context = nil }

  override func ended(_ activity: LiveActivity, isStale: Bool, _ error: SharedBox<SegueError>?) {
    let context = self.context?.pointer
    _ = handles.lend(activity, .activity) { activity in
      if let error {
        _ = handles.lend(error, .error) { error in function(context, activity, isStale, error) }
      } else {
        function(context, activity, isStale, nil)
      }
    }
  }
}

@_cdecl("segue_activity_resume_back") @implementation
public func segue_activity_resume_back(
  _ activity: OpaquePointer?, _ timeout: UInt32, _ function: segue_resume_back_function?,
  _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?, _ request: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  let context = Context(context, destroy)
  return handles.call(activity, .activity) { (activity) throws(SegueError) in
    let made = HostResumeBack(activity, try Arguments.required(function, "function"), context)
    let timeout = try Arguments.timeout(timeout)
    try ask(made, giving: request) { () throws(SegueError) in try made.ask(timeout: timeout) }
  }
}
