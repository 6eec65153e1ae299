// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueApp
import SegueModel
import SegueSystem
import SegueTransport
import SegueWire

/// The receiver's half of the transfer of an attachment (R7.6): a thread asks for it, and reads a socket and writes, or
/// lets the kernel copy the file that came over the socket. If the connection breaks it asks again, and resumes where
/// it was. A subclass says how to ask, and who is told.
open class AttachmentReceiver: HandleObject, @unchecked Sendable {
  let name: String
  let sink: AttachmentSink
  /// The file, if its app has handed it over already, and the time of its last change.
  private let handed: (descriptor: OwnedDescriptor, changed: UInt64)?
  private let lock = Lock()

  // Guarded by `lock`.
  private var stopped: SegueError?
  private var isAnswered = false
  private var refusal: SegueError?
  private var thread: Thread?
  /// The stream of the attachment; negative if there is none.
  private var socket: Int32 = -1

  /// Used by the thread, like `sink`.
  private var reportedAt: Int64 = 0

  /// Bytes per read.
  private static let pieceSize = 256 * 1024
  /// The number of attempts to copy a handed file that is renamed or deleted meanwhile.
  private static let copies = 3

  /// - Parameter handed: the file, if it is not to be asked for, and the time of its last change (`FileStamp.changed`).
  public init(
    _ name: String, to sink: AttachmentSink, handed: (descriptor: OwnedDescriptor, changed: UInt64)? = nil
  ) {
    self.name = name
    self.sink = sink
    self.handed = handed
  }

  // MARK: For the subclass

  /// Asks for the stream of a part. The answer goes to `answered`. On the thread.
  /// Throws CONNECTION_UNAVAILABLE if that is to be tried again.
  open func ask(
    _ part: Message.AttachmentPart, otherEnd: OwnedDescriptor, timeout: Int64
  ) throws(SegueError) {}
  /// Milliseconds for which a transfer that has begun is tried again.
  open var resumeTime: Int64 { 0 }
  /// So many bytes have come: called at most ten times per second. On the thread.
  open func received(_ count: UInt64) {}
  /// The transfer has ended, with an error unless it was verified, and put in its place. On the thread, last.
  open func finished(_ error: SegueError?) {}

  /// Starts the thread, which retains the object. Throws SYSTEM.
  public final func start() throws(SegueError) {
    try lock.withLock { () throws(SegueError) in
      thread = try Thread { self.run() }
    }
  }

  /// Ends it soon, with that error, unless it has ended.
  open func stop(_ error: SegueError) {
    lock.withLock {
      if stopped == nil { stopped = error }
      if socket >= 0 { linux_shutdown(socket, 1, 1) }
    }
    Descriptors.raise(sink.wakeUp)
  }

  /// Waits for the end of the thread. Only the first call has an effect.
  public final func join() {
    let thread = lock.withLock { self.thread.take() }
    thread?.join()
  }

  /// The other side has accepted or refused the stream.
  open func answered(_ error: SegueError?) {
    lock.withLock {
      refusal = error
      isAnswered = true
    }
    Descriptors.raise(sink.wakeUp)
  }

  /// The part to ask for.
  public final var rest: Message.AttachmentPart { Message.AttachmentPart(name: name, offset: sink.received) }

  // MARK: The thread

  private final func run() {
    let error = fetch()
    sink.close()
    finished(error)
  }

  /// - Returns: the error, or nil.
  private final func fetch() -> SegueError? {
    if let handed {
      do throws(SegueError) {
        try copy(handed.descriptor, changed: handed.changed)
        return nil
      } catch {
        return error
      }
    }
    var retry = AttachmentRetry(at: Clock.uptime, resumeTime: resumeTime)
    while true {
      do throws(SegueError) {
        try attempt(&retry)
        return nil
      } catch {
        if let why = whyStopped { return why }
        do throws(SegueError) { wait(Int32(try retry.next(after: error, at: Clock.uptime))) } catch { return error }
        if let why = whyStopped { return why }
      }
    }
  }

  private final var whyStopped: SegueError? { lock.withLock { stopped } }

  private final func wait(_ milliseconds: Int32) {
    var descriptor = pollfd(fd: sink.wakeUp, events: Int16(POLLIN), revents: 0)
    poll(&descriptor, 1, milliseconds)
    Descriptors.reset(sink.wakeUp)
  }

  /// Asks for the rest, and receives it.
  private final func attempt(_ retry: inout AttachmentRetry) throws(SegueError) {
    let (near, far) = try StreamSocket.pair()
    lock.withLock {
      socket = near.fd
      isAnswered = false
    }
    defer {
      lock.withLock { socket = -1 }
      Descriptors.closeConnection(near.fd)
    }
    try ask(rest, otherEnd: OwnedDescriptor(far), timeout: retry.timeout(at: Clock.uptime))
    while true {
      if let why = whyStopped { throw why }
      let (isAnswered, refusal) = lock.withLock { (self.isAnswered, self.refusal) }
      if let refusal, isAnswered { throw refusal }
      if isAnswered { break }
      wait(-1)
    }
    try receive(AttachmentReader(near.fd), &retry)
  }

  private final func receive(_ reader: AttachmentReader, _ retry: inout AttachmentRetry) throws(SegueError) {
    // Two buffers, since one is hashed while the other is filled; and one for other bytes.
    let buffers = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * Self.pieceSize + 64, alignment: 16)
    let framing = UnsafeMutableRawBufferPointer(rebasing: buffers[(2 * Self.pieceSize)...])
    var start = 0
    defer {
      sink.waitForDigest()
      buffers.deallocate()
    }
    var stream = IncomingAttachment(missing: sink.missing)
    var handed: HandedFile?
    while true {
      switch stream.wanted {
      case .framing(let count):
        let room = UnsafeMutableRawBufferPointer(rebasing: framing[..<count])
        var descriptor: Int32 = -1
        let filled = stream.isAtHead ? reader.read(into: room, handed: &descriptor) : reader.read(into: room)
        let file = descriptor < 0 ? nil : HandedFile.take(descriptor)
        guard filled == count else { throw AttachmentRetry.broken }
        retry.heard(at: Clock.uptime, hasContent: false)
        switch try stream.take(UnsafeRawBufferPointer(room), at: Clock.uptime) {
        case nil: break
        case .size(let size):
          try sink.begin(size: size)
          handed = file
          if file == nil { try takeBytes() }
        case .isHandedOver(let seconds, let nanoseconds):
          if let file = handed.take(), try copy(file, changedAt: (seconds, nanoseconds)) { return try finish() }
          try takeBytes()
          reader.say(AttachmentFormat.Word.sendBytes.rawValue)
        case .end(let verdict, let digest):
          try sink.verify(verdict, digest: digest)
          return try finish()
        }
      case .content(let left):
        try takeBytes()
        let room = UnsafeMutableRawBufferPointer(rebasing: buffers[start..<start + min(left, Self.pieceSize)])
        let count = reader.read(into: room)
        try take(UnsafeRawBufferPointer(rebasing: room[..<count]), reader)
        stream.tookContent(count)
        if count > 0 { retry.heard(at: Clock.uptime, hasContent: true) }
        guard count == room.count else { throw AttachmentRetry.broken }
        start = Self.pieceSize - start
      }
    }
  }

  private final func takeBytes() throws(SegueError) {
    try sink.takeBytes()
    sink.startThread()
  }

  private final func copy(
    _ source: HandedFile, changedAt time: (seconds: Int64, nanoseconds: UInt32)
  ) throws(SegueError) -> Bool {
    try sink.copy(source, changedAt: time) { (copied) throws(SegueError) in
      if let why = whyStopped { throw why }
      report(copied)
    }
  }

  /// Copies what was handed over before, as it was when it was attached.
  private final func copy(_ descriptor: OwnedDescriptor, changed: UInt64) throws(SegueError) {
    try sink.begin(size: sink.total)
    for _ in 0..<Self.copies {
      guard let file = HandedFile.of(descriptor: descriptor.fd) else { break }
      if try copy(file, changedAt: FileStamp.time(changed)) { return try finish() }
      try sink.startAgain()
    }
    throw SegueError(.handoffFailed, "what its app has handed over cannot be read")
  }

  private final func finish() throws(SegueError) {
    if let why = whyStopped { throw why }
    try sink.finish()
  }

  private final func take(
    _ bytes: UnsafeRawBufferPointer, _ reader: AttachmentReader
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
    report(sink.received)
  }

  /// Reports progress. The whole is reported with the end, once it is verified.
  private final func report(_ count: UInt64) {
    guard shouldReport(count, at: Clock.uptime) else { return }
    received(count)
  }

  /// Whether progress is due.
  final func shouldReport(_ count: UInt64, at uptime: Int64) -> Bool {
    guard count < sink.total, uptime - reportedAt >= Limits.progress else { return false }
    reportedAt = uptime
    return true
  }
}
