// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// A file that appears under its name only when it is complete, and then replaces an existing one. Until then it has no
/// name, or a hidden one if the file system does not support unnamed files.
public final class TargetFile: @unchecked Sendable {
  /// Bytes after which write-back to the disk is started, so that less remains at the end.
  private static let stretch: UInt64 = 8 * 1024 * 1024
  /// Bytes copied at a time if the kernel does not copy.
  private static let pieceSize = 1024 * 1024

  private let folder: Int32
  // Terminated by NUL; empty for a file that gets no name.
  private let name: [CChar]
  /// The hidden name, if there has to be one.
  private let hiddenName: [CChar]
  private var isHidden = false
  private var fd: Int32 = -1
  private var written: UInt64 = 0
  /// The complete file, if it gets no name.
  public private(set) var source: SourceFile?

  /// Throws INVALID_ARGUMENT if something else than a file has the path, or no file can; SYSTEM if its folder or its
  /// name cannot be used.
  public convenience init(path: String) throws(SegueError) {
    guard Text.size(path) > 0 else { throw SegueError(.invalidArgument, "path: is empty") }
    guard !Text.has(path, 0) else { throw SegueError(.invalidArgument, "path: has a NUL in it") }
    var parent = Text.terminated(path)
    let start = (parent.lastIndex(of: 0x2f) ?? -1) + 1
    let name = Array(parent[start...])
    // A dot, and 16 letters.
    var hidden = [CChar](repeating: 0x2e, count: 18)
    let bytes = try Randomness.identifier().bytes
    for index in 0..<16 { hidden[index + 1] = CChar(0x61 + bytes[index] & 15) }
    hidden[17] = 0
    if start == 0 { parent = [0x2e, 0] } else { parent[start] = 0 }
    let folder = Descriptors.own(linux_openat(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0))
    guard folder >= 0 else { throw .system("path: its folder") }
    guard name.count > 1 else {
      Descriptors.close(folder)
      throw Self.isFolder
    }
    if let refusal = Self.refusal(folder, name) {
      Descriptors.close(folder)
      throw refusal
    }
    self.init(folder, name, hidden)
  }

  /// A file that gets no name, and goes when its `source` does.
  /// - Parameter folder: where it is; on the disk of what it is for.
  /// Throws SYSTEM.
  public static func unnamed(in folder: String) throws(SegueError) -> TargetFile {
    let file = try TargetFile(path: String(joining: "\(folder)/-"))
    let own = Descriptors.own(linux_duplicate(file.folder))
    guard own >= 0 else { throw .system("path: its folder") }
    return TargetFile(own, [0], file.hiddenName)
  }

  private init(_ folder: Int32, _ name: [CChar], _ hiddenName: [CChar]) {
    self.folder = folder
    self.name = name
    self.hiddenName = hiddenName
  }

  deinit {
    discard()
    Descriptors.close(folder)
  }

  /// Says why the name cannot be taken: nothing but a regular file is replaced. A symbolic link is none, wherever it
  /// leads.
  private static func refusal(_ folder: Int32, _ name: [CChar]) -> SegueError? {
    var status = stat()
    guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      return linux_errno() == ENOENT ? nil : .system("path")
    }
    guard linux_is_file(&status) != 1 else { return nil }
    guard linux_is_folder(&status) != 1 else { return isFolder }
    return SegueError(.invalidArgument, "path: what is there is no file; fetch into its descriptor")
  }

  private static var isFolder: SegueError {
    SegueError(.invalidArgument, "path: is that of a folder")
  }

  /// Throws SYSTEM.
  public func begin() throws(SegueError) {
    fd = Descriptors.own(linux_openat(folder, [0x2e, 0], O_WRONLY | linux_o_tmpfile() | O_CLOEXEC, 0o666))
    if fd < 0 {
      fd = Descriptors.own(linux_openat(folder, hiddenName, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666))
      isHidden = fd >= 0
    }
    guard fd >= 0 else { throw .system("path: a file beside it") }
    guard isUnnamed else { return }
    if isHidden { unlinkat(folder, hiddenName, 0) }
    isHidden = false
    // It is opened again, by its descriptor: the umask may forbid that.
    fchmod(fd, 0o600)
  }

  private var isUnnamed: Bool { name.count == 1 }

  /// For those who write it by other means; negative before `begin`.
  public var descriptor: Int32 { fd }

  /// Reserves space for `count` bytes, so that a lack of space shows at once. Throws SYSTEM.
  public func reserve(size: UInt64) throws(SegueError) {
    // Not every file system supports this.
    guard size > 0, linux_allocate(fd, off_t(clamping: size)) != 0 else { return }
    try checkRoom()
  }

  /// Throws SYSTEM if the last call failed for lack of space.
  private func checkRoom() throws(SegueError) {
    switch linux_errno() {
    case ENOSPC, EFBIG, EDQUOT: throw .system(Self.writing)
    default: break
    }
  }

  /// Appends bytes. Throws SYSTEM.
  public func write(_ bytes: UnsafeRawBufferPointer) throws(SegueError) {
    try FileBytes.write(bytes, to: fd)
    wrote(bytes.count)
  }

  /// Appends the next bytes of another file. The kernel copies them, and shares the blocks if it can. Throws SYSTEM if
  /// there is no space.
  /// - Returns: the number of bytes; 0 if there are no more, or they cannot be read.
  public func copy(_ source: HandedFile, upTo size: UInt64) throws(SegueError) -> Int {
    let wanted = Int(min(Self.stretch, size - written))
    var offset = off_t(clamping: written)
    var count = copy_file_range(source.fd, &offset, fd, nil, wanted, 0)
    if count < 0 {
      try checkRoom()
      count = try copyBytes(source, at: off_t(clamping: written))
    }
    wrote(count)
    return count
  }

  /// Copies by reading and writing: the kernel may refuse to copy between file systems.
  private func copyBytes(_ source: HandedFile, at offset: off_t) throws(SegueError) -> Int {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
    defer { buffer.deallocate() }
    let count = max(0, pread(source.fd, buffer.baseAddress, buffer.count, offset))
    try FileBytes.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: fd)
    return count
  }

  /// Discards everything written so far. Throws SYSTEM.
  public func startAgain() throws(SegueError) {
    guard ftruncate(fd, 0) == 0, lseek(fd, 0, SEEK_SET) == 0 else { throw .system(Self.writing) }
    written = 0
  }

  private func wrote(_ count: Int) {
    let stretches = written / Self.stretch
    written += UInt64(count)
    if written / Self.stretch != stretches {
      linux_start_writing(fd, off_t(clamping: stretches * Self.stretch), off_t(Self.stretch))
    }
  }

  /// Completes the file: on the disk, and under its name. Throws SYSTEM, or INVALID_ARGUMENT if something else than a
  /// file has the path by now.
  public func finish() throws(SegueError) {
    if isUnnamed {
      source = try SourceFile.at(path: Descriptors.path(of: fd))
      return
    }
    guard fsync(fd) == 0 else { throw .system(Self.writing) }
    // The rename would replace it. The system offers no check that is one step with that.
    if let refusal = Self.refusal(folder, name) { throw refusal }
    if !isHidden { isHidden = linux_name_file(fd, folder, hiddenName) == 0 }
    guard isHidden, renameat(folder, hiddenName, folder, name) == 0 else { throw .system("path: naming it") }
    isHidden = false
    // Syncs the name, too. If that fails, a crash of the machine may lose the name, and nothing else.
    fsync(folder)
    discard()
  }

  /// Removes the file, unless it is complete.
  public func discard() {
    if isHidden { unlinkat(folder, hiddenName, 0) }
    isHidden = false
    Descriptors.close(fd)
    fd = -1
  }

  private static var writing: DiagnosticText { "writing an attachment" }
}
