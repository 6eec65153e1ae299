// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueEngine
import SegueModel
import SegueSystem
import SegueWire

/// An app's streams (R7.1-R7.3).
extension App {
  /// Asks the origin of a continued activity for a stream.
  /// - Parameter timeout: milliseconds; nil for the limit of a continuation.
  func askStream(_ ask: StreamRequestCallback, timeout: Int64?) throws(SegueError) {
    guard let from = ask.activity.continuedFrom else {
      throw SegueError(.invalidState, "activity: was not continued, so it has no origin to ask for a stream")
    }
    guard ask.activity.isStillValid else { throw SegueError(.invalidated, "activity: was invalidated") }
    let id = try newIdentifier()
    let (near, far) = try makeStream()
    ask.keep(LiveStream(id, near, app: self))
    try self.ask(ask, id, from, nil, otherEnd: far, timeout: timeout)
  }

  private func makeStream() throws(SegueError) -> (near: any LocalStreamEnd, far: PassedDescriptor) {
    monitor.lock()
    defer { monitor.unlock() }
    try checkIsOpen()
    return try environment.makeStream()
  }

  func ask(
    _ ask: StreamRequestCallback, _ id: Identifier, _ from: ContinuedFrom, _ part: Message.AttachmentPart?,
    otherEnd: PassedDescriptor, timeout: Int64?
  ) throws(SegueError) {
    try perform { engine, now in self.ask(ask, id, from, part, otherEnd, timeout: timeout, engine, now) }
  }

  /// Called with the lock.
  func ask(
    _ ask: StreamRequestCallback, _ id: Identifier, _ from: ContinuedFrom, _ part: Message.AttachmentPart?,
    _ otherEnd: PassedDescriptor, timeout: Int64?, _ engine: AppEngine, _ now: Instant
  ) {
    forgetDoneStreams(engine)
    pending.add(id, .stream(ask))
    let deadline = now.uptime + (timeout ?? engine.limits.continuation)
    observer?.began(part == nil ? .stream(id) : .attachment(id), deadline: deadline)
    engine.askStream(id, from, attachment: part, otherEnd: otherEnd, timeout: timeout, now)
  }

  /// Takes the local end of a stream that another app has asked for. Called with the lock.
  public func add(_ stream: LiveStream) { streams[stream.id] = stream }

  func reportEnd(_ status: StreamStatus, of stream: LiveStream) {
    performIfOpen { engine, _ in engine.reportEnd(status, of: stream.id) }
  }

  func waitForEnd(of stream: LiveStream, _ otherEnd: StreamOtherEnd, _ wait: StreamEndCallback)
    throws(SegueError)
  {
    var isPremature = false
    try perform { engine, now in
      switch otherEnd {
      case .closed:
        // The other app may have stated the end already: to read that costs less than to ask.
        if !engine.hasHeardEnd(of: stream.id) { environment.receive() }
      case .finished: engine.sawEnd(of: stream.id)
      case .open:
        guard engine.hasHeardEnd(of: stream.id) else {
          isPremature = true
          return
        }
      }
      if stream.waits.isEmpty {
        observer?.began(.streamEnd(stream.id), deadline: now.uptime + AppEngine.verdictTime)
      }
      stream.waits.append(wait)
      engine.askHowEnded(stream.id, now)
    }
    if isPremature { throw SegueError(.invalidState, "stream: the other end has not ended") }
  }

  /// The stream is released, and its local end closed.
  func forget(_ stream: LiveStream) {
    monitor.lock()
    // A waiting question for its end is answered first.
    let isAwaited = !stream.waits.isEmpty
    let gone = isAwaited ? nil : streams.removeValue(forKey: stream.id)
    if !isAwaited { engine?.forgetStream(stream.id) }
    unlockAndLog()
    withExtendedLifetime(gone) {}
  }

  /// The host closes its descriptors without a call of the library.
  public func forgetDoneStreams(_ engine: AppEngine) {
    for (id, stream) in streams where stream.isDone && stream.waits.isEmpty {
      streams[id] = nil
      engine.forgetStream(id)
    }
  }

  // MARK: Deliveries

  func streamAnswered(_ id: Identifier, _ error: SegueError?) -> CallbackInvocation {
    guard case .stream(let ask)? = pending.remove(id) else { return { false } }
    let stream = error == nil ? ask.stream : nil
    if let stream { streams[id] = stream }
    return {
      ask.answered(ask.activity, stream, error.map { SharedBox($0) })
      return true
    }
  }

  func streamCame(_ id: Identifier, _ activity: Identifier) -> CallbackInvocation {
    guard let stream = streams[id] else { return { false } }
    let turn = tell(activity) { delegate, activity in delegate.didReceiveStream(activity, stream) }
    return {
      let isTold = turn()
      // Its delegate was released meanwhile: no callback gets the stream.
      if !isTold { stream.lastHandleReleased() }
      return isTold
    }
  }

  func streamEnded(_ id: Identifier, _ status: StreamStatus) -> CallbackInvocation {
    guard let stream = streams[id], !stream.waits.isEmpty else { return { false } }
    let waits = stream.waits
    stream.waits = []
    return {
      for wait in waits { wait.ended(stream, status) }
      return true
    }
  }
}
