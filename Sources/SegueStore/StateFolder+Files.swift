// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// The files of the folder.
extension StateFolder {
  /// A path of the folder for this process, which leads through the descriptor.
  public var address: String { "/proc/self/fd/\(fd)" }

  /// The path of a file for SQLite, which leads through the descriptor.
  func address(of name: String) -> String { "/proc/self/fd/\(fd)/\(name)" }

  func has(_ name: String) -> Bool {
    var status = stat()
    return fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0
  }

  /// Throws SYSTEM if something else than a file has the name of a database, or of what belongs to it: SQLite's errors
  /// do not say that. Links are refused when they are opened.
  func checkFiles(of name: String) throws(SegueError) {
    for part in ["", "-wal", "-journal"] {
      var status = stat()
      guard fstatat(fd, name + part, &status, AT_SYMLINK_NOFOLLOW) == 0, linux_is_file(&status) == 0,
        status.st_mode & mode_t(S_IFMT) != mode_t(S_IFLNK)
      else { continue }
      throw SegueError(.system, "\(path)/\(name)\(part): is no regular file; move it away")
    }
  }

  /// Creates an empty file, unless it is there already and can be written; `synchronise` makes its entry durable.
  func create(_ name: String) throws(SegueError) {
    let file = PrivateFile.open(fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else {
      guard linux_errno() == EEXIST else { throw .refused("\(path)/\(name)") }
      let known = linux_openat(fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0)
      guard known >= 0 else { throw .refused("\(path)/\(name)") }
      _ = close(known)
      return
    }
    _ = close(file)
  }

  /// Frees a name. A folder that is not empty gets another one: it is not the agent's.
  func remove(_ name: String) { PrivateFolder.clear(name, in: fd) }

  /// Gives a file or a folder a name, whatever has it.
  private func rename(_ name: String, to other: String) throws(SegueError) {
    if renameat(fd, name, fd, other) == 0 { return }
    if [EISDIR, ENOTDIR, ENOTEMPTY, EEXIST].contains(linux_errno()) {
      remove(other)
      if renameat(fd, name, fd, other) == 0 { return }
    }
    throw .refused("\(path)/\(name)")
  }

  /// Makes the entries of the folder durable: files that were created, renamed or removed.
  func synchronise() throws(SegueError) {
    guard fsync(fd) == 0 || linux_errno() == EINVAL else { throw .refused("state folder \(path)") }
  }

  /// The name under which something is kept, with a word that says why.
  /// - Parameter limit: of as many such copies the last is replaced.
  func freeName(for name: String, as reason: String, atMost limit: Int = 5) -> String {
    var number = 1
    while number < limit, has("\(name).\(reason)-\(number)") { number += 1 }
    return "\(name).\(reason)-\(number)"
  }

  /// Renames a database and what belongs to it to a name that says why.
  /// - Parameter limit: of as many such copies the last is replaced.
  /// - Returns: the new name.
  func setAside(_ name: String, as reason: String, atMost limit: Int = 5) throws(SegueError) -> String {
    let aside = freeName(for: name, as: reason, atMost: limit)
    // The database first: what is left of one without it is set aside when the next one is opened.
    for part in ["", "-wal", "-journal"] where has(name + part) { try rename(name + part, to: aside + part) }
    remove(name + Self.suspicion)
    remove(name + Self.doubt)
    try synchronise()
    return aside
  }

  /// The ending of an empty file that says that a database has to be checked when it is opened next.
  static let suspicion = ".suspect"
  /// The same of one that was checked without a finding, until it is closed without damage.
  static let doubt = ".doubted"

  /// Notes that nothing was found in a suspect database.
  func doubt(_ name: String) throws(SegueError) {
    guard renameat(fd, name + Self.suspicion, fd, name + Self.doubt) == 0 else { throw .refused("\(path)/\(name)") }
  }

  // MARK: The machine

  private static let machineFile = "machine"

  /// Why inbox and account of this folder must not be used here, and what to do; nil if they may be. The folder, or its
  /// backup, comes from another machine, which may deliver the same entries. For any thread: only the files say whether
  /// `rejoin` has been called since.
  public var refusal: SegueError? {
    guard firstRefusal != nil else { return nil }
    do throws(SegueError) { return try compareMachines() } catch { return error }
  }

  /// Writes the machine's identity into a new folder. What is no identity is set aside, as if there were none.
  /// - Returns: why the inbox must not be used; nil if the folder belongs to this machine.
  func compareMachines() throws(SegueError) -> SegueError? {
    if let known = try storedIdentity() {
      guard let machine else {
        return refusal("and this one has no machine id (/etc/machine-id)")
      }
      return Text.isSame(known, machine.text) ? nil : refusal("or this one has got a new machine id")
    }
    if has(Inbox.fileName) || has(AccountFile.name) {
      return machine == nil ? nil : refusal("or its file 'machine' was lost")
    }
    if let machine { try store(machine.text, as: Self.machineFile) }
    return nil
  }

  private func refusal(_ otherwise: String) -> SegueError {
    SegueError(
      .invalidState,
      """
      state folder \(path): belongs to another machine, \(otherwise): its inbox and its account are not used, lest two \
      machines deliver the same and pass for one device; `segue account leave` sets both aside, to begin anew
      """)
  }

  /// Makes the folder this machine's. The inbox that came with it is set aside, never delivered from here; so is the
  /// file of the account: this machine is another device, which has to be invited.
  /// - Returns: the new names of what was set aside.
  /// Throws INVALID_STATE if the folder is not refused.
  public func rejoin() throws(SegueError) -> [String] {
    guard refusal != nil else {
      throw SegueError(.invalidState, "state folder \(path): belongs to this machine already")
    }
    // First: an inbox that is left makes the folder refused again, an account would be used.
    var aside: [String] = []
    if has(AccountFile.name) {
      aside.append(try setAside(AccountFile.name, as: "foreign", atMost: AccountFile.copies))
    }
    if has(Inbox.fileName) { aside.append(try setAside(Inbox.fileName, as: "foreign")) }
    remove(Self.secretFile)
    // Last: from then on the folder may be used.
    if let machine { try store(machine.text, as: Self.machineFile) } else { remove(Self.machineFile) }
    return aside
  }

  /// The identity in the folder; nil if there is none.
  private func storedIdentity() throws(SegueError) -> String? {
    guard let text = try text(of: Self.machineFile, atMost: 65) else { return nil }
    if MachineIdentity.isOne(text) { return text }
    _ = try setDamagedAside(Self.machineFile)
    return nil
  }

  // MARK: The participant

  private static let secretFile = "participant"

  /// The secret by which hubs and origins know the agent after a restart, too: drawn once, and then the same.
  /// - Parameters:
  ///   - draw: 16 random bytes.
  ///   - report: is told of a file that cannot be used, which is kept under another name.
  /// Throws INVALID_STATE if the folder belongs to another machine, whose agent is known by that secret; SYSTEM.
  public func participantSecret(
    _ draw: () throws(SegueError) -> Identifier, _ report: (String) -> Void
  ) throws(SegueError) -> Identifier {
    if let refusal { throw refusal }
    if let text = try text(of: Self.secretFile, atMost: 33) {
      if let known = Identifier(digits: text) { return known }
      let aside = try setDamagedAside(Self.secretFile)
      report(
        """
        \(path)/\(Self.secretFile): has no 32 hexadecimal digits; it is kept as \(aside), and a new one is made: apps \
        that wait for this agent do not know it again
        """)
    }
    let secret = try draw()
    try store(secret.digits, as: Self.secretFile)
    return secret
  }

  /// Keeps what cannot be used under another name, unless it is another user's.
  /// - Returns: the new name.
  private func setDamagedAside(_ name: String) throws(SegueError) -> String {
    var status = stat()
    guard fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { throw .refused("\(path)/\(name)") }
    guard status.st_uid == geteuid() else {
      throw SegueError(.unsafeFolder, "\(path)/\(name): belongs to another user")
    }
    return try setAside(name, as: "damaged")
  }

  /// The text of a file; nil if there is none. Of anything else the text is empty.
  private func text(of name: String, atMost limit: Int) throws(SegueError) -> String? {
    let file = PrivateFile.open(fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    if file < 0 {
      switch linux_errno() {
      case ENOENT: return nil
      // A link, a socket.
      case ELOOP, ENXIO: return ""
      default: throw .refused("\(path)/\(name)")
      }
    }
    defer { _ = close(file) }
    return FileBytes.text(of: file, atMost: limit) ?? ""
  }

  private func store(_ text: String, as name: String) throws(SegueError) {
    try store(Array((text + "\n").utf8), as: name)
  }

  /// The ending of the name of a file that is not written whole yet.
  static let unfinished = ".new"

  func store(_ bytes: [UInt8], as name: String) throws(SegueError) {
    let result = bytes.withUnsafeBytes { bytes -> Result<Void, SegueError> in
      do throws(SegueError) { return .success(try store(bytes, as: name)) } catch { return .failure(error) }
    }
    try result.get()
  }

  /// Writes the file whole or not at all, durably, for the user alone.
  func store(_ bytes: UnsafeRawBufferPointer, as name: String) throws(SegueError) {
    let temporary = name + Self.unfinished
    // A file that an earlier death has left, or something that cannot be written, may have this name.
    remove(temporary)
    let file = PrivateFile.open(fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
    guard file >= 0 else { throw .refused("\(path)/\(temporary)") }
    let isWritten = FileBytes.write(file, bytes) && fsync(file) == 0
    let number = linux_errno()
    _ = close(file)
    guard isWritten else {
      remove(temporary)
      throw .refused("\(path)/\(temporary)", number)
    }
    try rename(temporary, to: name)
    try synchronise()
  }
}

extension Identifier {
  /// As 32 hexadecimal digits.
  fileprivate var digits: String {
    var digits: [UInt8] = []
    for byte in bytes {
      for half in [byte >> 4, byte & 15] { digits.append(half < 10 ? 0x30 + half : 0x57 + half) }
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Nil unless there are exactly 32 of them.
  fileprivate init?(digits text: String) {
    var bytes: [UInt8] = []
    let digits = Array(text.utf8)
    guard digits.count == 2 * Identifier.size else { return nil }
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    self.init(bytes: bytes)
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x61...0x66: digit - 0x57
    default: nil
    }
  }
}
