// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import Foundation
import SegueModel
import SegueTransport
import Testing

/// Files that are attached, and those that attachments are fetched into (R7.6).
@Suite struct AttachmentFileTests {
  private let folder = NSTemporaryDirectory() + "segue-files-\(UUID())"

  init() { #expect(mkdir(folder, 0o700) == 0) }

  private func refusal(_ path: String) -> SegueError? {
    do { _ = try TargetFile(path: path) } catch { return error }
    return nil
  }

  @Test func `a name that no file can have is refused before anything is fetched (R7.6)`() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(refusal("\(folder)/" + String(repeating: "n", count: 255)) == nil)
    let long = try #require(refusal("\(folder)/" + String(repeating: "n", count: 256)))
    #expect(long.status == .system && long.message.contains("File name too long"))
    #expect(refusal("") == SegueError(.invalidArgument, "path: is empty"))
    #expect(refusal("\(folder)/a\0b") == SegueError(.invalidArgument, "path: has a NUL in it"))
    #expect(refusal("\(folder)/") == SegueError(.invalidArgument, "path: is that of a folder"))
    #expect(refusal(folder) == SegueError(.invalidArgument, "path: is that of a folder"))
  }

  @Test(arguments: [false, true])
  func `no more is written to a pipe than it has room for, as another writer leaves it (R7.6)`(isNamed: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var ends: [Int32] = [-1, -1]
    if isNamed {
      let path = folder + "/pipe"
      #expect(mkfifo(path, 0o600) == 0)
      ends[0] = open(path, O_RDONLY | O_NONBLOCK)
      ends[1] = open(path, O_WRONLY)
    } else {
      #expect(pipe(&ends) == 0)
    }
    defer { for end in ends { close(end) } }
    let stop = try Descriptors.eventDescriptor()
    defer { Descriptors.close(stop) }
    let target = try TargetDescriptor.of(ends[1])
    let (size, page) = (65_536, 4_096)
    let filled = [UInt8](repeating: 1, count: size - page)
    #expect(write(ends[1], filled, filled.count) == filled.count)
    let bytes = [UInt8](repeating: 2, count: size)
    let written = try bytes.withUnsafeBytes { try target.write($0, until: stop, milliseconds: 1) }
    #expect(written == page)
    var all = [UInt8](repeating: 0, count: 2 * size)
    #expect(read(ends[0], &all, all.count) == size && all[..<size].elementsEqual(filled + bytes[..<page]))
    #expect(fcntl(ends[1], F_GETFL) & O_NONBLOCK == 0, "the descriptor of the host is as it was")
  }

  @Test func `messages are not larger than a page (R7.6)`() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var ends: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, 5 /* SOCK_SEQPACKET */, 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    let stop = try Descriptors.eventDescriptor()
    defer { Descriptors.close(stop) }
    let bytes = [UInt8](repeating: 1, count: 10_000)
    let target = try TargetDescriptor.of(ends[1])
    #expect(try bytes.withUnsafeBytes { try target.write($0, until: stop, milliseconds: 1) } == bytes.count)
    var buffer = [UInt8](repeating: 0, count: bytes.count)
    #expect((0..<3).map { _ in read(ends[0], &buffer, buffer.count) } == [4_096, 4_096, 1_808])
  }

  /// Opens a pipe again on a thread that has descriptors of its own, in which the number is that of another pipe.
  private final class OtherThread: @unchecked Sendable {
    private let ended = DispatchSemaphore(value: 0)
    private var result: UInt = 0

    /// - Returns: the inode of what is open then; 0: nothing is.
    func reopen(_ fd: Int32, otherwise other: Int32) throws -> UInt {
      let symbol = try #require(dlsym(nil, "unshare"))
      let unshare = unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
      Thread.detachNewThread { [self] in
        var status = stat()
        if unshare(0x400 /* CLONE_FILES */) == 0, dup2(other, fd) == fd, fstat(linux_reopen_pipe(fd), &status) == 0 {
          result = UInt(status.st_ino)
        }
        ended.signal()
      }
      ended.wait()
      return result
    }
  }

  @Test func `a pipe that is opened again is that of the thread (R7.6)`() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var (ends, others): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
    #expect(pipe(&ends) == 0 && pipe(&others) == 0)
    defer { for end in ends + others { close(end) } }
    let opened = linux_reopen_pipe(ends[1])
    #expect(opened >= 0 && close(opened) == 0)
    var wanted = stat()
    #expect(fstat(others[1], &wanted) == 0)
    #expect(try OtherThread().reopen(ends[1], otherwise: others[1]) == UInt(wanted.st_ino))
  }

  /// Reads the rest of a file into its digest.
  private func hash(_ file: SourceFile) throws -> SourceFile.Step {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 16)
    defer { buffer.deallocate() }
    while file.needsHash(upTo: file.size) {
      let step = try file.hashNext(buffer)
      guard case .hashed = step else { return step }
    }
    return .hashed
  }

  @Test(arguments: [0, 3, 4, 10])
  func `a file that was changed while it was read has no digest, until it is as before (R7.6)`(size: Int) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/file"
    try Data(repeating: 1, count: size).write(to: URL(fileURLWithPath: path))
    let expected = try SourceFile.at(path: path)
    let file = try SourceFile.at(path: path)
    #expect(try hash(expected) == .hashed && expected.digest != nil)
    var status = stat()
    #expect(stat(path, &status) == 0)
    let fd = open(path, O_WRONLY)
    defer { close(fd) }
    let changed = [UInt8](repeating: 2, count: size)
    let restored = [UInt8](repeating: 1, count: size)
    var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
    #expect(pwrite(fd, changed, size, 0) == size && futimens(fd, times) == 0)
    #expect(try hash(file) == .ended && file.digest == nil)
    times = [status.st_atim, status.st_mtim]
    #expect(pwrite(fd, restored, size, 0) == size && futimens(fd, times) == 0)
    #expect(try hash(file) == .hashed && file.digest == expected.digest)
  }
}
