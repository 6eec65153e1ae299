// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// Tells in which sandbox the process at the other end of a socket runs (R13.8). It asks the kernel, and reads files of
/// the kernel's own file systems only, so that no process makes it wait.
public enum PeerSandbox {
  /// The result of a first look, which every process may take, also one that Landlock confines.
  public enum Glance {
    case known(PeerStanding)
    /// The process may be in a sandbox, which `look` tells. The descriptor holds it, and is the caller's.
    case hidden(Int32)
  }

  /// Looks at the numbers and the control group of the process at the other end of a socket. A Flatpak has process
  /// numbers of its own, and a Snap a control group: a process with neither is in none.
  public static func glance(at socket: Int32) -> Glance {
    let process = Socket.peerProcess(socket)
    if process == getpid() { return .known(.free) }
    // This process is in a container, and the other one is outside.
    guard process > 0 else { return .known(.sandboxed(.nameless)) }
    var held = linux_peer_pidfd(socket)
    // Before Linux 6.5 the number may be another process's by now.
    if held < 0, linux_errno() == ENOPROTOOPT { held = linux_pidfd_open(process) }
    if held < 0, [EMFILE, ENFILE].contains(linux_errno()) {
      return .known(.refused(SegueError(.limitExceeded, "the hub can open no descriptor for the app's process")))
    }
    guard held >= 0 else { return .known(.refused(gone)) }
    held = Descriptors.own(held)
    switch numbers(of: held) {
    // Nothing is known of any process without procfs.
    case nil: return known(.sandboxed(.nameless), held)
    case let numbers? where numbers.process <= 0: return known(.refused(gone), held)
    case let numbers?:
      let cgroup = contents(String(joining: "/proc/\(numbers.process)/cgroup"))
      guard isAlive(held) else { return known(.refused(gone), held) }
      let isFree = !numbers.areOwn && cgroup?.withUnsafeBytes { Sandbox(cgroup: $0) == nil } ?? false
      return isFree ? known(.free, held) : .hidden(held)
    }
  }

  private static func known(_ standing: PeerStanding, _ held: Int32) -> Glance {
    Descriptors.close(held)
    return .known(standing)
  }

  /// Looks into the sandbox of a process. Landlock keeps a process that it confines from that.
  /// - Parameter held: a descriptor of the process.
  public static func look(at held: Int32) -> PeerStanding {
    guard let numbers = numbers(of: held), numbers.process > 0 else { return .refused(gone) }
    let standing = standing(of: numbers.process)
    // A process that has ended meanwhile may have left its number to another one.
    return isAlive(held) ? standing : .refused(gone)
  }

  private static func standing(of process: Int32) -> PeerStanding {
    let cgroup = contents(String(joining: "/proc/\(process)/cgroup"))
    let unit = cgroup?.withUnsafeBytes { Sandbox(cgroup: $0) }
    let theirs = mounts(of: "\(process)")
    // A Snap with classic confinement, or a program that has process numbers of its own and no other files.
    if let theirs, theirs == mounts(of: "self") { return .free }
    let found: PeerStanding = unit.map { .sandboxed($0) } ?? .free
    // It forbids that, or has rights that this process lacks: a Flatpak could do so.
    guard theirs != nil, cgroup != nil else {
      return unit == nil ? refused("the system does not tell in which sandbox its process runs") : found
    }
    let root = Descriptors.own(linux_open_path(AT_FDCWD, Text.terminated(String(joining: "/proc/\(process)/root")), 0))
    guard root >= 0 else { return unit == nil ? refused("the root folder of its process cannot be opened") : found }
    defer { Descriptors.close(root) }
    // A Flatpak's root folder is in memory: this one is a container's, whose files another process serves.
    guard LocalFiles.has(root, of: "\(process)") else { return unit == nil ? .sandboxed(.nameless) : found }
    let info = Descriptors.own(linux_open_path(root, Text.terminated(".flatpak-info"), 1))
    guard info >= 0 else { return linux_errno() == ENOENT ? found : refused("its .flatpak-info cannot be opened") }
    defer { Descriptors.close(info) }
    guard LocalFiles.has(info, of: "\(process)"), let bytes = contents(Descriptors.path(of: info)),
      let flatpak = bytes.withUnsafeBytes({ Sandbox(flatpak: $0) })
    else { return refused("its .flatpak-info is no regular file that names an app") }
    if let unit, !Text.isSame(unit.identifiers[0], flatpak.identifiers[0]) {
      return refused("its control group is that of \(unit.identifiers[0]), its files are \(flatpak.identifiers[0])'s")
    }
    return .sandboxed(flatpak)
  }

  private static func refused(_ reason: DiagnosticText) -> PeerStanding {
    .refused(SegueError(.notAllowed, "the app may be in a sandbox: \(reason)"))
  }

  private static var gone: SegueError { SegueError(.limitExceeded, "the process that has connected has ended") }

  /// The number of a process, and whether it has others of its own: those of a Flatpak are in a namespace. Nil without
  /// procfs. The number is not positive if the process is gone.
  private static func numbers(of held: Int32) -> (process: Int32, areOwn: Bool)? {
    guard let text = contents(String(joining: "/proc/self/fdinfo/\(held)")) else { return nil }
    return text.withUnsafeBytes { text in
      var process: Int32 = 0
      var areOwn = false
      for line in text.split(separator: UInt8(ascii: "\n")) {
        let words = line.split(whereSeparator: { $0 <= 0x20 })
        guard words.count >= 2 else { continue }
        if words[0].elementsEqual("Pid:".utf8) {
          // A process that is gone has -1.
          process = words[1].reduce(0) { $0 >= 0 && (0x30...0x39).contains($1) ? $0 &* 10 &+ Int32($1 - 0x30) : -1 }
        }
        if words[0].elementsEqual("NSpid:".utf8) { areOwn = words.count > 2 }
      }
      return (process, areOwn)
    }
  }

  private static func isAlive(_ held: Int32) -> Bool {
    var end = pollfd(fd: held, events: Int16(POLLIN), revents: 0)
    return poll(&end, 1, 0) == 0
  }

  /// The mount namespace of a process; nil: the system does not tell.
  private static func mounts(of process: DiagnosticText) -> [UInt8]? {
    let path = Text.terminated(String(joining: "/proc/\(process)/ns/mnt"))
    let name = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      let size = buffer.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, $0.count) }
      count = max(0, size)
    }
    return name.isEmpty ? nil : name
  }

  /// A regular file, or one of procfs; nil: it cannot be read, or is too long.
  private static func contents(_ path: String) -> [UInt8]? {
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    let fd = Descriptors.own(linux_openat(AT_FDCWD, Text.terminated(path), flags, 0))
    guard fd >= 0 else { return nil }
    defer { Descriptors.close(fd) }
    var status = stat()
    guard fstat(fd, &status) == 0, linux_is_file(&status) != 0 else { return nil }
    var bytes: [UInt8] = []
    while bytes.count <= Sandbox.fileLimit {
      var count = 0
      let more = [UInt8](unsafeUninitializedCapacity: 4 * 1024) { buffer, size in
        count = linux_read(fd, buffer.baseAddress!, buffer.count)
        size = max(0, count)
      }
      if count < 0, linux_errno() == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { return bytes }
      bytes += more
    }
    return nil
  }
}
