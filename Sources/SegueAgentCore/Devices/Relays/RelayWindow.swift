// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// One direction of a channel through a relay, at the side that receives: what was sent, and may be.
struct RelayWindow {
  /// Bytes of one direction that may be on their way from the beginning, from one device through the relay to the app
  /// of the other; and the most, once a sender uses what it has and the relay has room (`RelayRoom`).
  static let size: UInt64 = 16 * 1024
  static let largest: UInt64 = 512 * 1024
  /// The least bytes that credit is given for: the sender can go on meanwhile.
  static let step = size / 2
  /// The most messages since the sender was told last, in a window of the usual size: each costs more than its bytes. A
  /// larger window has as many more that their heads at most double it. A record of TLS has more bytes than a head, so
  /// a sender that keeps to the window never sends as many, however much credit crosses them.
  private static let messageLimit = 2_048
  private static let headSize: UInt64 = 16
  /// The most messages that a sender sends before it hears of credit. Credit comes, since that many records of TLS have
  /// more bytes than a step.
  static let messagesOfSender = 1_024

  /// The standing of bytes that have arrived.
  enum Arrival {
    /// The next ones, behind so many that have come already.
    case next(Int)
    /// They came over two connections while a link moved from one to the other.
    case repeated
    /// Some before them are missing, or they are beyond the window.
    case wrong(RelayEnd)
  }

  /// The offset of the next byte.
  private(set) var passed: UInt64 = 0
  /// The bytes before it are consumed, as far as the sender was told.
  private(set) var granted: UInt64 = 0
  /// The bytes before it may be sent.
  private(set) var limit: UInt64
  /// Whether the sender has had to wait for credit since it was told last, or nearly.
  private(set) var isUsed = false
  /// The messages since the sender was told last.
  private var messages = 0

  /// - Parameter size: of the bytes that may be sent at first; a device leaves it to the relay how many are.
  init(_ size: UInt64 = RelayWindow.size) { limit = size }

  /// Bytes that have passed, and were not consumed as far as the sender was told.
  var pending: UInt64 { passed - granted }
  /// Bytes that may be on their way beyond those that each direction has from the beginning.
  var extra: UInt64 { max(limit - granted, Self.size) - Self.size }

  /// Takes bytes.
  mutating func take(_ offset: UInt64, _ count: Int) -> Arrival {
    let (end, overflow) = offset.addingReportingOverflow(UInt64(count))
    guard !overflow else { return .wrong(.violated) }
    if end <= passed { return .repeated }
    guard offset <= passed else { return .wrong(.lost) }
    let most = max(Self.messageLimit, Int((limit - granted) / Self.headSize))
    guard end <= limit, messages < most else { return .wrong(.violated) }
    let repeated = Int(passed - offset)
    passed = end
    messages += 1
    if limit - end < Self.step / 2 { isUsed = true }
    return .next(repeated)
  }

  /// Whether bytes up to there can have been consumed.
  func isPossible(_ consumed: UInt64) -> Bool { consumed <= passed }

  /// The sender is told that bytes are consumed, and how many it may send beyond these. What it was allowed once stays
  /// allowed.
  mutating func grant(_ consumed: UInt64, _ size: UInt64 = RelayWindow.size) {
    guard consumed > granted else { return }
    (granted, messages, isUsed) = (consumed, 0, false)
    limit = max(limit, consumed + size)
  }
}
