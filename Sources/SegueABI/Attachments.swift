// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Section 10 of segue.h: attachments.
import CLinux
import CSegue
import SegueApp
import SegueModel
import SegueRuntime
import SegueTransport

extension HandleKind where Object == AttachmentDownload {
  static var transfer: Self { Self(.transfer) }
}

/// A transfer of the host.
private final class HostDownload: AttachmentDownload, @unchecked Sendable {
  private let progress: segue_progress_function?
  private let fetched: segue_fetched_function
  private var context: Context?

  init(
    _ activity: LiveActivity, _ name: String, to sink: AttachmentSink, _ progress: segue_progress_function?,
    _ fetched: @escaping segue_fetched_function, _ context: Context
  ) {
    self.progress = progress
    self.fetched = fetched
    self.context = context
    super.init(activity, name, to: sink)
  }

  override func forget() { context = nil }

  override var wantsProgress: Bool { progress != nil }

  override func progressed(_ activity: LiveActivity, _ received: UInt64, of total: UInt64) {
    let context = self.context?.pointer
    _ = handles.lend(activity, .activity) { activity in progress?(context, activity, received, total) }
  }

  override func ended(_ activity: LiveActivity, _ error: SharedBox<SegueError>?) {
    let context = self.context?.pointer
    _ = handles.lend(activity, .activity) { activity in
      if let error {
        _ = handles.lend(error, .error) { error in fetched(context, activity, error) }
      } else {
        fetched(context, activity, nil)
      }
    }
  }
}

/// Runs before each of these calls; has an effect only once.
@inline(never)
private func with(
  _ activity: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ length: Int,
  _ body: (LiveActivity, String) throws(SegueError) -> Void
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    try body(activity, try Arguments.text(name, length, "name", atMost: Limits.identifier))
  }
}

@inline(never)
private func attach(
  _ activity: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ length: Int,
  _ file: () throws(SegueError) -> SourceFile
) -> segue_status {
  with(activity, name, length) { (activity, name) throws(SegueError) in
    // Reports a missing OpenSSL to the app that attaches, not to the one that fetches.
    _ = try SHA256.begin()
    let file = try file()
    try activity.attach(Attachment(name: name, size: file.size, source: file))
  }
}

/// The bytes of a path.
private func path(_ path: UnsafePointer<CChar>?, _ length: Int) throws(SegueError) -> String {
  try Arguments.text(path, length, "path", atMost: Int(PATH_MAX))
}

@_cdecl("segue_activity_attach_file") @implementation
public func segue_activity_attach_file(
  _ activity: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ nameLength: Int, _ path: UnsafePointer<CChar>?,
  _ pathLength: Int
) -> segue_status {
  attach(activity, name, nameLength) { () throws(SegueError) in
    try SourceFile.at(path: SegueABI.path(path, pathLength))
  }
}

@_cdecl("segue_activity_attach_fd") @implementation
public func segue_activity_attach_fd(
  _ activity: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ length: Int, _ fd: Int32
) -> segue_status {
  attach(activity, name, length) { () throws(SegueError) in try SourceFile.of(descriptor: fd) }
}

@_cdecl("segue_activity_attach_bytes") @implementation
public func segue_activity_attach_bytes(
  _ activity: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ nameLength: Int, _ bytes: UnsafePointer<UInt8>?,
  _ length: Int
) -> segue_status {
  attach(activity, name, nameLength) { () throws(SegueError) in
    try SourceFile.with(bytes: Arguments.bytes(bytes, length, "bytes", atMost: Limits.attachedBytes))
  }
}

@_cdecl("segue_activity_remove_attachment") @implementation
public func segue_activity_remove_attachment(
  _ activity: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ length: Int
) -> segue_status {
  with(activity, name, length) { (activity, name) throws(SegueError) in
    try activity.update { (state) throws(SegueError) in try state.removeAttachment(name) }
  }
}

@_cdecl("segue_activity_get_attachments") @implementation
public func segue_activity_get_attachments(
  _ activity: OpaquePointer?, _ attachments: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  handles.call(activity, .activity) { (activity) throws(SegueError) in
    let out = try Arguments.required(attachments, "attachments")
    try handles.give(activity.read { $0.attachments }.value(), to: out)
  }
}

@inline(never)
private func fetch(
  _ activity: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ length: Int,
  _ target: () throws(SegueError) -> AttachmentSink.Target, _ progress: segue_progress_function?,
  _ fetched: segue_fetched_function?, _ context: Context, _ transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  with(activity, name, length) { (activity, name) throws(SegueError) in
    let fetched = try Arguments.required(fetched, "fetched")
    let sink = try AttachmentSink(activity, name, to: try target())
    let made = HostDownload(activity, name, to: sink, progress, fetched, context)
    // Creates the handle first: once the transfer has begun, it ends by itself.
    let handle = try transfer.map { (_) throws(SegueError) in try handles.make(made as AttachmentDownload, .transfer) }
    do throws(SegueError) {
      try made.begin()
    } catch {
      if let handle { _ = handles.release(handle, .transfer) }
      throw error
    }
    if let handle { transfer?.pointee = handle }
  }
}

@_cdecl("segue_activity_fetch_attachment") @implementation
public func segue_activity_fetch_attachment(
  _ activity: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ nameLength: Int, _ path: UnsafePointer<CChar>?,
  _ pathLength: Int, _ progress: segue_progress_function?, _ fetched: segue_fetched_function?,
  _ context: UnsafeMutableRawPointer?, _ destroy: segue_destroy?, _ transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  fetch(
    activity, name, nameLength,
    { () throws(SegueError) in .file(try TargetFile(path: SegueABI.path(path, pathLength))) },
    progress, fetched, Context(context, destroy), transfer)
}

@_cdecl("segue_activity_fetch_attachment_to_fd") @implementation
public func segue_activity_fetch_attachment_to_fd(
  _ activity: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ length: Int, _ fd: Int32,
  _ progress: segue_progress_function?, _ fetched: segue_fetched_function?, _ context: UnsafeMutableRawPointer?,
  _ destroy: segue_destroy?, _ transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> segue_status {
  fetch(
    activity, name, length, { () throws(SegueError) in .descriptor(try TargetDescriptor.of(fd)) }, progress, fetched,
    Context(context, destroy), transfer)
}

@_cdecl("segue_transfer_cancel") @implementation
public func segue_transfer_cancel(_ transfer: OpaquePointer?) -> segue_status {
  handles.call(transfer, .transfer) { (transfer) throws(SegueError) in transfer.cancel() }
}
