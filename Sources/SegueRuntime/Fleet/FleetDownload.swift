import SegueFleet
import SegueModel
import SegueTransport
import SegueWire

/// An attachment download to this app of a fleet (R7.6): the work of a thread on a real device, done when the fleet
/// advances. Guarded by the fleet's lock.
final class FleetDownload {
  /// Milliseconds between two attempts: initially, and at most.
  private static let pause: (first: Int64, most: Int64) = (50, 1_000)

  /// Milliseconds for the other app's library to answer.
  static let answerTime: Int64 = 5_000
  /// Milliseconds to look for the origin before anything has arrived.
  private static let firstPatience: Int64 = 2_000

  let download: AttachmentDownload
  /// Both retain each other until the end.
  let app: FleetApp
  /// The stream of the attachment, or nil.
  private(set) var socket: FleetSocket?
  private(set) var isOver = false
  /// The uptimes of the last bytes, and of the next request.
  private var heardAt: Int64
  private var asksAt: Int64?
  private var wait = FleetDownload.pause.first

  private enum Part {
    case head, length, end
    /// The missing bytes of a piece.
    case piece(Int)
  }
  private var part = Part.head
  /// The received bytes of a part that is not a piece.
  private var begun: [UInt8] = []
  /// Received bytes that were not handled yet.
  private var unread: [UInt8] = []

  init(_ download: AttachmentDownload, of app: FleetApp) {
    self.download = download
    self.app = app
    heardAt = app.now.uptime
  }

  private static var broken: SegueError {
    SegueError(.connectionUnavailable, "the app where it is attached, or the way to it, is gone")
  }

  /// A new stream was requested.
  func take(_ socket: FleetSocket) { self.socket = socket }

  /// The other app's library has accepted or refused it.
  func answered(_ error: SegueError?) {
    guard let error, !isOver else { return }
    switch error.status {
    case .connectionUnavailable, .remoteApplicationTimedOut: retry()
    default: end(error)
    }
  }

  /// The timer is due.
  func wake() {
    guard !isOver else { return }
    if let asksAt, asksAt <= app.now.uptime {
      self.asksAt = nil
      app.ask(self)
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
        if socket.isAtEnd { retry() }
        return
      }
      let count: Int
      do throws(SegueError) {
        count = try take(unread[...])
      } catch {
        return end(error)
      }
      unread.removeFirst(count)
      if !unread.isEmpty, !isOver { return app.wake(in: Self.pause.first) }
    }
  }

  private func retry() {
    socket?.close()
    socket = nil
    (part, begun, unread) = (.head, [], [])
    let now = app.now.uptime
    let patience = download.hasReceived ? app.transferResumeHere : Self.firstPatience
    guard now + wait < heardAt + patience else { return end(Self.broken) }
    asksAt = now + wait
    app.wake(in: wait)
    wait = min(2 * wait, Self.pause.most)
  }

  /// - Returns: the number of bytes accepted; fewer than all if the target is full.
  private func take(_ bytes: ArraySlice<UInt8>) throws(SegueError) -> Int {
    var left = bytes
    heardAt = app.now.uptime
    while !left.isEmpty, !isOver {
      if case .piece(let missing) = part {
        let count = try download.take(left.prefix(missing), at: app.now.uptime, in: app)
        wait = Self.pause.first
        left = left.dropFirst(count)
        part = count == missing ? .length : .piece(missing - count)
        if count == 0 { break }
        continue
      }
      let size =
        switch part {
        case .head: AttachmentFormat.headSize
        case .length: AttachmentFormat.lengthSize
        default: AttachmentFormat.endSize
        }
      let more = left.prefix(size - begun.count)
      begun.append(contentsOf: more)
      left = left[more.endIndex...]
      if begun.count == size { try finishPart() }
    }
    return bytes.count - left.count
  }

  private func finishPart() throws(SegueError) {
    let bytes = begun
    begun = []
    switch part {
    case .head:
      try download.begin(size: bytes.withUnsafeBytes { AttachmentFormat.size(head: $0) })
      part = .length
    case .length:
      let length = bytes.withUnsafeBytes { AttachmentFormat.length($0) }
      guard length <= AttachmentFormat.pieceLimit else { throw SegueError(.malformed, "what came is no attachment") }
      part = length == 0 ? .end : .piece(Int(length))
    case .end:
      try download.finish(AttachmentFormat.Verdict(rawValue: bytes[0]), digest: bytes[1...])
      end(nil)
    case .piece: break
    }
  }

  func end(_ error: SegueError?) {
    guard !isOver else { return }
    isOver = true
    socket?.close()
    socket = nil
    download.endInFleet(app, error)
    app.forget(self)
  }

  /// The app is dead: closes everything without a callback.
  func abandon() {
    isOver = true
    socket = nil
    download.abandonInFleet()
  }
}
