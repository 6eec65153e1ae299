/// How one side of a stream has ended, as that side reports it (R7.3).
public enum StreamStatus: Sendable, Equatable {
  /// Open, or shut down without a statement.
  case open
  /// All was written.
  case ended
  /// Aborted, with a code of the app.
  case aborted(UInt32)
  /// Its app, or the connection to it, is gone.
  case broken
}
