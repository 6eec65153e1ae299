// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueWire

@testable import SegueFleet

/// Moves the attachments of a fleet's agent by simulated streams, and through its disk.
final class InboxMover: AttachmentMover {
  private unowned let agent: FleetAgent

  init(_ agent: FleetAgent) { self.agent = agent }

  func download(
    _ attachment: Attachment, ask: @escaping (Message.AttachmentPart, PassedDescriptor, Int64) -> Identifier?,
    ended: @escaping (SegueError?) -> Void
  ) throws(SegueError) -> any AttachmentDownloadHandle {
    let download = InboxMoverDownload(attachment, agent, ended)
    download.start(ask)
    return download
  }

  func read(_ key: StoredAttachmentKey, _ done: @escaping (Result<AttachmentSource, SegueError>) -> Void) {
    agent.onDisk { [agent] in
      let result = agent.disk.attachment(key)
      return { done(result.map { CollectedBytes($0) }) }
    }
  }

  func canSend(_ request: StreamRequest) -> Bool { true }
  func drop(_ request: StreamRequest) { Self.socket(of: request)?.close() }

  /// The bytes are in the socket when the app hears of it.
  func upload(
    _ source: AttachmentSource, for request: StreamRequest, _ ended: @escaping () -> Void
  ) throws(SegueError) -> any AttachmentUploadHandle {
    guard let socket = Self.socket(of: request) else {
      agent.fleet.report(agent.name, "R7.6: the agent is to send on what is no stream")
      throw SegueError(.system, "no stream")
    }
    unsafeDowncast(source, to: CollectedBytes.self).bytes.withUnsafeBytes { _ = socket.write($0) }
    socket.close()
    agent.later(0, ended)
    return InboxMoverUpload()
  }

  private static func socket(of request: StreamRequest) -> FleetSocket? {
    unsafeDowncast(request.descriptor, to: FleetDescriptor.self).takeSocket()
  }
}

private final class InboxMoverUpload: AttachmentUploadHandle {
  func stop() {}
  func join(until uptime: Int64) {}
}

private final class InboxMoverDownload: AttachmentDownloadHandle {
  private enum State {
    case waiting
    case reading(ScriptedStream)
    case whole
    case failed
  }

  private let attachment: Attachment
  private unowned let agent: FleetAgent
  private let ended: (SegueError?) -> Void
  private var state = State.waiting
  private var bytes: [UInt8] = []

  init(_ attachment: Attachment, _ agent: FleetAgent, _ ended: @escaping (SegueError?) -> Void) {
    (self.attachment, self.agent, self.ended) = (attachment, agent, ended)
  }

  func start(_ ask: @escaping (Message.AttachmentPart, PassedDescriptor, Int64) -> Identifier?) {
    guard attachment.source == nil else {
      // Some were changed meanwhile.
      let (isWhole, time) = (agent.fleet.random.chance(0.7), agent.fleet.random.within(0, 200))
      return agent.later(time) { [self] in
        end(isWhole ? nil : SegueError(.invalidState, "it was changed"))
      }
    }
    agent.later(0) { [self] in
      guard case .waiting = state else { return }
      let (near, far) = agent.makeSockets()
      let part = Message.AttachmentPart(name: attachment.name, offset: 0)
      guard let id = ask(part, FleetDescriptor(far), 5_000) else { return near.close() }
      state = .reading(ScriptedStream(id, near, isRequester: true))
    }
  }

  var whole: Attachment? {
    guard case .whole = state else { return nil }
    return Attachment(
      name: attachment.name, size: attachment.size, source: CollectedBytes(CollectedBytes.content(of: attachment)))
  }

  func answered(_ error: SegueError?) {
    if let error { return end(error) }
    agent.later(1) { [self] in read() }
  }

  /// Reads until the origin has closed the stream, or is gone: an app with a script, or an agent that has the content.
  private func read() {
    guard case .reading(let stream) = state else { return }
    while true {
      let count = stream.socket.read(atMost: 8_192) { bytes += Array($0) }
      if count == 0 { return agent.later(5) { [self] in read() } }
      if count == nil { break }
    }
    let content = CollectedBytes.content(of: attachment)
    guard bytes != content, bytes.count != stream.expectedSize || !stream.isStart(bytes) else { return end(nil) }
    if !stream.isStart(bytes), !content.starts(with: bytes) {
      agent.complain("R7.2: a stream gives what was not written")
    }
    end(SegueError(.connectionUnavailable, "the origin is gone"))
  }

  func stop(_ error: SegueError) { end(error) }
  func join() {}

  private func end(_ error: SegueError?) {
    switch state {
    case .waiting: break
    case .reading(let stream): stream.socket.close()
    case .whole, .failed: return
    }
    state = error == nil ? .whole : .failed
    agent.later(0) { [self] in ended(error) }
  }
}
