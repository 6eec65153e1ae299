/// How one side of a stream has ended, as that side reports it (R7.3).
public enum StreamStatus: Sendable, Equatable {
  /// It is open, or was shut down without a word.
  case open
  /// All was written.
  case ended
  /// It was given up, with a number of the app's.
  case aborted(UInt32)
  /// Its app, or the way to it, is gone.
  case broken
}
