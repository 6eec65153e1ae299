// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 6 of segue.h: the delegate of an app, and errors.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime

extension HandleKind where Object == HostAppDelegate {
  static var appDelegate: Self { Self(.appDelegate) }
}

extension HandleKind where Object == SharedBox<SegueError> {
  static var error: Self { Self(.error) }
}

/// A count of the handle of an activity.
private final class ActivityCount {
  private let pointer: OpaquePointer?

  init(_ activity: LiveActivity) { pointer = (try? handles.make(activity, .activity)) ?? nil }

  deinit { _ = handles.release(pointer, .activity) }
}

/// A delegate whose callbacks are the host's functions.
final class HostAppDelegate: AppDelegate {
  private var context: Context?
  fileprivate var onOffer: segue_offer_function?
  fileprivate var onConnection: segue_connection_function?
  fileprivate var onWillContinue: segue_will_continue_function?
  fileprivate var onContinue: segue_continue_function?
  fileprivate var onDidFail: segue_did_fail_function?
  fileprivate var onDidUpdate: segue_did_update_function?
  fileprivate var onOpenDocument: segue_open_document_function?
  fileprivate var onOpeningFailed: segue_did_fail_function?

  init(_ context: Context) { self.context = context }

  override func destroy() { context = nil }

  override func offer(_ app: App, _ event: Int32, _ offer: OfferObject) -> Bool {
    guard let onOffer else { return false }
    let context = self.context?.pointer
    _ = handles.lend(app, .app) { app in
      handles.lend(offer, .offer) { offer in onOffer(context, app, event, offer) }
    }
    return true
  }

  override func connection(_ app: App, isReady: Bool) -> Bool {
    guard let onConnection else { return false }
    let context = self.context?.pointer
    _ = handles.lend(app, .app) { app in
      onConnection(context, app, isReady ? SEGUE_CONNECTION_READY : SEGUE_CONNECTION_SEARCHING)
    }
    return true
  }

  override var continues: Bool { onContinue != nil }

  override func willContinue(_ app: App, type: String, _ continuation: Continuation) -> Bool {
    guard let onWillContinue else { return false }
    let context = self.context?.pointer
    _ = handles.lend(app, .app) { app in
      handles.lend(continuation, .continuation) { continuation in
        withText(type) { type, length in onWillContinue(context, app, type, length, continuation) }
      }
    }
    return true
  }

  override func `continue`(_ app: App, _ activity: LiveActivity, _ continuation: Continuation) -> Reply? {
    guard let onContinue else { return nil }
    let context = self.context?.pointer
    // Otherwise it would end here if the host does not retain it.
    if opensDocuments, app.mayOpenDocument(of: activity) { continuation.hold(ActivityCount(activity)) }
    let reply = handles.lend(app, .app) { app in
      handles.lend(activity, .activity) { activity in
        handles.lend(continuation, .continuation) { continuation in
          onContinue(context, app, activity, continuation)
        }
      }
    }
    return reply.flatMap { $0 }.flatMap { $0 }.flatMap { Reply($0, of: "continue") } ?? .no
  }

  override var answersDidUpdate: Bool { onDidUpdate != nil }

  override func didUpdate(_ app: App, _ activity: LiveActivity) -> Bool {
    guard let onDidUpdate else { return false }
    let context = self.context?.pointer
    _ = handles.lend(app, .app) { app in
      handles.lend(activity, .activity) { activity in onDidUpdate(context, app, activity) }
    }
    return true
  }

  override var opensDocuments: Bool { onOpenDocument != nil }

  override func openDocument(
    _ app: App, _ url: String, _ activity: LiveActivity, _ continuation: Continuation
  ) -> Reply {
    guard let onOpenDocument else { return .no }
    let context = self.context?.pointer
    continuation.hold(ActivityCount(activity))
    let reply = handles.lend(app, .app) { app in
      handles.lend(activity, .activity) { activity in
        handles.lend(continuation, .continuation) { continuation in
          withText(url) { url, length in onOpenDocument(context, app, url, length, activity, continuation) }
        }
      }
    }
    return reply.flatMap { $0 }.flatMap { $0 }.flatMap { Reply($0, of: "open_document") } ?? .no
  }

  override func openingFailed(
    _ app: App, type: String, _ error: SharedBox<SegueError>, _ continuation: Continuation
  ) -> Bool {
    tell(onOpeningFailed, app, type, error, continuation)
  }

  override func didFail(_ app: App, type: String, _ error: SharedBox<SegueError>, _ continuation: Continuation) -> Bool
  {
    tell(onDidFail, app, type, error, continuation)
  }

  private func tell(
    _ function: segue_did_fail_function?, _ app: App, _ type: String, _ error: SharedBox<SegueError>,
    _ continuation: Continuation
  ) -> Bool {
    guard let function else { return false }
    let context = self.context?.pointer
    _ = handles.lend(app, .app) { app in
      handles.lend(error, .error) { error in
        handles.lend(continuation, .continuation) { continuation in
          withText(type) { type, length in function(context, app, type, length, error, continuation) }
        }
      }
    }
    return true
  }

  /// Lends a text to a callback, with a NUL after it.
  private func withText<Result>(_ text: String, _ body: (UnsafePointer<CChar>?, Int) -> Result) -> Result {
    let bytes = Text.terminated(text)
    return bytes.withUnsafeBufferPointer { body($0.baseAddress, $0.count - 1) }
  }
}

@_cdecl("segue_app_delegate_on_did_update") @implementation
public func segue_app_delegate_on_did_update(
  _ delegate: OpaquePointer?, _ function: segue_did_update_function?
) -> segue_status {
  handles.call(delegate, .appDelegate) { (delegate) throws(SegueError) in
    try delegate.configure { delegate.onDidUpdate = function }
  }
}

@_cdecl("segue_app_delegate_create") @implementation
public func segue_app_delegate_create(
  _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?,
  _ delegate: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  // Created first: if the call fails, it is destroyed, and the context with it.
  let made = HostAppDelegate(Context(context, destroy))
  return attempt { () throws(SegueError) in
    try handles.give(made, .appDelegate, to: Arguments.required(delegate, "delegate"))
  }
}

/// Sets one function of a delegate.
private func configure(_ delegate: OpaquePointer?, _ change: (HostAppDelegate) -> Void) -> segue_status {
  handles.call(delegate, .appDelegate) { (delegate) throws(SegueError) in
    try delegate.configure { change(delegate) }
  }
}

@_cdecl("segue_app_delegate_on_offer") @implementation
public func segue_app_delegate_on_offer(
  _ delegate: OpaquePointer?, _ function: segue_offer_function?
) -> segue_status {
  configure(delegate) { $0.onOffer = function }
}

@_cdecl("segue_app_delegate_on_connection") @implementation
public func segue_app_delegate_on_connection(
  _ delegate: OpaquePointer?, _ function: segue_connection_function?
) -> segue_status {
  configure(delegate) { $0.onConnection = function }
}

@_cdecl("segue_app_delegate_on_will_continue") @implementation
public func segue_app_delegate_on_will_continue(
  _ delegate: OpaquePointer?, _ function: segue_will_continue_function?
) -> segue_status {
  configure(delegate) { $0.onWillContinue = function }
}

@_cdecl("segue_app_delegate_on_continue") @implementation
public func segue_app_delegate_on_continue(
  _ delegate: OpaquePointer?, _ function: segue_continue_function?
) -> segue_status {
  configure(delegate) { $0.onContinue = function }
}

@_cdecl("segue_app_delegate_on_did_fail") @implementation
public func segue_app_delegate_on_did_fail(
  _ delegate: OpaquePointer?, _ function: segue_did_fail_function?
) -> segue_status {
  configure(delegate) { $0.onDidFail = function }
}

@_cdecl("segue_app_delegate_on_open_document") @implementation
public func segue_app_delegate_on_open_document(
  _ delegate: OpaquePointer?, _ function: segue_open_document_function?
) -> segue_status {
  configure(delegate) { $0.onOpenDocument = function }
}

@_cdecl("segue_app_delegate_on_opening_failed") @implementation
public func segue_app_delegate_on_opening_failed(
  _ delegate: OpaquePointer?, _ function: segue_did_fail_function?
) -> segue_status {
  configure(delegate) { $0.onOpeningFailed = function }
}

@_cdecl("segue_error_get_status") @implementation
public func segue_error_get_status(
  _ error: OpaquePointer?, _ status: UnsafeMutablePointer<segue_status>?
) -> segue_status {
  handles.call(error, .error) { (error) throws(SegueError) in status?.pointee = error.content.status.rawValue }
}

@_cdecl("segue_error_get_message") @implementation
public func segue_error_get_message(
  _ error: OpaquePointer?, _ message: TextOut, _ length: LengthOut
) -> segue_status {
  handles.call(error, .error) { (error) throws(SegueError) in
    // The message may quote text of another app.
    let line = Text.decoded(Text.oneLine(error.content.message))
    try Results.give(line, to: message, length: length)
  }
}
