import CLinux
import SegueModel

/// The folder where a device's hub is found: `hub.N` is the socket of generation N, `hub.N.lock` is locked by whoever
/// runs that generation (docs/decisions/numbered-generations.md).
public final class RuntimeFolder {
  /// As it is named in messages, and what tells two folders apart.
  public let path: String
  private let fd: Int32
  /// Reads the folder through `fd`, which stays open for it: also when there is no descriptor left.
  private let entries: OpaquePointer

  /// Opens the folder, and makes it if need be.
  /// - Parameter path: absolute; nil: as the environment says.
  /// Throws UNSAFE_FOLDER unless it is a folder of this user that nobody else may enter.
  public init(_ path: String?) throws(SegueError) {
    self.path = if let path { path } else { try RuntimeFolder.defaultPath() }
    guard self.path.utf8.first == UInt8(ascii: "/") else {
      throw SegueError(.invalidArgument, "runtime folder \(self.path): must be an absolute path")
    }
    try RuntimeFolder.make(self.path)
    let fd = linux_openat(AT_FDCWD, self.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    guard fd >= 0 else {
      if [ELOOP, ENOTDIR].contains(linux_errno()) {
        throw SegueError(.unsafeFolder, "runtime folder \(self.path): is a symbolic link, or no folder")
      }
      throw .system("runtime folder \(self.path)")
    }
    var status = stat()
    guard fstat(fd, &status) == 0 else {
      _ = close(fd)
      throw .system("runtime folder \(self.path)")
    }
    let isSafe = status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    guard isSafe else {
      _ = close(fd)
      let problem =
        status.st_uid == geteuid() ? "is open to other users (mode must be 0700)" : "belongs to another user"
      throw SegueError(.unsafeFolder, "runtime folder \(self.path): \(problem)")
    }
    guard let entries = fdopendir(fd) else {
      let number = linux_errno()
      _ = close(fd)
      throw .system("runtime folder \(self.path)", number)
    }
    self.fd = Descriptors.own(fd)
    self.entries = entries
  }

  deinit {
    Descriptors.disown(fd)
    closedir(entries)
  }

  // MARK: Generations

  /// The highest generation that has a socket; 0: there is none.
  public func highestGeneration() -> UInt64 {
    var highest: UInt64 = 0
    forEachEntry { name in
      if let generation = RuntimeFolder.generation(of: name) { highest = max(highest, generation) }
    }
    return highest
  }

  /// Locks a generation for this process.
  /// - Returns: the lock's descriptor, to be held while the generation is run; nil: another process has it.
  func lock(_ generation: UInt64) throws(SegueError) -> Int32? {
    let name = "hub.\(generation).lock"
    while true {
      let lock = linux_openat(fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard lock >= 0 else { throw .system("\(path)/\(name)") }
      guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
        let number = linux_errno()
        _ = close(lock)
        if number == EWOULDBLOCK { return nil }
        throw .system("\(path)/\(name)", number)
      }
      if isStill(lock, name) { return Descriptors.own(lock) }
      // A hub that closed removed the file between our two calls: this lock is one that nobody else will meet.
      _ = close(lock)
    }
  }

  /// Milliseconds since the hub of a generation last served somebody; nil: there is no such hub. From any thread.
  public func signOfLife(_ generation: UInt64) -> Double? {
    var status = stat()
    guard fstatat(fd, "hub.\(generation).lock", &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    let date = Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9
    return (Clock.date - date) * 1000
  }

  /// Whether a descriptor is of the file that has this name now.
  private func isStill(_ descriptor: Int32, _ name: String) -> Bool {
    var opened = stat()
    var named = stat()
    guard fstat(descriptor, &opened) == 0, fstatat(fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 else { return false }
    return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
  }

  /// A listening socket under a generation's name; it is there only once it listens.
  func listen(_ generation: UInt64) throws(SegueError) -> Int32 {
    let socket = linux_socket()
    guard socket >= 0 else { throw .system("socket") }
    let name = "hub.\(generation)"
    let temporary = "\(name).\(getpid())"
    unlinkat(fd, temporary, 0)
    guard linux_bind(socket, address(temporary)) == 0, CLinux.listen(socket, 4096) == 0,
      renameat(fd, temporary, fd, name) == 0
    else {
      let number = linux_errno()
      _ = close(socket)
      unlinkat(fd, temporary, 0)
      throw .system("\(path)/\(name)", number)
    }
    return Descriptors.own(socket)
  }

  /// What came of a visit to a hub.
  public enum Visit {
    case connected(Int32)
    /// Nobody listens, or another user does.
    case nobody
    /// More wait to be let in than the system lines up.
    case crowded
  }

  public func visit(_ generation: UInt64) throws(SegueError) -> Visit {
    let socket = linux_socket()
    guard socket >= 0 else { throw .system("socket") }
    guard linux_connect(socket, address("hub.\(generation)")) == 0 else {
      let isCrowded = linux_errno() == EAGAIN
      _ = close(socket)
      return isCrowded ? .crowded : .nobody
    }
    guard Socket.peerUser(socket) == geteuid() else {
      _ = close(socket)
      return .nobody
    }
    return .connected(Descriptors.own(socket))
  }

  /// Removes what older generations, and this one if it is over, have left.
  func removeGenerations(upTo generation: UInt64, including: Bool) {
    var old: [String] = []
    forEachEntry { name in
      let number = RuntimeFolder.generation(of: name) ?? RuntimeFolder.generation(ofLock: name)
      if let number, number < generation || including && number == generation { old.append(name) }
    }
    for name in old { unlinkat(fd, name, 0) }
  }

  /// A short name for a file in the folder, however long the folder's own is: a socket's address has 108 bytes.
  private func address(_ name: String) -> String { "/proc/self/fd/\(fd)/\(name)" }

  private func forEachEntry(_ body: (String) -> Void) {
    rewinddir(entries)
    while let entry = readdir(entries) {
      withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 256) { body(String(cString: $0)) }
      }
    }
  }

  /// N of `hub.N`.
  static func generation(of name: String) -> UInt64? {
    guard name.utf8.starts(with: "hub.".utf8) else { return nil }
    return number(name.utf8.dropFirst(4))
  }

  /// N of `hub.N.lock`.
  static func generation(ofLock name: String) -> UInt64? {
    guard name.utf8.starts(with: "hub.".utf8), name.utf8.count > 9 else { return nil }
    guard name.utf8.suffix(5).elementsEqual(".lock".utf8) else { return nil }
    return number(name.utf8.dropFirst(4).dropLast(5))
  }

  private static func number(_ digits: Substring.UTF8View) -> UInt64? {
    guard !digits.isEmpty, digits.count <= 18 else { return nil }
    var number: UInt64 = 0
    for digit in digits {
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
      number = number * 10 + UInt64(digit - UInt8(ascii: "0"))
    }
    return number
  }

  // MARK: The folder itself

  private static func defaultPath() throws(SegueError) -> String {
    if let path = variable("SEGUE_RUNTIME_DIR") { return path }
    if let path = variable("XDG_RUNTIME_DIR") { return path + "/segue" }
    return (variable("TMPDIR") ?? "/tmp") + "/segue-\(geteuid())"
  }

  private static func variable(_ name: String) -> String? {
    // A program with more rights than its user must not follow its user's environment.
    guard let value = secure_getenv(name) else { return nil }
    let text = String(cString: value)
    return text.utf8.isEmpty ? nil : text
  }

  private static func make(_ path: String) throws(SegueError) {
    if mkdir(path, 0o700) == 0 { return }
    switch linux_errno() {
    case EEXIST: return
    case ENOENT:
      throw SegueError(.system, "runtime folder \(path): the folder that it should be in does not exist")
    case let number: throw .system("runtime folder \(path)", number)
    }
  }
}
