// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The messages of joining (docs/trust.md). Each is an array that begins with its number, in deterministic CBOR.
enum JoinMessage: Sendable {
  /// The joining device commits itself to a nonce, and asks.
  case hello(commitment: [UInt8], request: [UInt8], name: String, platform: String, date: Int64)
  /// The inviting device's nonce, and how it is called.
  case nonce(nonce: [UInt8], account: String, name: String, date: Int64)
  /// The nonce that the commitment was to.
  case opening(nonce: [UInt8])
  /// All that makes the other one a device of the account. `chain` is for certificates between root and device.
  /// `managerSignature` is empty if an earlier version has sent it.
  case answer(
    root: [UInt8], chain: [[UInt8]], certificate: [UInt8], roster: [UInt8], signature: [UInt8],
    managerSignature: [UInt8])
  /// The joining device has stored it: a signature by its new key.
  case confirmation(signature: [UInt8])
  /// There will be no more, and why: for the user at the other end.
  case refusal(status: Status, reason: String)

  func encoding() throws(SegueError) -> [UInt8] {
    try ValueWriter.array { writer throws(SegueError) in
      switch self {
      case .hello(let commitment, let request, let name, let platform, let date):
        try writer.put(UInt64(1))
        try writer.put(data: commitment)
        try writer.put(data: request)
        try writer.put(name)
        try writer.put(platform)
        try writer.put(date: date)
      case .nonce(let nonce, let account, let name, let date):
        try writer.put(UInt64(2))
        try writer.put(data: nonce)
        try writer.put(account)
        try writer.put(name)
        try writer.put(date: date)
      case .opening(let nonce):
        try writer.put(UInt64(3))
        try writer.put(data: nonce)
      case .answer(let root, let chain, let certificate, let roster, let signature, let managerSignature):
        try writer.put(UInt64(4))
        try writer.put(data: root)
        try writer.putArray { writer throws(SegueError) in for link in chain { try writer.put(data: link) } }
        try writer.put(data: certificate)
        try writer.put(data: roster)
        try writer.put(data: signature)
        try writer.put(data: managerSignature)
      case .confirmation(let signature):
        try writer.put(UInt64(5))
        try writer.put(data: signature)
      case .refusal(let status, let reason):
        try writer.put(UInt64(6))
        try writer.put(UInt64(status.rawValue))
        try writer.put(reason)
      }
    }
  }

  /// The refusal that tells the other device of an error. The system's messages here, with paths, are not for others.
  static func refusal(_ error: SegueError) -> [JoinOutput] {
    let reason = error.status == .system ? "it could not store or compute what it has to" : error.message
    let refusal = JoinMessage.refusal(status: error.status, reason: reason)
    guard reason.utf8.count <= Limits.title, let message = try? refusal.encoding() else { return [] }
    return [.send(JoinFraming.frame(message))]
  }

  /// The reason that the other device gives, for people.
  static func said(_ reason: String) -> String {
    let (line, prefix) = (Text.oneLine(reason), ("join: " as StaticString).bytes)
    return String(decoding: line.starts(with: prefix) ? Array(line.dropFirst(prefix.count)) : line, as: UTF8.self)
  }

  /// Throws MALFORMED.
  init(_ encoding: [UInt8]) throws(SegueError) {
    var fields = try Fields(encoding, "join message", atMost: Limits.joinBytes)
    switch try fields.unsigned("number") {
    case 1:
      self = .hello(
        commitment: try fields.data("commitment", count: 32),
        request: try fields.data("request", atMost: Limits.certificateBytes), name: try fields.newName("name"),
        platform: try fields.text("platform", atMost: Limits.platform), date: try fields.date("date"))
    case 2:
      self = .nonce(
        nonce: try fields.data("nonce", count: 32), account: try fields.newName("account"),
        name: try fields.newName("name"), date: try fields.date("date"))
    case 3: self = .opening(nonce: try fields.data("nonce", count: 32))
    case 4:
      let root = try fields.data("root", atMost: Limits.certificateBytes)
      var chain: [[UInt8]] = []
      for value in try fields.list("chain", atMost: 4) {
        guard let link = value.data, link.count <= Limits.certificateBytes else {
          throw SegueError(.malformed, "join message: chain has what is no certificate")
        }
        chain.append(link)
      }
      self = .answer(
        root: root, chain: chain, certificate: try fields.data("certificate", atMost: Limits.certificateBytes),
        roster: try fields.data("roster", atMost: Limits.rosterBytes),
        signature: try fields.data("signature", count: 64),
        managerSignature: fields.isAtEnd ? [] : try fields.data("manager's signature", count: 64))
    case 5: self = .confirmation(signature: try fields.data("signature", count: 64))
    case 6:
      let number = try fields.unsigned("status", atMost: UInt64(Int32.max))
      let reason = try fields.text("reason", atMost: Limits.title)
      let status = Status(rawValue: Int32(number)) ?? .declined
      self = .refusal(status: status == .ok ? .declined : status, reason: reason)
    case let number: throw SegueError(.malformed, "join message: number \(number) is unknown")
    }
  }
}

/// Messages as bytes on a connection that joins: each has its length before it, 4 bytes, big-endian.
struct JoinFraming {
  private var buffer: [UInt8] = []
  private var received = 0

  static func frame(_ message: [UInt8]) -> [UInt8] {
    let count = UInt32(truncatingIfNeeded: message.count)
    return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + message
  }

  var isEmpty: Bool { buffer.isEmpty }

  /// Throws LIMIT_EXCEEDED.
  mutating func append(_ bytes: [UInt8]) throws(SegueError) {
    received += bytes.count
    guard received <= Limits.joinBytes + 64 else {
      throw SegueError(.limitExceeded, "join: more than \(Limits.joinBytes) bytes came")
    }
    buffer += bytes
  }

  /// The next whole message; nil if it is not there yet. Throws MALFORMED.
  mutating func next() throws(SegueError) -> [UInt8]? {
    guard buffer.count >= 4 else { return nil }
    let count = buffer[..<4].reduce(0) { $0 << 8 | Int($1) }
    guard count > 0, count <= Limits.joinBytes else {
      throw SegueError(.malformed, "join: a message of \(count) bytes is announced")
    }
    guard buffer.count >= 4 + count else { return nil }
    defer { buffer.removeFirst(4 + count) }
    return Array(buffer[4..<(4 + count)])
  }
}
