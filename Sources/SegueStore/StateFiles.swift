// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CSQLite

/// SQLite's own access to files, but names are taken as they are: the path of a file leads through the descriptor of
/// its folder, and must not be resolved to where the folder was once. SQLite itself follows no link at the end of one.
enum StateFiles {
  static let name: StaticString = "segue"

  /// SQLITE_OK once it is registered for this process.
  static let registration: Int32 = {
    guard let unix = sqlite3_vfs_find(nil) else { return SQLITE_ERROR }
    // SQLite keeps both as long as the process lives.
    let files = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    files.initialize(to: unix.pointee)
    files.pointee.pNext = nil
    files.pointee.zName = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    files.pointee.xFullPathname = { _, name, size, output in
      guard let name, let output else { return SQLITE_CANTOPEN }
      var count: Int32 = 0
      while name[Int(count)] != 0 {
        guard count + 1 < size else { return SQLITE_CANTOPEN }
        output[Int(count)] = name[Int(count)]
        count += 1
      }
      output[Int(count)] = 0
      return SQLITE_OK
    }
    return sqlite3_vfs_register(files, 0)
  }()
}
