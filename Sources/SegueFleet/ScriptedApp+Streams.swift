import SegueEngine
import SegueModel

/// What a scripted app does with streams: both sides write what their scripts say, and read all.
extension ScriptedApp {
  func stream(_ id: Identifier) -> ScriptedStream? { streams.first { $0.id == id } }

  func askStream(_ id: Identifier, _ from: ContinuedFrom) {
    let (near, far) = process.makeSockets()
    streams.append(ScriptedStream(id, near, otherEnd: far))
    tell { engine, now in
      process.waits(forStream: id, "asks for a stream", deadline: now.uptime + engine.limits.continuation)
      engine.askStream(id, from, timeout: nil, now)
    }
  }

  func takeSocket(of id: Identifier) -> FleetSocket? {
    guard let stream = stream(id) else { return nil }
    defer { stream.otherEnd = nil }
    return stream.otherEnd
  }

  func keep(_ socket: FleetSocket, of id: Identifier) {
    streams.append(ScriptedStream(id, socket, otherEnd: nil))
  }

  func attend(to socket: FleetSocket) {
    if let stream = streams.first(where: { $0.socket === socket }), stream.isThere { move(stream) }
  }

  func start(_ id: Identifier, _ error: SegueError?) {
    guard let stream = stream(id) else { return }
    guard error == nil else { return close(stream) }
    stream.isThere = true
    move(stream)
  }

  func end(_ id: Identifier, _ word: StreamWord) {
    guard let stream = stream(id) else { return }
    process.complain(stream.end(word))
    streamEnds.append(word)
    if stream.hasEnded || word != .ended { close(stream) } else { move(stream) }
  }

  private func move(_ stream: ScriptedStream) {
    // Who has asked how it ended waits for that.
    let isAsking = stream.hasReadEnd && stream.word == nil
    if !isAsking, !stream.hasEnded, stream.write() { end(stream) }
    guard self.stream(stream.id) != nil, !stream.hasReadEnd else { return }
    process.complain(stream.readAll())
    guard stream.hasReadEnd else { return }
    tell { engine, now in
      process.waits(forStream: stream.id, "reads the end of a stream", deadline: now.uptime + AppEngine.verdictTime)
      if stream.socket.otherEnd == .finished { engine.sawEnd(of: stream.id) }
      engine.askHowEnded(stream.id, now)
    }
  }

  /// All is written: what does the script say now?
  private func end(_ stream: ScriptedStream) {
    stream.hasEnded = true
    switch stream.script.end {
    case .finish:
      // The word first: whoever reads the end may ask at once.
      tell { engine, _ in engine.say(.ended, of: stream.id) }
      stream.socket.shutDown(reading: false, writing: true)
      if stream.word != nil { close(stream) }
    case .abort(let code):
      tell { engine, _ in engine.say(.aborted(code), of: stream.id) }
      close(stream)
    case .close: close(stream)
    }
  }

  private func close(_ stream: ScriptedStream) {
    stream.socket.close()
    stream.otherEnd?.close()
    streams.removeAll { $0 === stream }
    tell { engine, _ in engine.forgetStream(stream.id) }
  }
}
