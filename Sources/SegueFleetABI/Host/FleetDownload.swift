// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueFleet
import SegueModel
import SegueRuntime
import SegueTransport
import SegueWire

/// An attachment download to this app of a fleet (R7.6): the work of a thread on a real device, done when the fleet
/// advances. Guarded by the fleet's lock.
final class FleetDownload: DownloadWorker {
  let download: AttachmentDownload
  /// Both retain each other until the end.
  private let environment: HostFleetEnvironment
  /// The stream of the attachment, or nil.
  private(set) var socket: FleetSocket?
  private(set) var isOver = false
  /// The uptime of the next request; nil: none is due.
  private var asksAt: Int64?
  private var retry: AttachmentRetry
  private var stream: IncomingAttachment
  /// Received bytes that were not handled yet.
  private var unread: [UInt8] = []

  init(_ download: AttachmentDownload, in environment: HostFleetEnvironment) {
    self.download = download
    self.environment = environment
    retry = AttachmentRetry(at: environment.now.uptime, resumeTime: environment.transferResume)
    stream = IncomingAttachment(missing: download.missing)
  }

  /// Milliseconds for the answer to a request.
  var timeout: Int64 { retry.timeout(at: environment.now.uptime) }

  /// A new stream was requested.
  func take(_ socket: FleetSocket) { self.socket = socket }

  /// The other app's library has accepted or refused it.
  func answered(_ error: SegueError?) {
    if let error, !isOver { askAgain(after: error) }
  }

  /// The timer is due.
  func wake() {
    guard !isOver else { return }
    if let asksAt, asksAt <= environment.now.uptime {
      self.asksAt = nil
      environment.ask(self)
    } else if socket != nil {
      carry()
    }
  }

  func carry() {
    while let socket, !isOver {
      if unread.isEmpty {
        socket.give { bytes in
          unread.append(contentsOf: bytes)
          return bytes.count
        }
      }
      guard !unread.isEmpty else {
        if socket.isAtEnd { askAgain(after: AttachmentRetry.broken) }
        return
      }
      let count: Int
      do throws(SegueError) {
        count = try take(unread[...])
      } catch {
        return end(error)
      }
      unread.removeFirst(count)
      if !unread.isEmpty, !isOver { return environment.wake(in: AttachmentRetry.pause.first) }
    }
  }

  private func askAgain(after error: SegueError) {
    socket?.close()
    socket = nil
    (stream, unread) = (IncomingAttachment(missing: download.missing), [])
    let now = environment.now.uptime
    do throws(SegueError) {
      let pause = try retry.next(after: error, at: now)
      asksAt = now + pause
      environment.wake(in: pause)
    } catch {
      end(error)
    }
  }

  /// - Returns: the number of bytes accepted; fewer than all if the target is full.
  private func take(_ bytes: ArraySlice<UInt8>) throws(SegueError) -> Int {
    var left = bytes
    let now = environment.now.uptime
    while !left.isEmpty, !isOver {
      switch stream.wanted {
      case .framing(let size):
        let part = left.prefix(size)
        left = left[part.endIndex...]
        retry.heard(at: now, hasContent: false)
        if let event = try event(part, now) { try handle(event) }
      case .content(let size):
        let count = try download.take(left.prefix(size), at: now)
        guard count > 0 else { return bytes.count - left.count }
        left = left.dropFirst(count)
        stream.tookContent(count)
        retry.heard(at: now, hasContent: true)
      }
    }
    return bytes.count - left.count
  }

  private func event(_ bytes: ArraySlice<UInt8>, _ now: Int64) throws(SegueError) -> IncomingAttachment.Event? {
    var result = Result<IncomingAttachment.Event?, SegueError>.success(nil)
    bytes.withUnsafeBytes { bytes in
      do throws(SegueError) { result = .success(try stream.take(bytes, at: now)) } catch { result = .failure(error) }
    }
    return try result.get()
  }

  private func handle(_ event: IncomingAttachment.Event) throws(SegueError) {
    switch event {
    case .size(let size): try download.begin(size: size)
    // In a fleet no descriptor comes with the head.
    case .isHandedOver: throw IncomingAttachment.malformed
    case .end(let verdict, let digest):
      try download.finish(verdict, digest: digest)
      end(nil)
    }
  }

  func end(_ error: SegueError?) {
    guard !isOver else { return }
    isOver = true
    socket?.close()
    socket = nil
    download.endByWorker(error)
    environment.remove(self)
  }

  /// The download was cancelled, or the app closes. Called without the lock.
  func stop(_ error: SegueError) { environment.stop(self, error) }

  /// The app is dead: closes everything without a callback.
  func abandon() {
    isOver = true
    socket = nil
    download.abandonByWorker()
  }
}
