// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel

/// The identity of a file, independent of its name: device and inode.
struct FileIdentity: Equatable {
  private let device: dev_t
  let inode: ino_t

  /// Nil if the system does not tell.
  init?(of descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The file of this name, without following a link; nil if there is none.
  init?(at path: String, in folder: Int32 = AT_FDCWD) {
    var status = stat()
    guard fstatat(folder, Text.terminated(path), &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    self.init(status)
  }

  private init(_ status: stat) {
    device = status.st_dev
    inode = status.st_ino
  }
}
