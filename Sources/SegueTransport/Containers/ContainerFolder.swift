// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The folder of a container in the file system (R5.3, R5.4).
public enum ContainerFolder {
  /// The times that opening is tried while the folder changes, and those after which it waits in between.
  private static let attempts = 64
  private static let quickAttempts = 8

  /// The path without symbolic links; nil if there is no such folder yet, or it cannot be searched for.
  /// Throws INVALID_ARGUMENT if it is a file, SYSTEM.
  public static func realPath(of path: [UInt8]) throws(SegueError) -> [UInt8]? {
    let (real, number): ([UInt8]?, Int32) = withPath(path) { path in
      guard let real = resolved(path) else { return (nil, linux_errno()) }
      var status = stat()
      guard withPath(real, { stat($0, &status) }) == 0 else { return (nil, linux_errno()) }
      guard linux_is_folder(&status) == 1 else { return (nil, ENOTDIR) }
      return (real, 0)
    }
    switch number {
    case 0, ENOENT, EACCES: return real
    case ENOTDIR: throw SegueError(.invalidArgument, "folder: is no folder")
    default: throw .system("folder", number)
    }
  }

  /// The same for a folder that was not there before; nil if it still is not, or is a file.
  public static func found(_ path: [UInt8]) -> [UInt8]? {
    do throws(SegueError) { return try realPath(of: path) } catch { return nil }
  }

  /// The `file:` URL of the path without symbolic links, for the URL of a file that is there, or may be made in a
  /// folder that is there; nil if there is none.
  public static func realURL(of url: String) -> String? {
    guard var path = AbsoluteURL.filePath(url) else { return nil }
    let slash = UInt8(ascii: "/")
    let isFolder = path.last == slash
    if isFolder { path.removeLast() }
    var real = withPath(path, resolved)
    if real == nil, let end = path.lastIndex(of: slash), end > 0 {
      real = withPath(Array(path[..<end]), resolved).map { $0 + path[end...] }
    }
    return real.map { AbsoluteURL.file(isFolder ? $0 + [slash] : $0) }
  }

  private static func resolved(_ path: UnsafePointer<CChar>) -> [UInt8]? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return Array(UnsafeRawBufferPointer(start: real, count: strlen(real)))
  }

  /// Opens a file or folder for reading, or a file for both, never anything else, and never what is not beneath
  /// `folder`: neither `path` nor a symbolic link, nor one that another process exchanges meanwhile, leads outside.
  /// Throws NOT_THERE_YET, NOT_ALLOWED, SYSTEM.
  /// - Parameters:
  ///   - path: of a `ContainerPlace`.
  ///   - folder: an absolute path, whose last component is no symbolic link.
  /// - Returns: a descriptor, close-on-exec and blocking, for `close`.
  public static func open(
    _ path: [UInt8], beneath folder: [UInt8], forWriting: Bool
  ) throws(SegueError) -> Int32 {
    // As the system answers: it looks at no component of such a path, so the walk does not, either.
    guard path.count <= Limits.path else { throw refusal(ENAMETOOLONG, "the file") }
    let root = openAt(AT_FDCWD, folder, linux_o_path() | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard root >= 0 else { throw refusal(-root, "the folder of the container") }
    defer { close(root) }
    // To open a FIFO or a device may already do something: what is there is looked at without opening it.
    let found = try openRepeatedly(path, root, linux_o_path() | O_CLOEXEC)
    defer { close(found) }
    try check(found)
    let flags = (forWriting ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    let file = linux_openat(AT_FDCWD, Text.terminated(Descriptors.path(of: found)), flags, 0)
    guard file >= 0 else {
      let number = linux_errno()
      // The file is there: it was found just now.
      throw number == ENOENT ? .system("url: /proc", number) : refusal(number, "the file")
    }
    guard linux_set_blocking(file) == 0 else {
      let number = linux_errno()
      close(file)
      throw .system("url", number)
    }
    return file
  }

  /// Closes a descriptor of `open`.
  public static func close(_ fd: Int32) { _ = CLinux.close(fd) }

  /// A FIFO, a device or a socket could block, or do something when it is opened: only files and folders are given to
  /// the host, and these wait for the disk, as usual.
  private static func check(_ file: Int32) throws(SegueError) {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .system("url") }
    guard linux_is_file(&status) == 1 || linux_is_folder(&status) == 1 else {
      throw SegueError(.notAllowed, "url: is neither a file nor a folder")
    }
  }

  /// The system answers EAGAIN if the folder is changed while it looks for the file.
  private static func openRepeatedly(_ path: [UInt8], _ root: Int32, _ flags: Int32) throws(SegueError) -> Int32 {
    for attempt in 0..<attempts {
      let file = openOnce(path, root, flags)
      if file >= 0 { return file }
      guard file == -EAGAIN || file == -EINTR else { throw refusal(-file, "the file") }
      if attempt >= quickAttempts { usleep(1_000) }
    }
    throw SegueError(.notThereYet, "url: the container changes all the time")
  }

  /// A descriptor, or the negative number of the error, as all of these.
  private static func openOnce(_ path: [UInt8], _ root: Int32, _ flags: Int32) -> Int32 {
    let file = withPath(path.isEmpty ? [UInt8(ascii: ".")] : path) {
      let file = linux_open_beneath(root, $0, flags)
      return file >= 0 ? file : -linux_errno()
    }
    // A system before Linux 5.6, or a sandbox that does not know the call.
    return file == -ENOSYS || file == -EPERM ? walk(path, root, flags) : file
  }

  /// Opens component by component, and follows no symbolic link at all.
  private static func walk(_ path: [UInt8], _ root: Int32, _ flags: Int32) -> Int32 {
    var folder = root
    defer { if folder != root { close(folder) } }
    var name: [UInt8] = []
    for byte in path {
      guard byte == UInt8(ascii: "/") else {
        name.append(byte)
        continue
      }
      let next = openAt(folder, name, linux_o_path() | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard next >= 0 else { return next }
      if folder != root { close(folder) }
      folder = next
      name = []
    }
    // The folder itself, or one that is named as such by the slash at the end.
    return openAt(folder, name.isEmpty ? [UInt8(ascii: ".")] : name, flags | O_NOFOLLOW)
  }

  private static func openAt(_ folder: Int32, _ name: [UInt8], _ flags: Int32) -> Int32 {
    withPath(name) {
      let file = linux_openat(folder, $0, flags, 0)
      return file >= 0 ? file : -linux_errno()
    }
  }

  /// The error for a file that cannot be opened. Synchronisation may bring a missing file; other refusals stay.
  private static func refusal(_ number: Int32, _ what: StaticString) -> SegueError {
    switch number {
    case ENOENT: SegueError(.notThereYet, "url: \(what) is not there yet")
    case EXDEV: SegueError(.notAllowed, "url: \(what) is outside of the container")
    case EACCES, EPERM, EROFS, ELOOP, ENOTDIR, EISDIR, ENXIO, ENODEV, ENAMETOOLONG, ETXTBSY, EOVERFLOW, EINVAL:
      SegueError(.notAllowed, "url: \(what) cannot be opened: \(Text.decoded(cString: strerror(number)))")
    default: .system("url: \(what)", number)
    }
  }

  private static func withPath<Result>(_ path: [UInt8], _ body: (UnsafePointer<CChar>) -> Result) -> Result {
    let text = path + [0]
    return text.withUnsafeBytes { body($0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self)) }
  }
}
