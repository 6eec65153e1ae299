// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// One direction of a channel through a relay, at the side that receives: what was sent, and may be.
struct RelayWindow {
  /// The most bytes of one direction on their way: from one device through the relay to the app of the other. Both
  /// directions of a channel hold at most 64 KiB at the relay.
  static let size: UInt64 = 32 * 1024
  /// The least bytes that credit is given for: the sender can go on meanwhile.
  static let step = size / 2
  /// The most messages with these bytes: each costs more than its bytes. TLS makes 1,424 records of a window at most.
  private static let messageLimit = 2_048

  /// The standing of bytes that have arrived.
  enum Arrival {
    case next
    /// They came over two connections while a link moved from one to the other.
    case repeated
    /// Some before them are missing, or they are beyond the window.
    case wrong(RelayEnd)
  }

  /// The offset of the next byte.
  private(set) var passed: UInt64 = 0
  /// The bytes before it are consumed, as far as the sender was told.
  private(set) var granted: UInt64 = 0
  /// The messages since the sender was told last.
  private var messages = 0

  /// Bytes that have passed, and were not consumed as far as the sender was told.
  var pending: UInt64 { passed - granted }

  /// Takes bytes.
  mutating func take(_ offset: UInt64, _ count: Int) -> Arrival {
    let (end, overflow) = offset.addingReportingOverflow(UInt64(count))
    guard !overflow else { return .wrong(.violated) }
    if end <= passed { return .repeated }
    guard offset == passed else { return .wrong(offset > passed ? .lost : .violated) }
    guard end - granted <= Self.size, messages < Self.messageLimit else { return .wrong(.violated) }
    passed = end
    messages += 1
    return .next
  }

  /// Whether bytes up to there can have been consumed.
  func isPossible(_ consumed: UInt64) -> Bool { consumed <= passed }

  /// The sender is told that bytes are consumed.
  mutating func grant(_ consumed: UInt64) {
    guard consumed > granted else { return }
    (granted, messages) = (consumed, 0)
  }
}
