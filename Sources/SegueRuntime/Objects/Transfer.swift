import CLinux
import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// An attachment on its way to this app (R7.6): a thread asks for it, reads a socket, and writes a file. If the way breaks it
/// asks again, and goes on where it was.
open class Transfer: Handled, @unchecked Sendable {
  /// Where the bytes go.
  public enum Target {
    case file(TargetFile)
    case descriptor(TargetDescriptor)
  }

  let activity: LiveActivity
  private let name: String
  private let target: Target
  private let lock = Lock()
  /// Readable when there is something new for the thread.
  private let wakeUp: Int32

  // Guarded by `lock`.
  private var stopped: SegueError?
  private var answer: Answer?
  private var thread: Thread?
  /// The stream on which it comes; negative: there is none.
  private var socket: Int32 = -1

  // The thread's.
  private let digest: SHA256
  private var hasBegun = false
  private var received: UInt64 = 0
  private var total: UInt64
  private var reportedAt: Int64 = 0

  // Guarded by the app's lock.
  private var news: Progress?
  private var end: End?
  private var told: UInt64?

  private struct Answer {
    let error: SegueError?
  }

  private struct Progress {
    let received: UInt64
    let total: UInt64
  }

  private struct End {
    let error: SegueError?
  }

  private enum Result {
    case complete
    case failed(SegueError)
    /// The way there broke.
    case broken(SegueError)
  }

  /// Bytes that are taken at a time.
  private static let pieceSize = 128 * 1024
  /// Milliseconds for which the app where it is attached is looked for before anything has come: a hub may have gone.
  private static let firstPatience: Int64 = 2_000
  /// Milliseconds between two attempts: at first, and at most.
  private static let pause: (first: Int32, most: Int32) = (50, 1_000)

  /// Throws NOT_FOUND, SYSTEM.
  public init(_ activity: LiveActivity, _ name: String, to target: Target) throws(SegueError) {
    let attachments = activity.read { $0.attachments }
    guard let attachment = attachments.first(where: { Text.isSame($0.name, name) }) else {
      throw SegueError(.notFound, "name: nothing is attached under it")
    }
    self.activity = activity
    self.name = name
    self.target = target
    total = attachment.size
    digest = try SHA256()
    wakeUp = try Descriptors.eventDescriptor()
  }

  deinit { Descriptors.close(wakeUp) }

  // MARK: For the host

  /// Throws INVALID_STATE, INVALIDATED, LIMIT_EXCEEDED, SYSTEM: then nothing follows.
  public final func begin() throws(SegueError) {
    guard let app = activity.app, activity.continuedFrom != nil else {
      throw SegueError(.invalidState, "activity: was not continued, so there is nobody to fetch from")
    }
    guard activity.isStillValid else { throw SegueError(.invalidated, "activity: was invalidated") }
    try app.fetch(self)
  }

  public final func cancel() { stop(SegueError(.userCancelled, "it was cancelled")) }

  /// Called any number of times, without locks.
  open func progressed(_ activity: LiveActivity, _ received: UInt64, of total: UInt64) {}

  /// Called once, last, without locks.
  open func ended(_ activity: LiveActivity, _ error: Box<SegueError>?) {}

  /// Lets go of the host's context, however long the host keeps the handle.
  open func forget() {}

  /// Whether `progressed` does anything.
  open var wantsProgress: Bool { false }

  // MARK: For its app

  final func start(_ app: App) throws(SegueError) {
    // The app waits for it before it goes.
    try lock.withLock { () throws(SegueError) in
      thread = try Thread { [unowned(unsafe) app] in self.run(app) }
    }
  }

  /// It ends soon, with that error, unless it has ended.
  final func stop(_ error: SegueError) {
    lock.withLock {
      if stopped == nil { stopped = error }
      if socket >= 0 { linux_shutdown(socket, 1) }
    }
    Descriptors.raise(wakeUp)
  }

  /// It is going to end: waits for that. Only the first call does anything.
  final func join() {
    let thread = lock.withLock { self.thread.take() }
    thread?.join()
  }

  /// The other app's library has the stream, or will not take it.
  final func answered(_ error: SegueError?) {
    lock.withLock { answer = Answer(error: error) }
    Descriptors.raise(wakeUp)
  }

  /// What the host is to be told. Called with the app's lock.
  final func takeNews() -> (turn: () -> Void, isEnd: Bool) {
    let (news, end) = (self.news.take(), self.end)
    if let news { told = news.received }
    return (
      { [self] in
        if let news { progressed(activity, news.received, of: news.total) }
        guard let end else { return }
        join()
        ended(activity, end.error.map { Box($0) })
        forget()
      }, end != nil
    )
  }

  /// Called with the app's lock.
  /// - Returns: whether the host is to be told, and does not know that yet.
  private func note(_ progress: Progress) -> Bool {
    defer { news = progress }
    return news == nil
  }

  // MARK: The thread

  private func run(_ app: App) {
    let error = fetch(app)
    if case .file(let file) = target { file.discard() }
    app.transferChanged(self) {
      if error == nil, wantsProgress, told != received { news = Progress(received: received, total: total) }
      end = End(error: error)
      return true
    }
  }

  private func fetch(_ app: App) -> SegueError? {
    var brokenAt: Int64?
    var pause = Self.pause.first
    while true {
      let before = received
      switch attempt(app) {
      case .complete: return nil
      case .failed(let error): return whyStopped ?? error
      case .broken(let error):
        if received > before {
          brokenAt = nil
          pause = Self.pause.first
        }
        let since = brokenAt ?? Clock.uptime
        brokenAt = since
        let patience = hasBegun ? app.transferResume : Self.firstPatience
        if let why = whyStopped { return why }
        guard Clock.uptime + Int64(pause) < since + patience else { return error }
        wait(pause)
        if let why = whyStopped { return why }
        pause = min(2 * pause, Self.pause.most)
      }
    }
  }

  private var whyStopped: SegueError? { lock.withLock { stopped } }

  private func wait(_ milliseconds: Int32) {
    var descriptor = pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0)
    poll(&descriptor, 1, milliseconds)
    Descriptors.reset(wakeUp)
  }

  /// Asks for the rest, and takes what comes.
  private func attempt(_ app: App) -> Result {
    do throws(SegueError) {
      let (near, far) = try StreamSocket.pair()
      let isStopped = lock.withLock {
        socket = near.fd
        answer = nil
        return stopped != nil
      }
      defer {
        lock.withLock { socket = -1 }
        Descriptors.close(near.fd)
      }
      let ask = StreamAsk(self, otherEnd: far)
      if isStopped { return .failed(Self.closed) }
      try app.ask(ask, Message.AttachmentPart(name: name, offset: received))
      while true {
        let (answer, isStopped) = lock.withLock { (self.answer, stopped != nil) }
        if isStopped { return .failed(Self.closed) }
        guard let answer else {
          wait(-1)
          continue
        }
        guard let error = answer.error else { break }
        switch error.status {
        case .connectionUnavailable, .remoteApplicationTimedOut: return .broken(error)
        default: return .failed(error)
        }
      }
      return try receive(near.fd, app)
    } catch {
      return .failed(error)
    }
  }

  private static var closed: SegueError { SegueError(.cancelled, "the app was closed") }
  private static var malformed: SegueError { SegueError(.malformed, "what came is no attachment") }
  private static var changed: SegueError {
    SegueError(.handoffFailed, "the attachment was changed after it had been attached")
  }

  private func receive(_ socket: Int32, _ app: App) throws(SegueError) -> Result {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
    defer { buffer.deallocate() }
    let broken = Result.broken(SegueError(.connectionUnavailable, "the app where it is attached, or the way to it, is gone"))
    guard let head = read(AttachmentFormat.headSize, from: socket, buffer) else { return broken }
    let size = AttachmentFormat.size(head: head)
    if !hasBegun {
      total = size
      if case .file(let file) = target { try file.begin(size: size) }
      hasBegun = true
    }
    guard size == total else { return .failed(Self.changed) }
    while true {
      guard let word = read(AttachmentFormat.lengthSize, from: socket, buffer) else { return broken }
      var left = AttachmentFormat.length(word)
      if left == 0 { break }
      guard left <= AttachmentFormat.pieceLimit, UInt64(left) <= total - received else { return .failed(Self.malformed) }
      while left > 0 {
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(left, buffer.count)])
        let count = read(into: room, from: socket, all: false)
        guard count > 0 else { return broken }
        try take(UnsafeRawBufferPointer(rebasing: room[..<count]), app)
        left -= count
      }
    }
    guard let end = read(AttachmentFormat.endSize, from: socket, buffer) else { return broken }
    switch AttachmentFormat.Verdict(rawValue: end[0]) {
    case .complete: break
    case .changed: return .failed(Self.changed)
    case .unreadable, nil:
      return .failed(SegueError(.handoffFailed, "the app where it is attached cannot read it"))
    }
    guard received == total else { return .failed(Self.malformed) }
    guard digest.finish().elementsEqual(end[1...]) else {
      return .failed(SegueError(.malformed, "the digests differ: what came is not what was sent"))
    }
    if let why = whyStopped { return .failed(why) }
    if case .file(let file) = target { try file.finish() }
    return .complete
  }

  private func take(_ bytes: UnsafeRawBufferPointer, _ app: App) throws(SegueError) {
    switch target {
    case .file(let file): try file.write(bytes)
    case .descriptor(let descriptor):
      var left = bytes
      while !left.isEmpty {
        let count = try descriptor.write(left, until: wakeUp)
        left = UnsafeRawBufferPointer(rebasing: left[count...])
        if let why = whyStopped { throw why }
        // What said stop was old.
        if !left.isEmpty { Descriptors.reset(wakeUp) }
      }
    }
    digest.update(bytes)
    received += UInt64(bytes.count)
    guard wantsProgress else { return }
    let now = Clock.uptime
    guard now - reportedAt >= Limits.progress else { return }
    reportedAt = now
    let progress = Progress(received: received, total: total)
    app.transferChanged(self) { note(progress) }
  }

  /// So many bytes, at the start of the buffer; nil: the stream has ended.
  private func read(
    _ count: Int, from socket: Int32, _ buffer: UnsafeMutableRawBufferPointer
  ) -> UnsafeRawBufferPointer? {
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
    return read(into: room, from: socket, all: true) == count ? UnsafeRawBufferPointer(room) : nil
  }

  /// - Parameter all: fills the buffer; else takes what there is, waiting for the first byte.
  /// - Returns: how many came; fewer if the stream has ended.
  private func read(into buffer: UnsafeMutableRawBufferPointer, from socket: Int32, all: Bool) -> Int {
    while true {
      let count = recv(socket, buffer.baseAddress, buffer.count, all ? linux_msg_waitall() : 0)
      if count >= 0 || linux_errno() != EINTR { return count }
    }
  }
}
