// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// The names in a folder, in the order of their bytes; without those that begin with a dot.
enum FolderListing {
  struct Name {
    let text: String
    let isFolder: Bool
  }

  /// Nil: there is no such folder. Throws SYSTEM, LIMIT_EXCEEDED beyond `limit` names.
  static func read(_ path: String, atMost limit: Int) throws(SegueError) -> [Name]? {
    guard let folder = opendir(path) else {
      if [ENOENT, ENOTDIR].contains(linux_errno()) { return nil }
      throw SegueError(.system, "\(path): cannot be read: \(String(cString: strerror(linux_errno())))")
    }
    defer { closedir(folder) }
    var names: [Name] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        UnsafeRawPointer(pointer).assumingMemoryBound(to: CChar.self)
      }
      guard name.pointee != CChar(bitPattern: UInt8(ascii: ".")) else { continue }
      guard names.count < limit else {
        throw SegueError(.limitExceeded, "\(path): more than \(limit) names, none of which is read")
      }
      names.append(Name(text: String(cString: name), isFolder: isFolder(folder, name, entry.pointee.d_type)))
    }
    names.sort { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
    return names
  }

  /// Follows symbolic links.
  private static func isFolder(_ folder: OpaquePointer, _ name: UnsafePointer<CChar>, _ type: UInt8) -> Bool {
    if Int(type) == Int(DT_DIR) { return true }
    guard Int(type) == Int(DT_LNK) || Int(type) == Int(DT_UNKNOWN) else { return false }
    var status = stat()
    return fstatat(dirfd(folder), name, &status, 0) == 0 && linux_is_folder(&status) != 0
  }
}
