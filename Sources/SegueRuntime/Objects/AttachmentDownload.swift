import CLinux
import SegueEngine
import SegueModel
import SegueTransport
import SegueWire

/// An attachment download to this app (R7.6): a thread asks for the attachment, and reads a socket and writes, or lets
/// the kernel copy the file that came over the socket. If the connection breaks it asks again, and resumes where it
/// was.
open class AttachmentDownload: Handled, @unchecked Sendable {
  let activity: LiveActivity
  private let name: String
  private let sink: AttachmentSink
  private let lock = Lock()

  // Guarded by `lock`.
  private var stopped: SegueError?
  private var isAnswered = false
  private var refusal: SegueError?
  private var thread: Thread?
  /// Replaces the thread in a virtual fleet, until the download has ended.
  private var inFleet: FleetDownload?
  /// The stream of the attachment; negative if there is none.
  private var socket: Int32 = -1

  // Used by the thread, like `sink`.
  /// The uptime of the last sign of life of the other side.
  private var heardAt: Int64 = 0
  private var reportedAt: Int64 = 0

  // Guarded by the app's lock: the progress and the end to report to the host.
  private var progress: (received: UInt64, total: UInt64) = (0, 0)
  private var isProgressDue = false
  private var hasEnded = false
  private var isEndTold = false
  private var error: SegueError?

  /// Bytes per read.
  private static let pieceSize = 256 * 1024
  /// Milliseconds to look for the origin before anything has arrived: a hub may be gone.
  static let firstPatience: Int64 = 2_000
  /// Milliseconds for the origin to answer: it may be gone unnoticed.
  static let answerTime: Int64 = 5_000
  /// The most keep-alives that may come early.
  private static let spareSigns: Int64 = 100
  /// Milliseconds between two attempts: initially, and at most.
  static let pause: (first: Int32, most: Int32) = (50, 1_000)

  public init(_ activity: LiveActivity, _ name: String, to sink: AttachmentSink) {
    self.activity = activity
    self.name = name
    self.sink = sink
  }

  // MARK: For the host

  /// Throws INVALID_STATE, INVALIDATED, LIMIT_EXCEEDED, SYSTEM: then no callback runs.
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

  /// Releases the host's context, however long the host keeps the handle.
  open func forget() {}

  /// Whether `progressed` does anything.
  open var wantsProgress: Bool { false }

  // MARK: For its app

  final func start(_ app: App) throws(SegueError) {
    // The app waits for it before it is released.
    try lock.withLock { () throws(SegueError) in
      thread = try Thread { [unowned(unsafe) app] in self.run(app) }
    }
  }

  /// Ends it soon, with that error, unless it has ended.
  final func stop(_ error: SegueError) {
    lock.withLock {
      if stopped == nil { stopped = error }
      if socket >= 0 { linux_shutdown(socket, 1, 1) }
    }
    Descriptors.raise(sink.wakeUp)
    if let fetch = lock.withLock({ inFleet }) { fetch.stop(error) }
  }

  /// Waits for the end of the thread. Only the first call has an effect.
  final func join() {
    let thread = lock.withLock { self.thread.take() }
    thread?.join()
  }

  /// The other app's library has accepted or refused the stream.
  final func answered(_ error: SegueError?) {
    if let fetch = lock.withLock({ inFleet }) { return fetch.answered(error) }
    lock.withLock {
      refusal = error
      isAnswered = true
    }
    Descriptors.raise(sink.wakeUp)
  }

  /// Returns the callbacks to run without the lock. Called with the app's lock.
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
  /// - Returns: whether a callback is due that was not queued yet.
  private func noteProgress(_ count: UInt64) -> Bool {
    progress = (max(progress.received, count), sink.total)
    defer { isProgressDue = true }
    return !isProgressDue
  }

  // MARK: The thread

  private func run(_ app: App) {
    let error = fetch(app)
    sink.close()
    app.downloadChanged(self) {
      if error == nil, wantsProgress { _ = noteProgress(sink.total) }
      self.error = error
      hasEnded = true
      return true
    }
  }

  /// - Returns: the error, or nil.
  private func fetch(_ app: App) -> SegueError? {
    var brokenAt = Clock.uptime
    var pause = Self.pause.first
    while true {
      let before = sink.received
      let patience = sink.hasBegun ? app.transferResume : Self.firstPatience
      do throws(SegueError) {
        try attempt(app, timeout: max(1, min(brokenAt + patience - Clock.uptime, Self.answerTime)))
        return nil
      } catch {
        if let why = whyStopped { return why }
        guard error.status == Self.broken.status || error.status == .remoteApplicationTimedOut else { return error }
      }
      brokenAt = max(brokenAt, heardAt)
      if sink.received > before { pause = Self.pause.first }
      guard Clock.uptime + Int64(pause) < brokenAt + (sink.hasBegun ? app.transferResume : Self.firstPatience) else {
        return Self.broken
      }
      wait(pause)
      if let why = whyStopped { return why }
      pause = min(2 * pause, Self.pause.most)
    }
  }

  private var whyStopped: SegueError? { lock.withLock { stopped } }

  private func wait(_ milliseconds: Int32) {
    var descriptor = pollfd(fd: sink.wakeUp, events: Int16(POLLIN), revents: 0)
    poll(&descriptor, 1, milliseconds)
    Descriptors.reset(sink.wakeUp)
  }

  /// Asks for the rest, and receives it. Throws CONNECTION_UNAVAILABLE or REMOTE_APPLICATION_TIMED_OUT if the
  /// connection breaks.
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
    try app.ask(StreamRequestCallback(self), rest, otherEnd: OwnedDescriptor(far), timeout: timeout)
    while true {
      if let why = whyStopped { throw why }
      let (isAnswered, refusal) = lock.withLock { (self.isAnswered, self.refusal) }
      if let refusal, isAnswered { throw refusal }
      if isAnswered { break }
      wait(-1)
    }
    try receive(AttachmentReader(near.fd), app)
  }

  static var broken: SegueError {
    SegueError(.connectionUnavailable, "the app where it is attached, or the way to it, is gone")
  }

  private func receive(_ reader: AttachmentReader, _ app: App) throws(SegueError) {
    // Two buffers, since one is hashed while the other is filled; and one for other bytes.
    let buffers = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * Self.pieceSize + 64, alignment: 16)
    let buffer = UnsafeMutableRawBufferPointer(rebasing: buffers[(2 * Self.pieceSize)...])
    var start = 0
    defer {
      sink.waitForDigest()
      buffers.deallocate()
    }
    var handed = try readHead(reader, buffer)
    let beganAt = heardAt
    var (isFirst, signs) = (true, Int64(0))
    while true {
      defer { isFirst = false }
      let length = AttachmentFormat.length(try read(AttachmentFormat.lengthSize, from: reader, buffer))
      if length == 0 { break }
      heardAt = Clock.uptime
      if length == AttachmentFormat.stillHere {
        signs += 1
        // A peer that sends these without end would keep this thread busy.
        let limit = Self.spareSigns + (heardAt - beganAt) / Limits.attachmentSign
        guard signs <= limit else { throw AttachmentSink.malformed }
        continue
      }
      if length == AttachmentFormat.handedOver {
        guard isFirst else { throw AttachmentSink.malformed }
        let time = AttachmentFormat.time(try read(AttachmentFormat.timeSize, from: reader, buffer))
        if let file = handed.take(), try copy(file, changedAt: time, app) { return try finish() }
        try takeBytes()
        reader.say(AttachmentFormat.Word.sendBytes.rawValue)
        continue
      }
      try takeBytes()
      let isValid = length <= AttachmentFormat.pieceLimit && UInt64(length) <= sink.total - sink.received
      guard isValid else { throw AttachmentSink.malformed }
      var left = Int(length)
      while left > 0 {
        let room = UnsafeMutableRawBufferPointer(rebasing: buffers[start..<start + min(left, Self.pieceSize)])
        let count = reader.read(into: room)
        try take(UnsafeRawBufferPointer(rebasing: room[..<count]), reader, app)
        guard count == room.count else { throw Self.broken }
        start = Self.pieceSize - start
        left -= count
      }
    }
    let end = try read(AttachmentFormat.endSize, from: reader, buffer)
    try sink.verify(AttachmentFormat.Verdict(rawValue: end[0]), digest: end[1...])
    try finish()
  }

  /// - Returns: the file that came with it; nil if there is none that can be copied.
  private func readHead(
    _ reader: AttachmentReader, _ buffer: UnsafeMutableRawBufferPointer
  ) throws(SegueError) -> HandedFile? {
    let head = UnsafeMutableRawBufferPointer(rebasing: buffer[..<AttachmentFormat.headSize])
    var descriptor: Int32 = -1
    let count = reader.read(into: head, handed: &descriptor)
    let handed = descriptor < 0 ? nil : HandedFile.take(descriptor)
    guard count == head.count else { throw Self.broken }
    try sink.begin(size: AttachmentFormat.size(head: UnsafeRawBufferPointer(head)))
    heardAt = Clock.uptime
    if descriptor < 0 { try takeBytes() }
    return handed
  }

  private func takeBytes() throws(SegueError) {
    try sink.takeBytes()
    sink.startThread()
  }

  private func copy(
    _ source: HandedFile, changedAt time: (seconds: Int64, nanoseconds: UInt32), _ app: App
  ) throws(SegueError) -> Bool {
    try sink.copy(source, changedAt: time) { (copied) throws(SegueError) in
      if let why = whyStopped { throw why }
      report(copied, app)
    }
  }

  private func finish() throws(SegueError) {
    if let why = whyStopped { throw why }
    try sink.finish()
  }

  private func take(
    _ bytes: UnsafeRawBufferPointer, _ reader: AttachmentReader, _ app: App
  ) throws(SegueError) {
    sink.hash(bytes)
    var left = bytes
    while !left.isEmpty {
      let count = try sink.write(left, milliseconds: Int32(Limits.attachmentSign))
      left = UnsafeRawBufferPointer(rebasing: left[count...])
      if let why = whyStopped { throw why }
      guard !left.isEmpty else { break }
      // The stop signal was old, or the reader is slow.
      Descriptors.reset(sink.wakeUp)
      reader.say(AttachmentFormat.Word.stillHere.rawValue)
    }
    report(sink.received, app)
  }

  /// Reports progress. The whole is reported with the end, once it is verified.
  private func report(_ count: UInt64, _ app: App) {
    guard wantsProgress, count < sink.total else { return }
    let now = Clock.uptime
    guard now - reportedAt >= Limits.progress else { return }
    reportedAt = now
    app.downloadChanged(self) { noteProgress(count) }
  }

  /// Reads that many bytes to the start of the buffer. Throws CONNECTION_UNAVAILABLE if the stream has ended, or is
  /// silent.
  private func read(
    _ count: Int, from reader: AttachmentReader, _ buffer: UnsafeMutableRawBufferPointer
  ) throws(SegueError) -> UnsafeRawBufferPointer {
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
    guard reader.read(into: room) == count else { throw Self.broken }
    return UnsafeRawBufferPointer(room)
  }
}

/// The thread's work in a virtual fleet, called by `FleetDownload` with the fleet's lock.
extension AttachmentDownload {
  final func start(_ fetch: FleetDownload) { lock.withLock { inFleet = fetch } }

  final var hasReceived: Bool { sink.received > 0 }
  /// The part to ask for.
  final var rest: Message.AttachmentPart { Message.AttachmentPart(name: name, offset: sink.received) }

  /// - Parameter size: from the other side. Throws HANDOFF_FAILED, SYSTEM.
  final func begin(size: UInt64) throws(SegueError) {
    try FileBytes.onHostThread { () throws(SegueError) in
      try sink.begin(size: size)
      try sink.takeBytes()
    }
  }

  /// - Returns: the number of bytes taken; fewer if a descriptor takes no more for now. Throws MALFORMED, SYSTEM.
  final func take(_ bytes: ArraySlice<UInt8>, at uptime: Int64) throws(SegueError) -> Int {
    guard UInt64(bytes.count) <= sink.total - sink.received else { throw AttachmentSink.malformed }
    var count = 0
    var failure: SegueError?
    bytes.withUnsafeBytes { bytes in
      do throws(SegueError) {
        try FileBytes.onHostThread { () throws(SegueError) in count = try sink.write(bytes, milliseconds: 0) }
        sink.hash(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    if wantsProgress, sink.received < sink.total, uptime - reportedAt >= Limits.progress {
      reportedAt = uptime
      if noteProgress(sink.received) { queueNews() }
    }
    return count
  }

  /// Throws HANDOFF_FAILED, MALFORMED, SYSTEM.
  final func finish(_ verdict: AttachmentFormat.Verdict?, digest sum: ArraySlice<UInt8>) throws(SegueError) {
    try sink.verify(verdict, digest: sum)
    try sink.finish()
  }

  final func endInFleet(_ error: SegueError?) {
    leaveFleet()
    sink.close()
    if error == nil, wantsProgress { _ = noteProgress(sink.total) }
    self.error = error
    hasEnded = true
    queueNews()
  }

  /// Its process is dead.
  final func abandonInFleet() {
    leaveFleet()
    sink.close()
  }

  private func leaveFleet() { lock.withLock { inFleet = nil } }

  private func queueNews() {
    guard let app = activity.app else { return }
    app.due.append(.download(self))
    app.environment.signalDue()
  }
}
