// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueAgentCore
import SegueModel
import SegueSystem

/// The file `account` of the state folder: keys and certificates of this device, and what its account agrees on.
public final class AccountFile: AccountStorage {
  static let name = "account"
  /// The copies that are kept: all of them, since one may have the only key of an account.
  static let copies = Int.max

  private let folder: StateFolder

  public init(in folder: StateFolder) { self.folder = folder }

  private var path: String { folder.path + "/" + Self.name }

  public func load() throws(SegueError) -> Secret? {
    let file = PrivateFile.open(folder.fd, Self.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    if file < 0 {
      switch linux_errno() {
      case ENOENT: return nil
      case ELOOP: throw SegueError(.unsafeFolder, "\(path): is a symbolic link; move it away")
      default: throw .refused(DiagnosticText(of: path))
      }
    }
    defer { _ = close(file) }
    if let refusal = folder.refusal { throw refusal }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .refused(DiagnosticText(of: path)) }
    guard linux_is_file(&status) != 0 else {
      throw SegueError(.unsafeFolder, "\(path): is no regular file; move it away")
    }
    guard status.st_uid == geteuid() else { throw SegueError(.unsafeFolder, "\(path): belongs to another user") }
    guard status.st_mode & 0o7777 == 0o600 else {
      throw SegueError(
        .unsafeFolder,
        "\(path): its mode is not 0600, so others may have read its keys; if nobody has, chmod 600 it, else leave the account"
      )
    }
    guard status.st_nlink == 1 else {
      throw SegueError(.unsafeFolder, "\(path): has more than one hard link; remove the others")
    }
    guard status.st_size <= Limits.accountFile else { throw SegueError(.malformed, "\(path): is too large") }
    return try Secret.make(count: Int(status.st_size)) { bytes throws(SegueError) in
      let count = FileBytes.read(file, at: 0, into: bytes)
      guard count >= 0 else { throw .refused(DiagnosticText(of: path)) }
      guard count == bytes.count else { throw SegueError(.malformed, "\(path): is shorter than it was") }
    }
  }

  public func store(_ file: Secret) throws(SegueError) {
    if let refusal = folder.refusal { throw refusal }
    try file.withBytes { bytes throws(SegueError) in try folder.store(bytes, as: Self.name) }
  }

  public func erase() throws(SegueError) {
    // A file that an interrupted write has left has keys, too.
    for name in [Self.name, Self.name + StateFolder.unfinished] {
      guard unlinkat(folder.fd, name, 0) == 0 || linux_errno() == ENOENT else {
        throw .refused(DiagnosticText(of: path))
      }
    }
    try folder.synchronise()
  }

  public func setAside() throws(SegueError) -> [String] {
    if folder.refusal != nil { return try folder.rejoin() }
    return folder.has(Self.name) ? [try folder.setAside(Self.name, as: "damaged", atMost: Self.copies)] : []
  }
}
