// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The messages that both ends of joining have seen, from which the digits and the confirmation derive.
struct JoinTranscript: Sendable {
  /// 32 bytes that only the two ends of this TLS connection know.
  private let exporter: [UInt8]
  private var hash: [UInt8]

  init(exporter: [UInt8]) {
    self.exporter = exporter
    hash = SecureHash.sha256(StaticString("segue join 1\n").bytes)
  }

  /// Adds a message of either side.
  mutating func add(_ message: [UInt8]) { hash = SecureHash.sha256(hash + SecureHash.sha256(message)) }

  static func commitment(to nonce: [UInt8]) -> [UInt8] {
    SecureHash.sha256(StaticString("segue join commitment 1\n").bytes + nonce)
  }

  /// The eight digits that both screens show, in two groups.
  ///
  /// The joining device has committed itself to its nonce before it saw the other one: so one who stands in the middle
  /// of two connections, and has the token, can try one pair of digits, and no more.
  func digits(joining: [UInt8], inviting: [UInt8]) -> String {
    let key = KeyDerivation.key(
      from: exporter, salt: joining + inviting, info: StaticString("segue 1 join digits").bytes + hash, count: 8)
    let number = key.reduce(0) { $0 << 8 | UInt64($1) } % 100_000_000
    var digits = Array(String(number).utf8)
    while digits.count < 8 { digits.insert(UInt8(ascii: "0"), at: 0) }
    return String(decoding: digits[..<4] + [UInt8(ascii: " ")] + digits[4...], as: UTF8.self)
  }

  /// The bytes that the joining device signs with its new key.
  var confirmed: [UInt8] {
    StaticString("segue join confirmation 1\n").bytes + SecureHash.hmacSHA256(hash, key: exporter)
  }
}

/// An output of an end of joining, for its owner.
enum JoinOutput: Sendable {
  case send([UInt8])
  /// Inviting device: the user has to compare the digits, and decide.
  case ask(JoinQuestion)
  /// Joining device: the digits to show.
  case show(JoinQuestion)
  /// Joining device: to be stored; then `stored` is called.
  case store(AccountRecord)
  /// Inviting device: the other one has stored it.
  case confirmed(Identifier)
  /// Inviting device: the other one has not stored it, and says so.
  case rejected(Identifier)
  /// It is over; the connection is closed once what was sent before is on its way. Nil: it went well.
  case ended(SegueError?)
}

/// The description that a user sees of a device that joins, or of the account that a device joins.
public struct JoinQuestion: Sendable {
  /// The same on both screens, or somebody is in between.
  public let digits: String
  public let accountName: String
  /// The other device.
  public let deviceName: String
  public let platform: String
  /// The joining device.
  public let device: Identifier
  /// The dates of both clocks if they differ by more than a day; nil otherwise.
  public var clocks: (here: Int64, there: Int64)?
}
