import CLinux
import SegueModel
import SegueSystem

/// A folder of this process, in memory where there is such a place; removed with the object.
final class TemporaryFolder {
  let path: String
  private let owner = getpid()

  /// Throws SYSTEM.
  init() throws(SegueError) {
    let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : Environment.variable("TMPDIR") ?? "/tmp"
    var template = Array(String(joining: "\(parent)/segue-fleet-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw .system("the folder of a fleet") }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit {
    // A forked child has a copy of this object, and no right to the folder.
    guard owner == getpid() else { return }
    var bytes = Array(path.utf8CString)
    linux_remove_tree(&bytes)
  }
}
