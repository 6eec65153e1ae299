// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The side of a link, which decides the numbers of the channels that it opens.
public enum ConnectionSide: Sendable {
  /// Opened the connection: odd channels.
  case connecting
  /// Accepted it: even channels.
  case accepting
}
