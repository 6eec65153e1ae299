// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 12 of segue.h: documents. Their opening: AppDelegates.swift, Continuations.swift.
import CSegue
import SegueApp
import SegueModel
import SegueRuntime
import SegueTransport

extension HandleKind where Object == HostDocument {
  static var document: Self { Self(.document) }
}

extension HandleKind where Object == HostDocumentObserver {
  static var documentObserver: Self { Self(.documentObserver) }
}

/// A file that the host has open.
final class HostDocument: LiveDocument {
  let host: HostResponder

  init(_ host: HostResponder, _ url: String, _ kind: String) {
    self.host = host
    super.init(host, url, kind)
  }
}

/// An observer of a document's activity whose callback is the host's function.
final class HostDocumentObserver: DocumentObserver {
  private let host: HostDocument
  private let function: segue_activity_changed_function
  private var context: Context?

  init(_ document: HostDocument, _ function: @escaping segue_activity_changed_function, _ context: Context) {
    host = document
    self.function = function
    self.context = context
    super.init(of: document)
  }

  override func destroy() { context = nil }

  override func activityChanged(_ old: LiveActivity?, _ new: LiveActivity?) {
    let context = self.context?.pointer
    _ = handles.lend(host, .document) { document in
      lend(old) { old in lend(new) { new in function(context, document, old, new) } }
    }
  }

  /// Lends NULL for nil.
  private func lend(_ activity: LiveActivity?, _ body: (OpaquePointer?) -> Void) {
    guard let activity else { return body(nil) }
    _ = handles.lend(activity, .activity) { body($0) }
  }
}

@_cdecl("segue_app_add_document_type") @implementation
public func segue_app_add_document_type(
  _ app: OpaquePointer?, _ contentType: UnsafePointer<CChar>?, _ contentTypeLength: Int, _ role: segue_role,
  _ activityType: UnsafePointer<CChar>?, _ activityTypeLength: Int
) -> segue_status {
  handles.call(app, .app) { (app) throws(SegueError) in
    let kind = try kind(contentType, contentTypeLength, role)
    let activityType = try Arguments.text(activityType, activityTypeLength, "activity_type", atMost: Limits.type)
    try app.configure { (settings) throws(SegueError) in
      try settings.addDocumentType(kind, activityType: activityType)
    }
  }
}

/// A content type and a role.
private func kind(_ pointer: UnsafePointer<CChar>?, _ length: Int, _ role: segue_role) throws(SegueError) -> String {
  let contentType = try Arguments.text(pointer, length, "content_type", atMost: Limits.type)
  try Text.check(contentType, "content_type", atMost: Limits.type)
  guard role == SEGUE_ROLE_EDITOR || role == SEGUE_ROLE_VIEWER else {
    throw SegueError(.invalidArgument, "role: \(Int64(role)) is neither SEGUE_ROLE_EDITOR nor SEGUE_ROLE_VIEWER")
  }
  return AppSettings.documentKind(Int64(role), contentType)
}

@_cdecl("segue_document_create") @implementation
public func segue_document_create(
  _ app: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ contentType: UnsafePointer<CChar>?,
  _ contentTypeLength: Int, _ role: segue_role, _ update: segue_will_save_function?,
  _ restore: segue_restore_state_function?, _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?,
  _ document: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  let context = Context(context, destroy)
  return handles.call(app, .app) { (app) throws(SegueError) in
    let out = try Arguments.required(document, "document")
    let url = try Arguments.text(url, urlLength, "url", atMost: Limits.url)
    let kind = try kind(contentType, contentTypeLength, role)
    try LiveDocument.check(url)
    let made = HostDocument(HostResponder(of: app, update, restore, context), url, kind)
    do throws(SegueError) {
      try app.add(made)
      try handles.give(made, .document, to: out)
    } catch {
      app.close(made)
      throw error
    }
  }
}

@_cdecl("segue_document_close") @implementation
public func segue_document_close(_ document: OpaquePointer?) -> segue_status {
  handles.call(document, .document) { (document) throws(SegueError) in document.app.close(document) }
}

@_cdecl("segue_document_get_responder") @implementation
public func segue_document_get_responder(
  _ document: OpaquePointer?, _ responder: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(document, .document) { (document) throws(SegueError) in
    try handles.give(document.host, .responder, to: Arguments.required(responder, "responder"))
  }
}

@_cdecl("segue_document_set_url") @implementation
public func segue_document_set_url(
  _ document: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  handles.call(document, .document) { (document) throws(SegueError) in
    let url = try Arguments.text(url, length, "url", atMost: Limits.url)
    try LiveDocument.check(url)
    try document.app.setURL(url, of: document)
  }
}

@_cdecl("segue_document_observe") @implementation
public func segue_document_observe(
  _ document: OpaquePointer?, _ function: segue_activity_changed_function?, _ context: UnsafeMutableRawPointer?,
  _ destroy: segue_destroy?, _ observer: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  let context = Context(context, destroy)
  return handles.call(document, .document) { (document) throws(SegueError) in
    let out = try Arguments.required(observer, "observer")
    let made = HostDocumentObserver(document, try Arguments.required(function, "function"), context)
    do throws(SegueError) {
      try document.app.add(made)
      try handles.give(made, .documentObserver, to: out)
    } catch {
      made.lastHandleReleased()
      throw error
    }
  }
}
