// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// A message of the process that runs a command (R14.4) to the agent: the number of its kind, and a text.
public enum CommandReport: Sendable {
  /// Number 1, with a descriptor: the command runs, and this is the other end of its standard input and output.
  case started
  /// Number 2: bytes that it has written to its standard error.
  case said([UInt8])
  /// Number 3, the last one: it has ended, or was not started, for this reason.
  case ended(String)

  /// Bytes of a message, and of all that a command may write to its standard error; what follows is dropped.
  public static let sizeLimit = 1_024
  public static let errorLimit = 64 * 1024
  /// The most bytes of `said`.
  public static let pieceSize = sizeLimit - 1

  public var encoding: [UInt8] {
    switch self {
    case .started: [1]
    case .said(let bytes): [2] + bytes.prefix(Self.pieceSize)
    case .ended(let reason): [3] + Text.bytes(Text.start(of: reason, atMost: Self.pieceSize))
    }
  }

  /// Nil for a message of another kind.
  public static func decode(_ bytes: [UInt8]) -> CommandReport? {
    guard let kind = bytes.first, bytes.count <= sizeLimit else { return nil }
    switch kind {
    case 1: return .started
    case 2: return .said(Array(bytes.dropFirst()))
    case 3: return .ended(Text.decoded(Text.oneLine(Text.decoded(Array(bytes.dropFirst())))))
    default: return nil
    }
  }
}
