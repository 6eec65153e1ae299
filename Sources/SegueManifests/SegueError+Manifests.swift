import SegueModel

extension SegueError {
  /// The same about something, such as a file. What it quotes of that is cut: values may be as long as files.
  func cut(naming what: String) -> SegueError {
    SegueError(status, "\(what): \(Text.start(of: message, atMost: Limits.title))")
  }
}
