// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The folder where a device's hub is found: `hub.N` is the socket of generation N, `hub.N.lock` is locked by whoever
/// runs that generation (docs/decisions/numbered-generations.md).
public final class RuntimeFolder {
  /// As it is named in messages, and what tells two folders apart.
  public let path: String
  private let fd: Int32
  private let identity: FileIdentity?
  /// Reads the folder through `fd`, which stays open for it: also when there is no descriptor left.
  private let entries: OpaquePointer
  /// The highest generation when the folder was last listed. On the library thread, like the next one.
  private var lastHighest: UInt64 = 0
  /// The error of the last attempt to list the folder; nil if that succeeded.
  private var listingError: SegueError?

  /// Opens the folder, and creates it if necessary.
  /// - Parameter path: absolute; nil for that of the environment.
  /// Throws UNSAFE_FOLDER unless it is a folder of this user that no other user may enter.
  public convenience init(_ path: String?) throws(SegueError) {
    let path = if let path { path } else { try RuntimeFolder.defaultPath() }
    guard Text.withBytes(path, { $0.first == UInt8(ascii: "/") }) else {
      throw SegueError(.invalidArgument, "runtime folder \(path): must be an absolute path")
    }
    let fd = try PrivateFolder.open(path, "runtime folder")
    guard let entries = fdopendir(fd) else {
      let number = linux_errno()
      _ = close(fd)
      throw .system("runtime folder \(path)", number)
    }
    self.init(path, Descriptors.own(fd), entries)
  }

  private init(_ path: String, _ fd: Int32, _ entries: OpaquePointer) {
    self.path = path
    self.fd = fd
    identity = FileIdentity(of: fd)
    self.entries = entries
  }

  deinit {
    Descriptors.disown(fd)
    closedir(entries)
  }

  // MARK: Identity

  /// Whether its path leads to it, so that it was neither removed nor replaced.
  public var isInPlace: Bool { identity != nil && FileIdentity(at: path) == identity }

  public func isSame(as other: RuntimeFolder) -> Bool { identity != nil && identity == other.identity }

  /// A stamp that changes when files, or the folder itself, appear or disappear.
  struct State: Equatable {
    let isInPlace: Bool
    let seconds: Int
    let nanoseconds: Int
  }

  var state: State {
    var status = stat()
    _ = fstat(fd, &status)
    return State(isInPlace: isInPlace, seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
  }

  /// Watches the folder with an inotify descriptor. False if the system refuses.
  func addWatch(_ inotify: Int32) -> Bool {
    let events = IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MOVE_SELF | IN_DELETE_SELF
    return inotify_add_watch(inotify, Text.terminated(Descriptors.path(of: fd)), UInt32(events)) >= 0
  }

  // MARK: Generations

  /// The highest generation that has a socket; 0 if there is none. If the system refuses to list the folder, this is
  /// the last known one, and no generation can be locked.
  public func highestGeneration() -> UInt64 {
    var highest: UInt64 = 0
    listingError = forEachEntry { name in
      if let generation = RuntimeFolder.generation(of: name), generation > highest, isSocket(name) {
        highest = generation
      }
    }
    if listingError == nil { lastHighest = highest }
    return lastHighest
  }

  /// Whether it may be a hub: anything else that has the name of one is passed over.
  private func isSocket(_ name: String) -> Bool {
    status(of: name).map { $0.st_mode & mode_t(S_IFMT) == mode_t(S_IFSOCK) } ?? false
  }

  /// The status of the file with that name, without following a link; nil if there is none.
  private func status(of name: String) -> stat? {
    var status = stat()
    return fstatat(fd, Text.terminated(name), &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  /// Locks a generation for this process, after a call of `highestGeneration`.
  /// - Returns: the lock's descriptor, to hold while running the generation; nil if another process has it.
  /// Throws SYSTEM, also if the folder could not be listed: there may be a hub in it.
  func lock(_ generation: UInt64) throws(SegueError) -> Int32? {
    if let listingError { throw listingError }
    let name = Self.lockName(generation)
    while true {
      guard let lock = try openLock(name) else { return nil }
      guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
        let number = linux_errno()
        _ = close(lock)
        if number == EWOULDBLOCK { return nil }
        throw .system("\(path)/\(name)", number)
      }
      if isStill(lock, name) { return Descriptors.own(lock) }
      // A closing hub removed the file between the two calls: no other process would use this lock.
      _ = close(lock)
    }
  }

  /// Nil if what is no lock is there again: as if another process had the lock.
  private func openLock(_ name: String) throws(SegueError) -> Int32? {
    let lock = PrivateFile.open(fd, Text.terminated(name), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC)
    if lock >= 0 { return lock }
    let number = linux_errno()
    // A folder, a link, a socket.
    guard [EISDIR, ELOOP, ENXIO].contains(number) else { throw .system("\(path)/\(name)", number) }
    return nil
  }

  private static let fileMode: mode_t = 0o600

  /// Milliseconds since the last heartbeat of a generation's hub; nil if there is no such hub. From any thread.
  public func heartbeatAge(_ generation: UInt64) -> Int64? {
    guard let status = status(of: Self.lockName(generation)) else { return nil }
    let beat = Int64(status.st_mtim.tv_sec) &* 1000 &+ Int64(status.st_mtim.tv_nsec / 1_000_000)
    let age = Clock.uptime &- beat
    // From an earlier start of the system, or a file with a date.
    return age >= 0 ? age : nil
  }

  /// Marks a lock with the uptime: a date would be wrong after a change of the clock.
  static func beat(_ lock: Int32, _ uptime: Int64) {
    let time = timespec(tv_sec: Int(uptime / 1000), tv_nsec: Int(uptime % 1000) * 1_000_000)
    withUnsafeTemporaryAllocation(of: timespec.self, capacity: 2) { times in
      times.initialize(repeating: time)
      futimens(lock, times.baseAddress)
    }
  }

  /// Whether a descriptor belongs to the file that has this name now.
  private func isStill(_ descriptor: Int32, _ name: String) -> Bool {
    FileIdentity(of: descriptor).map { $0 == FileIdentity(at: name, in: fd) } ?? false
  }

  /// Creates a listening socket under a generation's name, which appears only once it listens.
  func listen(_ generation: UInt64) throws(SegueError) -> Int32 {
    try ListeningSocket.make(Self.socketName(generation), in: fd, path)
  }

  /// The current file of a generation's socket, or nil.
  func socketIdentity(_ generation: UInt64) -> FileIdentity? { FileIdentity(at: Self.socketName(generation), in: fd) }

  /// The inode of a generation's socket; nil if there is none.
  public func socketNumber(_ generation: UInt64) -> UInt64? { socketIdentity(generation).map { UInt64($0.inode) } }

  /// The result of connecting to a hub.
  public enum ConnectResult {
    case connected(Int32)
    /// No process listens, or one of another user.
    case nobody
    /// The backlog is full.
    case crowded
  }

  /// Throws SYSTEM if the system refuses, which another hub would not change.
  public func connect(to generation: UInt64) throws(SegueError) -> ConnectResult {
    let socket = linux_socket()
    guard socket >= 0 else { throw .system("socket") }
    do throws(SegueError) {
      let result = try connect(socket, Self.socketName(generation))
      if case .connected = result { _ = Descriptors.own(socket) } else { _ = close(socket) }
      return result
    } catch {
      _ = close(socket)
      throw error
    }
  }

  private func connect(_ socket: Int32, _ name: String) throws(SegueError) -> ConnectResult {
    var result = linux_connect(socket, address(name))
    // Created by a process with an unusual umask.
    if result != 0, linux_errno() == EACCES, isClosedToUs(name),
      fchmodat(fd, Text.terminated(name), Self.fileMode, 0) == 0
    {
      result = linux_connect(socket, address(name))
    }
    if result != 0 {
      switch linux_errno() {
      case ECONNREFUSED, ENOENT, EPROTOTYPE, ENOTDIR, ELOOP: return .nobody
      case EAGAIN: return .crowded
      case let number: throw .system("connecting to \(path)/\(name)", number)
      }
    }
    guard let user = Socket.peerUser(socket) else { throw .system("whose \(path)/\(name) is") }
    return user == geteuid() ? .connected(socket) : .nobody
  }

  /// Connects to the activation socket of the agent: systemd listens there, and starts it (docs/agent.md). Does not
  /// wait. Without such a socket, or with a full backlog, nothing happens. From any thread.
  public func activateAgent() {
    let socket = linux_socket()
    guard socket >= 0 else { return }
    _ = linux_connect(socket, address("agent"))
    _ = close(socket)
  }

  /// Its mode forbids connecting.
  private func isClosedToUs(_ name: String) -> Bool {
    status(of: name).map { $0.st_mode & Self.fileMode != Self.fileMode } ?? false
  }

  /// Removes the files of older generations, and of this one if it has ended.
  func removeGenerations(upTo generation: UInt64, including: Bool) {
    var old: [String] = []
    // If the folder cannot be listed, the files stay for the next hub.
    _ = forEachEntry { name in
      let number = RuntimeFolder.generation(of: name) ?? RuntimeFolder.generation(ofLock: name)
      if let number, number < generation || including && number == generation { old.append(name) }
    }
    for name in old { remove(name) }
  }

  /// The highest possible generation.
  public static let lastGeneration: UInt64 = 999_999_999_999_999_999

  /// Removes the files of the last possible generation: no hub can follow it, so numbers start again. A hub that runs
  /// it notices that its name is gone.
  public func removeLastGeneration() throws(SegueError) {
    let name = Self.socketName(Self.lastGeneration)
    remove(Self.lockName(Self.lastGeneration))
    guard remove(name) == 0 || linux_errno() == ENOENT else { throw .system("\(path)/\(name)") }
  }

  @discardableResult
  private func remove(_ name: String) -> Int32 { PrivateFolder.clear(Text.terminated(name), in: fd) }

  private func address(_ name: String) -> [CChar] { ListeningSocket.address(name, in: fd) }

  @inline(never)
  private static func socketName(_ generation: UInt64) -> String { String(joining: "hub.\(generation)") }

  @inline(never)
  private static func lockName(_ generation: UInt64) -> String { String(joining: "hub.\(generation).lock") }

  /// Returns nil, or SYSTEM if the system refuses to list the folder, or the rest of it.
  private func forEachEntry(_ body: (String) -> Void) -> SegueError? {
    // Does the same as `rewinddir`, which reports no error.
    guard lseek(fd, 0, SEEK_SET) == 0 else { return .system("listing \(path)") }
    rewinddir(entries)
    while true {
      // At the end `readdir` leaves it as it is.
      linux_set_errno(0)
      guard let entry = readdir(entries) else { break }
      withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 256) { body(Text.decoded(cString: $0)) }
      }
    }
    return linux_errno() == 0 ? nil : .system("listing \(path)")
  }

  /// N of `hub.N`.
  static func generation(of name: String) -> UInt64? { number(of: name, before: "") }

  /// N of `hub.N.lock`.
  static func generation(ofLock name: String) -> UInt64? { number(of: name, before: ".lock") }

  private static func number(of name: String, before end: StaticString) -> UInt64? {
    let start: StaticString = "hub."
    return Text.withBytes(name) { name in
      let digits = name.count - start.utf8CodeUnitCount - end.utf8CodeUnitCount
      guard (1...18).contains(digits), has(name, start, at: 0), has(name, end, at: name.count - end.utf8CodeUnitCount)
      else { return nil }
      var number: UInt64 = 0
      for index in 0..<digits {
        let digit = name[start.utf8CodeUnitCount + index]
        guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
        number = number * 10 + UInt64(digit - UInt8(ascii: "0"))
      }
      return number
    }
  }

  private static func has(_ name: UnsafeRawBufferPointer, _ part: StaticString, at start: Int) -> Bool {
    for index in 0..<part.utf8CodeUnitCount where name[start + index] != part.utf8Start[index] { return false }
    return true
  }

  // MARK: The folder itself

  public static func defaultPath() throws(SegueError) -> String {
    if let path = Environment.variable("SEGUE_RUNTIME_DIR") { return path }
    if let path = Environment.variable("XDG_RUNTIME_DIR") { return String(joining: "\(path)/segue") }
    // The usual XDG_RUNTIME_DIR, for programs without the variable, such as those that cron and ssh start.
    let ofUser = String(joining: "/run/user/\(geteuid())")
    var status = stat()
    if lstat(Text.terminated(ofUser), &status) == 0, PrivateFolder.problem(status) == nil {
      return String(joining: "\(ofUser)/segue")
    }
    return String(joining: "\(Environment.variable("TMPDIR") ?? "/tmp")/segue-\(geteuid())")
  }
}
