// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// The streams for which other apps ask an app: for the app itself, or with its attachments, which threads send.
/// Guarded by the app's lock, except where stated.
final class RequestedStreams {
  private var uploads: [AttachmentUpload] = []

  /// Takes the streams that came with a message of the hub.
  func take(for app: App, _ engine: AppEngine) {
    for request in engine.takeStreamRequests() {
      let fd = request.descriptor.owned.take()
      // The hub has only passed it on.
      Descriptors.charge(fd, to: request.principal)
      guard let socket = StreamSocket(fd) else {
        Descriptors.closeUntrusted(fd)
        engine.refuse(request, SegueError(.malformed, "the descriptor that came with the stream is none"))
        continue
      }
      if let part = request.attachment {
        send(part, request, over: fd, app, engine)
        continue
      }
      app.forgetDoneStreams(engine)
      if engine.take(request) {
        app.add(LiveStream(request.id, HostStreamEnd(socket), app: app))
      } else {
        Descriptors.closeUntrusted(fd)
      }
    }
  }

  /// Another app fetches an attachment. Owns the descriptor.
  private func send(
    _ part: Message.AttachmentPart, _ request: StreamRequest, over fd: Int32, _ app: App, _ engine: AppEngine
  ) {
    // Waits for the threads of former uploads, which end at once.
    while let index = uploads.firstIndex(where: { $0.hasEnded }) { uploads.remove(at: index).join() }
    if let error = app.rejection(to: part, request, uploads.map { $0.principal }) {
      Descriptors.closeUntrusted(fd)
      return engine.refuse(request, engine.rejection(to: request) ?? error)
    }
    guard let source = app.source(of: part, request), engine.take(request) else {
      return Descriptors.closeUntrusted(fd)
    }
    let upload = AttachmentUpload(
      unsafeDowncast(source, to: SourceFile.self), from: part.offset, to: fd, of: request.principal,
      crossesLink: request.crossesLink,
      patience: engine.limits.transferResume)
    do throws(SegueError) {
      try upload.start()
      uploads.append(upload)
    } catch {
      // The other side sees a broken stream, and retries.
      app.logs.append((.error, "\(error.message)"))
    }
  }

  /// Ends the uploads, which wait for other apps. Without the lock.
  func endUploads(_ monitor: any AppMonitor) {
    monitor.lock()
    let uploads = self.uploads
    self.uploads = []
    monitor.unlock()
    for upload in uploads { upload.stop() }
    let deadline = Clock.uptime + AttachmentUpload.joinTime
    for upload in uploads { upload.join(until: deadline) }
  }
}
