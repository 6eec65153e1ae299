// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueApp
import SegueEngine
import SegueModel
import SegueRuntime
import SegueTransport
import SegueWire

/// The download of an attachment for the inbox, into a file without a name; or the copy of one that an app has handed
/// over with what it leaves.
final class InboxDownload: AttachmentReceiver, AttachmentDownloadHandle, @unchecked Sendable {
  let attachment: Attachment
  private let file: TargetFile
  private let loop: Loop
  /// Both are called on the loop.
  private let ask: (Message.AttachmentPart, PassedDescriptor, Int64) -> Identifier?
  private let ended: (SegueError?) -> Void

  /// - Parameter folder: the folder of the file.
  /// Throws SYSTEM.
  convenience init(
    _ attachment: Attachment, in folder: String, on loop: Loop,
    ask: @escaping (Message.AttachmentPart, PassedDescriptor, Int64) -> Identifier?,
    ended: @escaping (SegueError?) -> Void
  ) throws(SegueError) {
    let file = try TargetFile.unnamed(in: folder)
    self.init(
      attachment, file, try AttachmentSink(size: attachment.size, to: .file(file)), loop, ask: ask, ended: ended)
  }

  private init(
    _ attachment: Attachment, _ file: TargetFile, _ sink: AttachmentSink, _ loop: Loop,
    ask: @escaping (Message.AttachmentPart, PassedDescriptor, Int64) -> Identifier?,
    ended: @escaping (SegueError?) -> Void
  ) {
    // The engine gives no other sources.
    let handed = attachment.source.map { unsafeDowncast($0, to: HandedAttachment.self) }
    self.attachment = attachment
    self.file = file
    self.loop = loop
    self.ask = ask
    self.ended = ended
    super.init(attachment.name, to: sink, handed: handed.map { ($0.descriptor.owned, $0.changed) })
  }

  /// The attachment with its content, once it has ended without an error.
  var whole: Attachment? {
    file.source.map { Attachment(name: attachment.name, size: attachment.size, source: $0) }
  }

  override func ask(
    _ part: Message.AttachmentPart, otherEnd: OwnedDescriptor, timeout: Int64
  ) throws(SegueError) {
    loop.post { [self] in _ = ask(part, otherEnd, timeout) }
  }

  override var resumeTime: Int64 { Limits().transferResume }

  override func finished(_ error: SegueError?) {
    loop.post { [self] in ended(error) }
  }
}
