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
  private let means: Means
  /// Readable when there is something new for the thread.
  private var wakeUp: Int32 { means.wakeUp.fd }

  // Guarded by `lock`.
  private var stopped: SegueError?
  private var isAnswered = false
  private var refusal: SegueError?
  private var thread: Thread?
  /// The stream on which it comes; negative: there is none.
  private var socket: Int32 = -1

  // The thread's.
  private var digest: ThreadedDigest { means.digest }
  private var hasBegun = false
  private var received: UInt64 = 0
  private let total: UInt64
  private var reportedAt: Int64 = 0

  // Guarded by the app's lock. What the host is to be told: how far it is, and its end.
  private var progress: (received: UInt64, total: UInt64) = (0, 0)
  private var isProgressDue = false
  private var hasEnded = false
  private var isEndTold = false
  private var error: SegueError?

  /// Bytes that are taken at a time.
  private static let pieceSize = 256 * 1024
  /// Bytes from which on a second thread is worth it.
  private static let large: UInt64 = 4 * 1024 * 1024
  /// Milliseconds for which the app where it is attached is looked for before anything has come: a hub may have gone.
  private static let firstPatience: Int64 = 2_000
  /// Milliseconds for it to answer: it may be gone without anybody having noticed when it was asked.
  private static let answerTime: Int64 = 5_000
  /// Milliseconds between two attempts: at first, and at most.
  private static let pause: (first: Int32, most: Int32) = (50, 1_000)

  /// What it takes, and may not be there.
  public struct Means {
    fileprivate let size: UInt64
    fileprivate let digest: ThreadedDigest
    fileprivate let wakeUp: WakeUp

    fileprivate final class WakeUp {
      let fd: Int32
      init(_ fd: Int32) { self.fd = fd }
      deinit { Descriptors.close(fd) }
    }

    /// Throws NOT_FOUND, SYSTEM.
    public init(_ activity: LiveActivity, _ name: String) throws(SegueError) {
      size = try activity.attachment(name).size
      digest = ThreadedDigest(try SHA256.begin())
      wakeUp = WakeUp(try Descriptors.eventDescriptor())
    }
  }

  public init(_ activity: LiveActivity, _ name: String, to target: Target, by means: Means) {
    self.activity = activity
    self.name = name
    self.target = target
    self.means = means
    total = means.size
  }

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
      if socket >= 0 { linux_shutdown(socket, 1, 1) }
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
    lock.withLock {
      refusal = error
      isAnswered = true
    }
    Descriptors.raise(wakeUp)
  }

  /// What the host is to be told, without the lock. Called with the app's lock.
  final func takeNews() -> (tell: () -> Void, isEnd: Bool) {
    let (progress, isProgressDue, hasEnded) = (self.progress, self.isProgressDue, self.hasEnded && !isEndTold)
    self.isProgressDue = false
    if hasEnded { isEndTold = true }
    return (
      { [self] in
        if isProgressDue { progressed(activity, progress.received, of: progress.total) }
        guard hasEnded else { return }
        join()
        ended(activity, error.map { Box($0) })
        forget()
      }, hasEnded
    )
  }

  /// Called with the app's lock.
  /// - Returns: whether the host is to be told, and does not know that yet.
  private func noteProgress() -> Bool {
    progress = (received, total)
    defer { isProgressDue = true }
    return !isProgressDue
  }

  // MARK: The thread

  private func run(_ app: App) {
    let error = fetch(app)
    digest.end()
    switch target {
    case .file(let file): file.discard()
    // Who reads it waits for its end.
    case .descriptor(let descriptor): descriptor.close()
    }
    app.transferChanged(self) {
      if error == nil, wantsProgress { _ = noteProgress() }
      self.error = error
      hasEnded = true
      return true
    }
  }

  /// - Returns: what went wrong; nil: nothing.
  private func fetch(_ app: App) -> SegueError? {
    var brokenAt = Clock.uptime
    var pause = Self.pause.first
    while true {
      let before = received
      let patience = hasBegun ? app.transferResume : Self.firstPatience
      do throws(SegueError) {
        try attempt(app, timeout: max(1, min(brokenAt + patience - Clock.uptime, Self.answerTime)))
        return nil
      } catch {
        if let why = whyStopped { return why }
        guard error.status == Self.broken.status || error.status == .remoteApplicationTimedOut else { return error }
      }
      if received > before {
        brokenAt = Clock.uptime
        pause = Self.pause.first
      }
      guard Clock.uptime + Int64(pause) < brokenAt + (hasBegun ? app.transferResume : Self.firstPatience) else {
        return Self.broken
      }
      wait(pause)
      if let why = whyStopped { return why }
      pause = min(2 * pause, Self.pause.most)
    }
  }

  private var whyStopped: SegueError? { lock.withLock { stopped } }

  private func wait(_ milliseconds: Int32) {
    var descriptor = pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0)
    poll(&descriptor, 1, milliseconds)
    Descriptors.reset(wakeUp)
  }

  /// Asks for the rest, and takes what comes. Throws CONNECTION_UNAVAILABLE or REMOTE_APPLICATION_TIMED_OUT if the way there
  /// is broken.
  private func attempt(_ app: App, timeout: Int64) throws(SegueError) {
    let (near, far) = try StreamSocket.pair()
    lock.withLock {
      socket = near.fd
      isAnswered = false
    }
    defer {
      lock.withLock { socket = -1 }
      Descriptors.close(near.fd)
    }
    let part = Message.AttachmentPart(name: name, offset: received)
    try app.ask(StreamAsk(self), part, otherEnd: OwnedDescriptor(far), timeout: timeout)
    while true {
      if let why = whyStopped { throw why }
      let (isAnswered, refusal) = lock.withLock { (self.isAnswered, self.refusal) }
      if let refusal, isAnswered { throw refusal }
      if isAnswered { break }
      wait(-1)
    }
    try receive(near.fd, app)
  }

  private static var broken: SegueError {
    SegueError(.connectionUnavailable, "the app where it is attached, or the way to it, is gone")
  }
  private static var malformed: SegueError { SegueError(.malformed, "what came is no attachment") }
  private static var changed: SegueError {
    SegueError(.handoffFailed, "the attachment was changed after it had been attached")
  }

  private func receive(_ socket: Int32, _ app: App) throws(SegueError) {
    // Two, since while one is filled the other still counts for the digest; and one for what is not the attachment's.
    let buffers = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * Self.pieceSize + 64, alignment: 16)
    let buffer = UnsafeMutableRawBufferPointer(rebasing: buffers[(2 * Self.pieceSize)...])
    var start = 0
    defer {
      digest.wait()
      buffers.deallocate()
    }
    let size = AttachmentFormat.size(head: try read(AttachmentFormat.headSize, from: socket, buffer))
    guard size == total else { throw Self.changed }
    if !hasBegun {
      if case .file(let file) = target { try file.begin(size: size) }
      if size >= Self.large { digest.startThread() }
      hasBegun = true
    }
    while true {
      var left = AttachmentFormat.length(try read(AttachmentFormat.lengthSize, from: socket, buffer))
      if left == 0 { break }
      guard left <= AttachmentFormat.pieceLimit, UInt64(left) <= total - received else { throw Self.malformed }
      while left > 0 {
        let room = UnsafeMutableRawBufferPointer(rebasing: buffers[start..<start + min(left, Self.pieceSize)])
        let count = read(into: room, from: socket)
        guard count > 0 else { throw Self.broken }
        try take(UnsafeRawBufferPointer(rebasing: room[..<count]), app)
        start = Self.pieceSize - start
        left -= count
      }
    }
    let end = try read(AttachmentFormat.endSize, from: socket, buffer)
    switch AttachmentFormat.Verdict(rawValue: end[0]) {
    case .complete: break
    case .changed: throw Self.changed
    case .unreadable, nil: throw SegueError(.handoffFailed, "the app where it is attached cannot read it")
    }
    guard received == total else { throw Self.malformed }
    guard digest.finish().elementsEqual(end[1...]) else {
      throw SegueError(.malformed, "the digests differ: what came is not what was sent")
    }
    if let why = whyStopped { throw why }
    if case .file(let file) = target { try file.finish() }
  }

  private func take(_ bytes: UnsafeRawBufferPointer, _ app: App) throws(SegueError) {
    digest.update(bytes)
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
    received += UInt64(bytes.count)
    // The whole is told with the end, once it is known to be right.
    guard wantsProgress, received < total else { return }
    let now = Clock.uptime
    guard now - reportedAt >= Limits.progress else { return }
    reportedAt = now
    app.transferChanged(self) { noteProgress() }
  }

  /// So many bytes, at the start of the buffer. Throws CONNECTION_UNAVAILABLE: the stream has ended.
  private func read(
    _ count: Int, from socket: Int32, _ buffer: UnsafeMutableRawBufferPointer
  ) throws(SegueError) -> UnsafeRawBufferPointer {
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
    guard read(into: room, from: socket) == count else { throw Self.broken }
    return UnsafeRawBufferPointer(room)
  }

  /// Fills the buffer.
  /// - Returns: how many came; fewer if the stream has ended.
  private func read(into buffer: UnsafeMutableRawBufferPointer, from socket: Int32) -> Int {
    while true {
      let count = recv(socket, buffer.baseAddress, buffer.count, linux_msg_waitall())
      if count >= 0 || linux_errno() != EINTR { return count }
    }
  }
}
