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
  /// The uptimes of the last bytes, and of the next request.
  private var heardAt: Int64
  private var asksAt: Int64?
  private var wait = Int64(AttachmentDownload.pause.first)

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

  init(_ download: AttachmentDownload, in environment: HostFleetEnvironment) {
    self.download = download
    self.environment = environment
    heardAt = environment.now.uptime
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
      if !unread.isEmpty, !isOver { return environment.wake(in: Int64(AttachmentDownload.pause.first)) }
    }
  }

  private func retry() {
    socket?.close()
    socket = nil
    (part, begun, unread) = (.head, [], [])
    let now = environment.now.uptime
    let patience = download.hasReceived ? environment.transferResume : AttachmentDownload.firstPatience
    guard now + wait < heardAt + patience else { return end(AttachmentDownload.broken) }
    asksAt = now + wait
    environment.wake(in: wait)
    wait = min(2 * wait, Int64(AttachmentDownload.pause.most))
  }

  /// - Returns: the number of bytes accepted; fewer than all if the target is full.
  private func take(_ bytes: ArraySlice<UInt8>) throws(SegueError) -> Int {
    var left = bytes
    heardAt = environment.now.uptime
    while !left.isEmpty, !isOver {
      if case .piece(let missing) = part {
        let count = try download.take(left.prefix(missing), at: environment.now.uptime)
        wait = Int64(AttachmentDownload.pause.first)
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
