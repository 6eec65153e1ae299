// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CLinux
import SegueModel
import SegueSystem

/// A folder of this process, in memory where there is such a place; removed with the object.
final class TemporaryFolder {
  let path: String
  private let owner = getpid()

  /// Locked while the object is there, so that others can tell the folders of processes that have ended.
  private let lock: Int32

  /// Removes folders that processes have left which ended without releasing their fleet. Throws SYSTEM.
  init() throws(SegueError) {
    let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : Environment.variable("TMPDIR") ?? "/tmp"
    linux_sweep_folders(parent, "segue-fleet-")
    var template = Array(String(joining: "\(parent)/segue-fleet-XXXXXX").utf8CString)
    lock = linux_make_locked_folder(&template)
    guard lock >= 0 else { throw .system("the folder of a fleet") }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit {
    // A forked child has a copy of this object, and no right to the folder.
    defer { _ = close(lock) }
    guard owner == getpid() else { return }
    var bytes = Array(path.utf8CString)
    linux_remove_tree(&bytes)
  }
}
