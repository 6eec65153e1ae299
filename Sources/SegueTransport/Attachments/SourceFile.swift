import CLinux
import SegueModel

/// What is attached: an open file as it was then, on which nothing but the bytes counts: it may be renamed, or deleted.
public final class SourceFile: AttachmentSource, @unchecked Sendable {
  public let size: UInt64
  private let fd: Int32
  /// When its bytes were last changed.
  private let changedAt: timespec
  private let lock = Lock()
  /// Guarded by `lock`.
  private var knownDigest: [UInt8]?

  /// Throws SYSTEM, or INVALID_ARGUMENT if it is no file.
  public static func at(path: String) throws(SegueError) -> SourceFile {
    guard !Text.has(path, 0) else { throw SegueError(.invalidArgument, "path: has a NUL in it") }
    // A pipe would wait for somebody to write.
    let fd = linux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
    guard fd >= 0 else { throw .system("path") }
    return try open(own: Descriptors.own(fd))
  }

  /// A second descriptor of it; its offset is not used. Throws SYSTEM, or INVALID_ARGUMENT if it is no file that can be read.
  public static func of(descriptor: Int32) throws(SegueError) -> SourceFile {
    let fd = linux_duplicate(descriptor)
    guard fd >= 0 else { throw .system("fd") }
    return try open(own: Descriptors.own(fd))
  }

  /// A file in memory that has these bytes. Throws SYSTEM.
  public static func with(bytes: UnsafeRawBufferPointer) throws(SegueError) -> SourceFile {
    let fd = linux_memory_file()
    guard fd >= 0 else { throw .system("a file in memory") }
    _ = Descriptors.own(fd)
    do throws(SegueError) {
      try FileBytes.write(bytes, to: fd)
    } catch {
      Descriptors.close(fd)
      throw error
    }
    return try open(own: fd)
  }

  /// Closes the descriptor if it throws.
  private static func open(own fd: Int32) throws(SegueError) -> SourceFile {
    var status = stat()
    guard fstat(fd, &status) == 0, linux_is_file(&status) == 1, let size = UInt64(exactly: status.st_size),
      linux_is_readable(fd) == 1
    else {
      Descriptors.close(fd)
      throw SegueError(.invalidArgument, "what is to be attached is no regular file that can be read")
    }
    return SourceFile(fd, size: size, changedAt: status.st_mtim)
  }

  private init(_ fd: Int32, size: UInt64, changedAt: timespec) {
    self.fd = fd
    self.size = size
    self.changedAt = changedAt
    super.init()
  }

  deinit { Descriptors.close(fd) }

  /// SHA-256 of it, once somebody has read all of it.
  public var digest: [UInt8]? {
    get { lock.withLock { knownDigest } }
    set { lock.withLock { knownDigest = newValue } }
  }

  /// Whether nobody has written to it since it was attached.
  public var isUnchanged: Bool {
    var status = stat()
    return fstat(fd, &status) == 0 && UInt64(exactly: status.st_size) == size
      && status.st_mtim.tv_sec == changedAt.tv_sec && status.st_mtim.tv_nsec == changedAt.tv_nsec
  }

  /// - Returns: how many bytes were read; 0: there are no more. Throws SYSTEM.
  public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(SegueError) -> Int {
    guard let offset = off_t(exactly: offset) else { return 0 }
    while true {
      let count = pread(fd, buffer.baseAddress, buffer.count, offset)
      if count >= 0 { return count }
      guard linux_errno() == EINTR else { throw .system("reading what is attached") }
    }
  }
}
