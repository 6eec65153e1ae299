// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueEngine
import SegueModel
import SegueWire

/// The streams of a scripted app: both sides write what their scripts say, and read everything.
extension ScriptedApp {
  func stream(_ id: Identifier) -> ScriptedStream? { streams.first { $0.id == id } }

  /// - Parameter attachment: the attachment to fetch, which the origin's library sends; nil asks the origin's app.
  func askStream(_ id: Identifier, _ from: ContinuedFrom, _ attachment: Message.AttachmentPart? = nil) {
    if let attachment { return fetch(attachment, id, from) }
    guard let activity = activities.kept(from)?.live else { return }
    let request = ScriptedStreamRequest(id, activity, of: self)
    draw(id)
    guard (try? activity.askStream(request, timeout: nil)) != nil, let live = request.stream else { return }
    streams.append(ScriptedStream(live, isRequester: true))
  }

  /// Reads an attachment itself, in place of `AppDownload`.
  private func fetch(_ attachment: Message.AttachmentPart, _ id: Identifier, _ from: ContinuedFrom) {
    let (near, far) = process.makeSockets()
    streams.append(ScriptedStream(id, near, isRequester: true))
    perform { engine, now in
      process.began(.attachment(id), deadline: now.uptime + engine.limits.continuation)
      engine.askStream(id, from, attachment: attachment, otherEnd: FleetDescriptor(far), timeout: nil, now)
    }
  }

  func keepAttachment(_ socket: FleetSocket, of request: StreamRequest) {
    let stream = ScriptedStream(request.id, socket, isRequester: false)
    // Unlike for other streams, the app is not notified when it may write.
    stream.isThere = true
    streams.append(stream)
  }

  func moveStream(on socket: FleetSocket) {
    if let stream = streams.first(where: { $0.socket === socket }), stream.isThere { move(stream) }
  }

  func attend(to id: Identifier) { if let stream = stream(id) { move(stream) } }

  func start(_ id: Identifier, _ error: SegueError?) {
    guard let stream = stream(id) else { return }
    guard error == nil else { return close(stream) }
    stream.isThere = true
    move(stream)
  }

  func end(_ id: Identifier, _ status: StreamStatus) {
    guard let stream = stream(id) else { return }
    process.complain(stream.end(status))
    if stream.hasEnded || status != .ended { close(stream) } else { move(stream) }
  }

  /// A receiver has asked for a stream.
  func came(_ live: LiveStream) {
    _ = try? live.open()
    let stream = ScriptedStream(live, isRequester: false)
    streams.append(stream)
    start(stream.id, nil)
  }

  private func move(_ stream: ScriptedStream) {
    guard answers.movesStreams else { return }
    guard let live = stream.live else { return moveAttachment(stream) }
    // A pending question for the end waits for that.
    let isAsking = stream.hasReadEnd && stream.status == nil
    if !isAsking, !stream.hasEnded, stream.write() { end(stream, live) }
    guard answers.readsStreams, self.stream(stream.id) != nil, !stream.hasReadEnd else { return }
    process.complain(stream.readAll())
    guard stream.hasReadEnd else { return }
    do throws(SegueError) {
      try live.wait(ScriptedStreamWait(self))
    } catch {
      process.complain("R7.3: the end of a stream was read, and the library does not see it")
    }
  }

  /// The origin writes the attachment, and closes; the receiver reads all of it.
  private func moveAttachment(_ stream: ScriptedStream) {
    if stream.isRequester { process.complain(stream.readAll()) }
    guard stream.isRequester ? stream.hasReadEnd : stream.write() else { return }
    if stream.isRequester { observe(.fetched(stream.id, isComplete: stream.isComplete)) }
    close(stream)
  }

  /// All is written: continues with the script.
  private func end(_ stream: ScriptedStream, _ live: LiveStream) {
    stream.hasEnded = true
    switch stream.script.end {
    case .finish:
      try? live.finish()
      if stream.status != nil { close(stream) }
    case .abort(let code):
      live.abort(code)
      close(stream)
    case .close: close(stream)
    }
  }

  private func close(_ stream: ScriptedStream) {
    stream.socket.close()
    streams.remove(stream)
    if let live = stream.live {
      live.lastHandleReleased()
    } else {
      perform { engine, _ in engine.forgetStream(stream.id) }
    }
  }
}
