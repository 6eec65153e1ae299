// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueRuntime
import SegueStore
import SegueSystem
import SegueTransport
import SegueWire

/// Moves the attachments of the inbox by threads. On the way they are in files without names in the state folder. For
/// the loop.
final class InboxFiles: AttachmentMover {
  private let folder: String
  private let thread: InboxThread
  private let loop: Loop

  init(in folder: String, _ thread: InboxThread, on loop: Loop) {
    self.folder = folder
    self.thread = thread
    self.loop = loop
  }

  func download(
    _ attachment: Attachment, ask: @escaping (Message.AttachmentPart, PassedDescriptor, Int64) -> Identifier?,
    ended: @escaping (SegueError?) -> Void
  ) throws(SegueError) -> any AttachmentDownloadHandle {
    let download = try InboxDownload(attachment, in: folder, on: loop, ask: ask, ended: ended)
    try download.start()
    return download
  }

  func read(_ key: StoredAttachmentKey, _ done: @escaping (Result<AttachmentSource, SegueError>) -> Void) {
    let folder = folder
    thread.use(on: loop) { inbox throws(SegueError) in
      try Self.file(of: key, inbox, in: folder)
    } _: { result in
      done(result.map { $0 })
    }
  }

  /// Writes a stored attachment to a file. On the inbox's thread. Throws NOT_FOUND, SYSTEM.
  private static func file(
    of key: StoredAttachmentKey, _ inbox: Inbox, in folder: String
  ) throws(SegueError) -> SourceFile {
    let payload: StoredPayload?
    if let activity = key.kept {
      payload = try inbox.keptOffer(activity)?.payload
    } else {
      payload = try inbox.entry(key.id)?.payload
    }
    let stored = payload?.attachments.first { Text.isSame($0.name, key.name) }
    guard let stored else { throw SegueError(.notFound, "attachment \(key.name): the agent has none of that name") }
    let file = try TargetFile.unnamed(in: folder)
    try file.begin()
    try inbox.copy(stored, to: file.descriptor)
    try file.finish()
    guard let source = file.source else { throw SegueError(.system, "attachment \(key.name): cannot be read again") }
    return source
  }

  func canSend(_ request: StreamRequest) -> Bool { StreamSocket(request.descriptor.owned.fd) != nil }
  func drop(_ request: StreamRequest) { Descriptors.closeUntrusted(request.descriptor.owned.take()) }

  func upload(
    _ source: AttachmentSource, for request: StreamRequest, _ ended: @escaping () -> Void
  ) throws(SegueError) -> any AttachmentUploadHandle {
    let upload = AttachmentUpload(
      // They are those of `read`.
      unsafeDowncast(source, to: SourceFile.self), from: request.attachment?.offset ?? 0,
      to: request.descriptor.owned.take(), of: request.principal, crossesLink: request.crossesLink,
      patience: Limits().transferResume, ended: { [loop] in loop.post(ended) })
    try upload.start()
    return upload
  }
}

extension AttachmentUpload: AttachmentUploadHandle {}
