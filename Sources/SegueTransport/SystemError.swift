import CLinux
import SegueModel

extension SegueError {
  /// The system refused something: what, and why.
  static func system(_ what: String, _ number: Int32 = linux_errno()) -> SegueError {
    SegueError(.system, "\(what): \(String(cString: strerror(number)))")
  }
}
