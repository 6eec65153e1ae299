import CLinux
import SegueModel

extension SegueError {
  /// The system refused something: what, and why.
  public static func system(_ what: DiagnosticText, _ number: Int32 = linux_errno()) -> SegueError {
    SegueError(.system, "\(what.string): \(String(cString: strerror(number)))")
  }
}
