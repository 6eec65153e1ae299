// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// Tells in which sandbox the process at the other end of a socket runs (R13.8). It asks the kernel, and reads files of
/// the kernel's own file systems only, so that no process makes it wait.
public enum PeerSandbox {
  /// The most bytes of a file that are read.
  private static let limit = 64 * 1024
  /// Whether Landlock keeps this process from looking at others: then only control groups tell. Set once, before any
  /// thread starts.
  public nonisolated(unsafe) static var isConfined = false

  /// - Parameter process: the number of the process at the other end of `socket`.
  /// - Returns: nil if it is in none, is this one, or is not visible here.
  public static func of(_ socket: Int32, _ process: Int32) -> Sandbox? {
    guard process > 0, process != getpid() else { return nil }
    // Before Linux 6.5 the number may be another process's by now.
    var held = linux_peer_pidfd(socket)
    if held < 0 { held = linux_pidfd_open(process) }
    guard held >= 0 || linux_errno() != ESRCH else { return .unknown }
    let found = sandbox(of: process)
    guard held >= 0 else { return found }
    defer { _ = close(held) }
    // A process that has ended meanwhile may have left its number to another one.
    var end = pollfd(fd: held, events: Int16(POLLIN), revents: 0)
    return poll(&end, 1, 0) == 0 ? found : .unknown
  }

  private static func sandbox(of process: Int32) -> Sandbox? {
    // Without procfs nothing is known of any process.
    guard let own = namespace("self") else { return nil }
    let theirs = namespace("\(process)")
    if own == theirs { return nil }
    let cgroup = contents(String(joining: "/proc/\(process)/cgroup")) ?? []
    return cgroup.withUnsafeBytes { cgroup in
      if let sandbox = Sandbox(cgroup: cgroup) { return sandbox }
      guard theirs != nil else {
        // It keeps the system from telling, or has rights that this process lacks. A Flatpak has a unit of its own.
        return isConfined || Sandbox.isInUnit(cgroup: cgroup) ? nil : .unknown
      }
      return flatpak(process)
    }
  }

  private static func flatpak(_ process: Int32) -> Sandbox? {
    let name: DiagnosticText = "\(process)"
    let root = linux_open_path(AT_FDCWD, Text.terminated(String(joining: "/proc/\(process)/root")), 0)
    guard root >= 0 else { return .unknown }
    defer { _ = close(root) }
    guard LocalFiles.has(root, of: name) else { return .unknown }
    let info = linux_open_path(root, Text.terminated(".flatpak-info"), 1)
    guard info >= 0 else { return linux_errno() == ENOENT ? nil : .unknown }
    defer { _ = close(info) }
    guard LocalFiles.has(info, of: name), let bytes = contents(String(joining: "/proc/self/fd/\(info)")) else {
      return .unknown
    }
    return bytes.withUnsafeBytes { Sandbox(flatpak: $0) }
  }

  /// The mount namespace of a process; nil: the system does not tell.
  private static func namespace(_ process: DiagnosticText) -> [UInt8]? {
    let path = Text.terminated(String(joining: "/proc/\(process)/ns/mnt"))
    let name = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      let size = buffer.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, $0.count) }
      count = max(0, size)
    }
    return name.isEmpty ? nil : name
  }

  /// The first bytes of a regular file, or of one of procfs; nil: it cannot be read.
  private static func contents(_ path: String) -> [UInt8]? {
    let fd = linux_openat(AT_FDCWD, Text.terminated(path), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0)
    guard fd >= 0 else { return nil }
    defer { _ = close(fd) }
    var status = stat()
    guard fstat(fd, &status) == 0, linux_is_file(&status) != 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: limit)
    var size = 0
    while size < limit {
      let count = bytes.withUnsafeMutableBytes { read(fd, $0.baseAddress! + size, limit - size) }
      if count < 0, linux_errno() == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { break }
      size += count
    }
    bytes.removeLast(limit - size)
    return bytes
  }
}
