// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 4 of segue.h: the delegate of an activity, and the objects that its callbacks get.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension HandleKind where Object == HostActivityDelegate {
  static var activityDelegate: Self { Self(.activityDelegate) }
}

extension HandleKind where Object == PendingSave {
  static var save: Self { Self(.save) }
}

extension HandleTable {
  /// Calls the function of a delegate or a responder that updates an activity before it is sent. The save fails if that
  /// gives what is no reply.
  func call(
    _ willSave: segue_will_save_function?, _ name: StaticString, _ context: UnsafeMutableRawPointer?,
    _ activity: LiveActivity, _ save: PendingSave
  ) -> Reply {
    guard let willSave else { return .yes }
    let reply = lend(activity, .activity) { activity in
      lend(save, .save) { handle -> Reply in
        if let reply = Reply(willSave(context, activity, handle), of: name) { return reply }
        // Before the handle ends, which answers. Throws if the callback has answered by it: then that counts.
        try? save.fail(nil)
        return .yes
      }
    }
    return reply.flatMap { $0 } ?? .yes
  }
}

/// A delegate whose callbacks are the host's functions.
final class HostActivityDelegate: ActivityDelegate {
  private var context: Context?
  fileprivate var onWillSave: segue_will_save_function?
  fileprivate var onWasContinued: segue_receipt_function?
  fileprivate var onContinuationEnded: segue_receipt_function?
  fileprivate var onDidReceiveStream: segue_did_receive_stream_function?
  fileprivate var onRequest: segue_request_function?
  fileprivate var onWillResumeBack: segue_will_resume_back_function?
  fileprivate var onDidResumeBack: segue_did_resume_back_function?

  init(_ context: Context) { self.context = context }

  override func destroy() { context = nil }

  override var answersWillSave: Bool { onWillSave != nil }

  override func willSave(_ activity: LiveActivity, _ save: PendingSave) -> Reply {
    handles.call(onWillSave, "will_save", context?.pointer, activity, save)
  }

  override func wasContinued(_ activity: LiveActivity, _ receipt: SharedBox<Receipt>) -> Bool {
    call(onWasContinued, activity, receipt)
  }

  override func continuationEnded(_ activity: LiveActivity, _ receipt: SharedBox<Receipt>) -> Bool {
    call(onContinuationEnded, activity, receipt)
  }

  override func willResumeBack(_ activity: LiveActivity, hasChanged: Bool, _ request: ResumeBack) -> Reply? {
    guard let onWillResumeBack else { return nil }
    let context = self.context?.pointer
    let reply = handles.lend(activity, .activity) { activity in
      handles.lend(request, .request) { request in onWillResumeBack(context, activity, hasChanged, request) }
    }
    return reply.flatMap { $0 }.flatMap { Reply($0, of: "will_resume_back") } ?? .no
  }

  override func didResumeBack(_ activity: LiveActivity, isStale: Bool) -> Bool {
    guard let onDidResumeBack else { return false }
    let context = self.context?.pointer
    return handles.lend(activity, .activity) { activity in onDidResumeBack(context, activity, isStale) } != nil
  }

  override var takesStreams: Bool { onDidReceiveStream != nil }

  override func didReceiveStream(_ activity: LiveActivity, _ stream: LiveStream) -> Bool {
    guard let onDidReceiveStream else { return false }
    let context = self.context?.pointer
    let told: Void?? = handles.lend(activity, .activity) { activity in
      handles.lend(stream, .stream) { stream in onDidReceiveStream(context, activity, stream) }
    }
    return told.flatMap { $0 } != nil
  }

  override var takesRequests: Bool { onRequest != nil }

  override func didReceiveRequest(_ activity: LiveActivity, _ request: Request, _ bytes: [UInt8]) -> Bool {
    guard let onRequest else { return false }
    let context = self.context?.pointer
    let told: Void?? = handles.lend(activity, .activity) { activity in
      handles.lend(request, .request) { request in
        bytes.withUnsafeBufferPointer { onRequest(context, activity, request, $0.baseAddress, $0.count) }
      }
    }
    return told.flatMap { $0 } != nil
  }

  private func call(_ function: segue_receipt_function?, _ activity: LiveActivity, _ receipt: SharedBox<Receipt>)
    -> Bool
  {
    guard let function else { return false }
    let context = self.context?.pointer
    _ = handles.lend(activity, .activity) { activity in
      handles.lend(receipt, .receipt) { receipt in function(context, activity, receipt) }
    }
    return true
  }
}

@_cdecl("segue_activity_delegate_create") @implementation
public func segue_activity_delegate_create(
  _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?,
  _ delegate: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  // Created first: if the call fails, it is destroyed, and the context with it.
  let made = HostActivityDelegate(Context(context, destroy))
  return attempt { () throws(SegueError) in
    try handles.give(made, .activityDelegate, to: Arguments.required(delegate, "delegate"))
  }
}

@_cdecl("segue_activity_delegate_on_will_save") @implementation
public func segue_activity_delegate_on_will_save(
  _ delegate: OpaquePointer?, _ function: segue_will_save_function?
) -> segue_status {
  handles.call(delegate, .activityDelegate) { (delegate) throws(SegueError) in
    try delegate.configure { delegate.onWillSave = function }
  }
}

@_cdecl("segue_activity_delegate_on_was_continued") @implementation
public func segue_activity_delegate_on_was_continued(
  _ delegate: OpaquePointer?, _ function: segue_receipt_function?
) -> segue_status {
  handles.call(delegate, .activityDelegate) { (delegate) throws(SegueError) in
    try delegate.configure { delegate.onWasContinued = function }
  }
}

@_cdecl("segue_activity_delegate_on_continuation_ended") @implementation
public func segue_activity_delegate_on_continuation_ended(
  _ delegate: OpaquePointer?, _ function: segue_receipt_function?
) -> segue_status {
  handles.call(delegate, .activityDelegate) { (delegate) throws(SegueError) in
    try delegate.configure { delegate.onContinuationEnded = function }
  }
}

@_cdecl("segue_activity_delegate_on_did_receive_stream") @implementation
public func segue_activity_delegate_on_did_receive_stream(
  _ delegate: OpaquePointer?, _ function: segue_did_receive_stream_function?
) -> segue_status {
  handles.call(delegate, .activityDelegate) { (delegate) throws(SegueError) in
    try delegate.configure { delegate.onDidReceiveStream = function }
  }
}

@_cdecl("segue_activity_delegate_on_request") @implementation
public func segue_activity_delegate_on_request(
  _ delegate: OpaquePointer?, _ function: segue_request_function?
) -> segue_status {
  handles.call(delegate, .activityDelegate) { (delegate) throws(SegueError) in
    try delegate.configure { delegate.onRequest = function }
  }
}

@_cdecl("segue_activity_delegate_on_will_resume_back") @implementation
public func segue_activity_delegate_on_will_resume_back(
  _ delegate: OpaquePointer?, _ function: segue_will_resume_back_function?
) -> segue_status {
  handles.call(delegate, .activityDelegate) { (delegate) throws(SegueError) in
    try delegate.configure { delegate.onWillResumeBack = function }
  }
}

@_cdecl("segue_activity_delegate_on_did_resume_back") @implementation
public func segue_activity_delegate_on_did_resume_back(
  _ delegate: OpaquePointer?, _ function: segue_did_resume_back_function?
) -> segue_status {
  handles.call(delegate, .activityDelegate) { (delegate) throws(SegueError) in
    try delegate.configure { delegate.onDidResumeBack = function }
  }
}

@_cdecl("segue_activity_delegate_leave") @implementation
public func segue_activity_delegate_leave(_ delegate: OpaquePointer?) -> segue_status {
  let status = handles.call(delegate, .activityDelegate) { (delegate) throws(SegueError) in delegate.leave() }
  return status == SEGUE_OK ? handles.release(delegate, .activityDelegate) : status
}

@_cdecl("segue_save_complete") @implementation
public func segue_save_complete(_ save: OpaquePointer?) -> segue_status {
  handles.call(save, .save) { (save) throws(SegueError) in try save.complete() }
}

@_cdecl("segue_save_fail") @implementation
public func segue_save_fail(
  _ save: OpaquePointer?, _ reason: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  handles.call(save, .save) { (save) throws(SegueError) in try save.fail(Arguments.reason(reason, length)) }
}
