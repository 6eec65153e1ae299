import CLinux
import SegueModel
import SegueTransport

/// The folder of what the agent keeps: `$XDG_STATE_HOME/segue`, else `~/.local/state/segue`.
struct StateFolder {
  let path: String

  /// Creates the folder, and those that it is in, unless they are there.
  /// Throws UNSAFE_FOLDER unless it is a folder of this user with mode 0700, SYSTEM if there is no place for it.
  init() throws(SegueError) {
    guard let home = Environment.path("XDG_STATE_HOME") ?? Environment.path("HOME").map({ $0 + "/.local/state" }) else {
      throw SegueError(.system, "state folder: neither XDG_STATE_HOME nor HOME is set")
    }
    guard home.utf8.first == UInt8(ascii: "/") else {
      throw SegueError(.system, "state folder \(home): must be an absolute path")
    }
    StateFolder.makeParents(home)
    path = home + "/segue"
    _ = close(try PrivateFolder.open(path, "state folder"))
  }

  /// As the XDG base directory specification asks: with mode 0700. If this fails, opening the folder says so.
  private static func makeParents(_ path: String) {
    var prefix = ""
    for name in path.utf8.split(separator: UInt8(ascii: "/")) {
      prefix += "/" + String(decoding: name, as: UTF8.self)
      mkdir(prefix, 0o700)
    }
  }
}
