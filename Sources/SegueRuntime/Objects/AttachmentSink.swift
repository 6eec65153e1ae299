// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueApp
import SegueModel
import SegueTransport
import SegueWire

/// The target of the bytes of an attachment, and their count. For one thread at a time, except `wakeUp`.
public final class AttachmentSink {
  public enum Target {
    case file(TargetFile)
    case descriptor(TargetDescriptor)
  }

  /// Bytes from which on a second thread is used.
  private static let large: UInt64 = 4 * 1024 * 1024

  /// The size in the activity.
  let total: UInt64
  private(set) var received: UInt64 = 0
  var missing: UInt64 { total - received }
  private(set) var hasBegun = false
  private let target: Target
  private let digest: ThreadedDigest
  /// Whether bytes are sent, rather than the file.
  private var takesBytes = false
  /// Readable when there is work for the thread.
  let wakeUp: Int32

  /// Throws NOT_FOUND, SYSTEM.
  public convenience init(_ activity: LiveActivity, _ name: String, to target: Target) throws(SegueError) {
    try self.init(size: try activity.attachment(name).size, to: target)
  }

  /// Throws SYSTEM.
  public convenience init(size total: UInt64, to target: Target) throws(SegueError) {
    let digest = ThreadedDigest(try SHA256.begin())
    self.init(total, target, digest, wakeUp: try Descriptors.eventDescriptor())
  }

  private init(_ total: UInt64, _ target: Target, _ digest: ThreadedDigest, wakeUp: Int32) {
    self.total = total
    self.target = target
    self.digest = digest
    self.wakeUp = wakeUp
  }

  deinit { Descriptors.close(wakeUp) }

  private static var changed: SegueError {
    SegueError(.handoffFailed, "the file was changed after its app had attached it")
  }

  /// - Parameter size: from the other side. Throws HANDOFF_FAILED, SYSTEM.
  func begin(size: UInt64) throws(SegueError) {
    guard size == total else { throw Self.changed }
    if !hasBegun, case .file(let file) = target { try file.begin() }
    hasBegun = true
  }

  /// Discards what was copied.
  func startAgain() throws(SegueError) { if case .file(let file) = target { try file.startAgain() } }

  /// From now on the attachment arrives as bytes.
  func takeBytes() throws(SegueError) {
    guard !takesBytes else { return }
    takesBytes = true
    try startAgain()
    if case .file(let file) = target { try file.reserve(size: total) }
  }

  /// Hashes a large attachment on a thread of its own.
  func startThread() { if total >= Self.large { digest.startThread() } }

  /// The bytes must not change until the next call of this or of `waitForDigest` has returned.
  func hash(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }

  func waitForDigest() { digest.wait() }

  /// - Parameter milliseconds: for a descriptor to accept any; a file needs no wait.
  /// - Returns: the number of bytes accepted. Throws SYSTEM.
  func write(_ bytes: UnsafeRawBufferPointer, milliseconds: Int32) throws(SegueError) -> Int {
    var count = bytes.count
    switch target {
    case .file(let file): try file.write(bytes)
    case .descriptor(let descriptor): count = try descriptor.write(bytes, until: wakeUp, milliseconds: milliseconds)
    }
    received += UInt64(count)
    return count
  }

  /// Copies the whole file that was passed, as it was when it was attached. Without a wire no digest is needed.
  /// - Parameter report: gets the bytes so far; throws to stop the copy.
  /// - Returns: whether that was possible; if not, the copy is discarded. Throws HANDOFF_FAILED if the file was
  ///   changed; SYSTEM.
  func copy(
    _ source: HandedFile, changedAt time: (seconds: Int64, nanoseconds: UInt32),
    _ report: (UInt64) throws(SegueError) -> Void
  ) throws(SegueError) -> Bool {
    guard case .file(let file) = target, !takesBytes else { return false }
    guard source.has(size: total, changedAt: time) else { throw Self.changed }
    var copied: UInt64 = 0
    while copied < total {
      let count = try file.copy(source, upTo: total)
      if count == 0 { break }
      copied += UInt64(count)
      try report(copied)
    }
    switch source.state {
    case .changed: throw Self.changed
    case .doubtful: return false
    case .unchanged: break
    }
    guard copied == total else { return false }
    received = total
    return true
  }

  /// Checks the received bytes against the size and the digest. Throws HANDOFF_FAILED, MALFORMED.
  func verify(_ verdict: AttachmentFormat.Verdict?, digest sum: [UInt8]) throws(SegueError) {
    switch verdict {
    case .complete: break
    case .changed: throw Self.changed
    case .unreadable, nil: throw SegueError(.handoffFailed, "the origin cannot read the attachment")
    }
    guard received == total else { throw IncomingAttachment.malformed }
    guard digest.finish().elementsEqual(sum) else {
      throw SegueError(.malformed, "the digests differ: what came is not what was sent")
    }
  }

  /// Puts a verified file in its place. Throws SYSTEM, or INVALID_ARGUMENT if something else has that by now.
  func finish() throws(SegueError) {
    if case .file(let file) = target { try file.finish() }
  }

  /// Discards an unfinished file. Call once, last.
  func close() {
    digest.end()
    switch target {
    case .file(let file): file.discard()
    // A reader of the target waits for its end.
    case .descriptor(let descriptor): descriptor.close()
    }
  }
}
