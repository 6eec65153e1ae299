// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The status of one side of a stream, as that side reports it (R7.3).
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

/// The visible state of the other end of a stream's socket.
public enum StreamOtherEnd: Sendable {
  case open
  /// Shut down for writing, and not closed.
  case finished
  /// Closed, or both ends shut down for writing, which looks the same.
  case closed
}
