// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// An attached file: open, as it was when attached. It may be renamed or deleted; only its bytes count.
public final class SourceFile: AttachmentSource, @unchecked Sendable {
  public var size: UInt64 { stamp.size }
  /// Its offset is not used.
  public var descriptor: Int32 { fd }
  private let fd: Int32
  /// The record of the file when it was attached.
  public let stamp: FileStamp
  private let lock = Lock()
  // Guarded by `lock`.
  private var knownDigest: [UInt8]?
  /// The digest of the first bytes.
  private var begunDigest: SHA256?
  private var hashedSize: UInt64 = 0
  private var isHashing = false

  /// Throws SYSTEM, or INVALID_ARGUMENT if it is not a file.
  public static func at(path: String) throws(SegueError) -> SourceFile {
    guard !Text.has(path, 0) else { throw SegueError(.invalidArgument, "path: has a NUL in it") }
    // Opening a pipe would block until there is a writer.
    let fd = linux_openat(AT_FDCWD, Text.terminated(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
    guard fd >= 0 else { throw .system("path") }
    return try open(own: Descriptors.own(fd))
  }

  /// Creates a second descriptor of it; its offset is not used. Throws SYSTEM, or INVALID_ARGUMENT if it is not a
  /// readable file.
  public static func of(descriptor: Int32) throws(SegueError) -> SourceFile {
    let fd = linux_duplicate(descriptor)
    guard fd >= 0 else { throw .system("fd") }
    return try open(own: Descriptors.own(fd))
  }

  /// Creates a file in memory with these bytes. Throws SYSTEM.
  public static func with(bytes: UnsafeRawBufferPointer) throws(SegueError) -> SourceFile {
    let fd = linux_memory_file()
    guard fd >= 0 else { throw .system("a file in memory") }
    _ = Descriptors.own(fd)
    do throws(SegueError) {
      try FileBytes.writeQuietly(bytes, to: fd)
    } catch {
      Descriptors.close(fd)
      throw error
    }
    // A receiver could reopen it for writing, so it is sealed. If it cannot be sealed, it is treated like any other
    // file.
    _ = linux_seal(fd)
    return try open(own: fd)
  }

  /// Closes the descriptor if it throws.
  private static func open(own fd: Int32) throws(SegueError) -> SourceFile {
    guard let stamp = FileStamp(of: fd), linux_is_readable(fd) == 1 else {
      Descriptors.close(fd)
      throw SegueError(.invalidArgument, "what is to be attached is no regular file that can be read")
    }
    return SourceFile(fd, stamp)
  }

  private init(_ fd: Int32, _ stamp: FileStamp) {
    self.fd = fd
    self.stamp = stamp
    super.init()
  }

  deinit { Descriptors.close(fd) }

  /// SHA-256 of the file, once all of it has been read.
  public var digest: [UInt8]? {
    get { lock.withLock { knownDigest } }
    set { lock.withLock { knownDigest = newValue } }
  }

  // The digest is computed once, by the threads that need it, one at a time. What one has begun the next continues.

  /// Whether the digest needs bytes before that position, or its end.
  public func needsHash(upTo position: UInt64) -> Bool {
    lock.withLock { knownDigest == nil && (hashedSize < position || position == size) }
  }

  /// The result of `hashNext`.
  public enum Step {
    case hashed
    /// Another thread hashes.
    case busy
    /// The file has become shorter, or was changed while it was read: its digest begins anew.
    case ended
  }

  /// Reads the next bytes of the digest into a buffer, and adds them. Throws SYSTEM.
  public func hashNext(_ buffer: UnsafeMutableRawBufferPointer) throws(SegueError) -> Step {
    guard let (digest, position) = try claim(before: nil) else { return .busy }
    let wanted = Int(min(UInt64(buffer.count), size - position))
    let count: Int
    do throws(SegueError) {
      count = try read(at: position, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
    } catch {
      release(digest, 0)
      throw error
    }
    digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    guard release(digest, count) else { return .ended }
    return count > 0 || wanted == 0 ? .hashed : .ended
  }

  /// Adds bytes that were read anyway, as far as the digest needs them next. Throws SYSTEM.
  public func hash(_ bytes: UnsafeRawBufferPointer, at position: UInt64) throws(SegueError) {
    guard let (digest, hashed) = try claim(before: position + UInt64(bytes.count)) else { return }
    // The bytes before them may be missing: then none is added.
    let skipped = hashed < position ? bytes.count : Int(hashed - position)
    digest.update(UnsafeRawBufferPointer(rebasing: bytes[skipped...]))
    release(digest, bytes.count - skipped)
  }

  /// - Parameter end: the position that the caller can hash up to; nil: any.
  /// - Returns: the digest, and the number of bytes in it; nil if another thread has it, or none is needed.
  private func claim(before end: UInt64?) throws(SegueError) -> (SHA256, UInt64)? {
    try lock.withLock { () throws(SegueError) -> (SHA256, UInt64)? in
      guard !isHashing, knownDigest == nil, end.map({ hashedSize < $0 }) ?? true else { return nil }
      let digest = if let begunDigest { begunDigest } else { try SHA256.begin() }
      isHashing = true
      return (digest, hashedSize)
    }
  }

  /// - Returns: false if all was read, but the file was changed meanwhile.
  @discardableResult
  private func release(_ digest: SHA256, _ count: Int) -> Bool {
    lock.withLock {
      isHashing = false
      hashedSize += UInt64(count)
      begunDigest = hashedSize < size ? digest : nil
      guard hashedSize >= size else { return true }
      guard isUnchanged else {
        hashedSize = 0
        return false
      }
      knownDigest = digest.finish()
      return true
    }
  }

  /// Whether the file is unchanged since it was attached.
  public var isUnchanged: Bool {
    linux_is_sealed(fd) == 1 || (FileStamp(of: fd)?.hasSameBytes(as: stamp) ?? false)
  }

  /// Reopens the file for reading only, whatever descriptor the host gave; the caller closes it.
  /// - Returns: nil if that is impossible.
  public func openedAgain() -> Int32? {
    let path = Text.terminated(Descriptors.path(of: fd))
    let again = Descriptors.own(linux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0))
    guard again >= 0 else { return nil }
    var (status, other) = (stat(), stat())
    guard fstat(fd, &status) == 0, fstat(again, &other) == 0, status.st_dev == other.st_dev,
      status.st_ino == other.st_ino
    else {
      Descriptors.close(again)
      return nil
    }
    return again
  }

  /// Opens it for another process of this device, which only reads it; the caller closes it.
  /// - Returns: nil if it was changed since it was attached, or is not on one of the kernel's own file systems. On
  ///   others any call may block.
  public func openedToHandOver() -> Int32? { LocalFiles.has(fd) && isUnchanged ? openedAgain() : nil }

  /// - Returns: the number of bytes read; 0 at the end. Throws SYSTEM.
  public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(SegueError) -> Int {
    guard let offset = off_t(exactly: offset) else { return 0 }
    while true {
      let count = pread(fd, buffer.baseAddress, buffer.count, offset)
      if count >= 0 { return count }
      guard linux_errno() == EINTR else { throw .system("reading what is attached") }
    }
  }
}
