import SegueApp
import SegueEngine
import SegueModel
import SegueWire

/// The streams of a scripted app: both sides write what their scripts say, and read everything.
extension ScriptedApp {
  func stream(_ id: Identifier) -> ScriptedStream? { streams.first { $0.id == id } }

  /// - Parameter attachment: the attachment to fetch, which the origin's library sends; nil asks the origin's app.
  func askStream(_ id: Identifier, _ from: ContinuedFrom, _ attachment: Message.AttachmentPart? = nil) {
    let (near, far) = process.makeSockets()
    streams.append(ScriptedStream(id, near, isAsker: true, isAttachment: attachment != nil))
    perform { engine, now in
      process.began(.stream(id), deadline: now.uptime + engine.limits.continuation)
      engine.askStream(id, from, attachment: attachment, otherEnd: FleetDescriptor(far), timeout: nil, now)
    }
  }

  func keep(_ socket: FleetSocket, of request: StreamRequest) {
    let isAttachment = request.attachment != nil
    let stream = ScriptedStream(request.id, socket, isAsker: false, isAttachment: isAttachment)
    // Unlike for other streams, the app is not notified when it may write.
    stream.isThere = isAttachment
    streams.append(stream)
  }

  func attend(to socket: FleetSocket) {
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

  func came(_ id: Identifier) {
    if stream(id)?.isAttachment ?? false { process.complain("R7.6: an app hears of the stream of an attachment") }
    start(id, nil)
  }

  private func move(_ stream: ScriptedStream) {
    if stream.isAttachment { return moveAttachment(stream) }
    // A pending question for the end waits for that.
    let isAsking = stream.hasReadEnd && stream.status == nil
    if !isAsking, !stream.hasEnded, stream.write() { end(stream) }
    guard readsStreams, self.stream(stream.id) != nil, !stream.hasReadEnd else { return }
    process.complain(stream.readAll())
    guard stream.hasReadEnd else { return }
    perform { engine, now in
      process.began(.streamEnd(stream.id), deadline: now.uptime + AppEngine.verdictTime)
      if stream.socket.otherEnd == .finished { engine.sawEnd(of: stream.id) }
      engine.askHowEnded(stream.id, now)
    }
  }

  /// The origin writes the attachment, and closes; the receiver reads all of it.
  private func moveAttachment(_ stream: ScriptedStream) {
    if stream.isAsker { process.complain(stream.readAll()) }
    guard stream.isAsker ? stream.hasReadEnd : stream.write() else { return }
    if stream.isAsker { observe(.fetched(stream.id, isComplete: stream.isComplete)) }
    close(stream)
  }

  /// All is written: continues with the script.
  private func end(_ stream: ScriptedStream) {
    stream.hasEnded = true
    switch stream.script.end {
    case .finish:
      // States the end first: the reader of the end may ask at once.
      perform { engine, _ in engine.reportEnd(.ended, of: stream.id) }
      stream.socket.shutDown(reading: false, writing: true)
      if stream.status != nil { close(stream) }
    case .abort(let code):
      perform { engine, _ in engine.reportEnd(.aborted(code), of: stream.id) }
      close(stream)
    case .close: close(stream)
    }
  }

  private func close(_ stream: ScriptedStream) {
    stream.socket.close()
    streams.remove(stream)
    perform { engine, _ in engine.forgetStream(stream.id) }
  }
}
