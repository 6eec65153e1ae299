// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueCrypto
import SegueModel

/// The messages of two devices before TLS, so that a listener shows nothing to those who are not of its account:
///
///     server → client   16 random bytes
///     client → server   16 random bytes, HMAC-SHA256(knock key, client role ‖ both nonces)
///     server → client   HMAC-SHA256(knock key, server role ‖ both nonces)
///
/// A wrong answer closes the connection without a word. The knock hides; mutual TLS authenticates.
public enum Knock {
  /// Bytes of a nonce.
  public static let nonceSize = 16
  /// Bytes that the client sends, and those of the server's second message.
  public static let answerSize = nonceSize + KeyedHash.size
  /// The most epochs that are answered: those of 366 days, 16 at most.
  public static let epochs = 16

  /// The side that proves the key: a message of one role is no message of the other, so that none can be reflected.
  enum Role: UInt8 {
    case client = 1
    case server = 2
  }

  /// - Parameters:
  ///   - server: the nonce of the server.
  ///   - client: the nonce of the client.
  static func proof(
    _ role: Role, of key: [UInt8], _ server: [UInt8], _ client: [UInt8]
  ) throws(SegueError) -> [UInt8] {
    try KeyedHash(key: key).code(of: Array("segue knock".utf8) + [role.rawValue] + server + client)
  }

  static var wrong: SegueError {
    SegueError(.connectionUnavailable, "the other side does not prove that it is of this account")
  }
}

/// The listening side of a knock: reads exactly one answer.
public struct KnockServer {
  private let epochs: [EpochKeys]
  private let invites: [Invite]
  private let nonce: [UInt8]
  /// The epoch whose key the client has, once it has proved that.
  public private(set) var epoch: UInt64?
  /// The invite whose key the client has instead, once it has proved that.
  public private(set) var invite: Invite?

  /// - Parameters:
  ///   - epochs: those whose keys are answered, newest first; those beyond 16 are not.
  ///   - invites: those that can be used: their keys are answered, too.
  ///   - nonce: 16 new random bytes.
  public init(_ epochs: [EpochKeys], invites: [Invite] = [], nonce: [UInt8]) {
    self.epochs = Array(epochs.prefix(Knock.epochs))
    self.invites = invites
    self.nonce = nonce
  }

  /// The first message of the server.
  public var challenge: [UInt8] { nonce }

  /// Takes the 48 bytes of the client, and returns the 32 with which the server answers. Throws if no epoch's key
  /// proves them.
  public mutating func answer(_ message: [UInt8]) throws(SegueError) -> [UInt8] {
    guard message.count == Knock.answerSize, epoch == nil, invite == nil else { throw Knock.wrong }
    let client = Array(message[..<Knock.nonceSize])
    guard client != nonce else { throw Knock.wrong }
    for keys in epochs where try proves(message, keys, client) {
      epoch = keys.epoch
      return try Knock.proof(.server, of: keys.knock, nonce, client)
    }
    for invite in invites {
      let keys = invite.knockKeys
      guard try proves(message, keys, client) else { continue }
      self.invite = invite
      return try Knock.proof(.server, of: keys.knock, nonce, client)
    }
    throw Knock.wrong
  }

  private func proves(_ message: [UInt8], _ keys: EpochKeys, _ client: [UInt8]) throws(SegueError) -> Bool {
    let expected = try Knock.proof(.client, of: keys.knock, nonce, client)
    return KeyedHash.isSame(message[Knock.nonceSize...], expected[...])
  }
}

/// The dialling side of a knock, under the key of one epoch.
public struct KnockClient {
  private let keys: EpochKeys
  private let nonce: [UInt8]
  private var challenge: [UInt8]?

  /// - Parameter nonce: 16 new random bytes.
  public init(_ keys: EpochKeys, nonce: [UInt8]) {
    self.keys = keys
    self.nonce = nonce
  }

  /// Takes the 16 bytes of the server's challenge, and returns the 48 with which the client answers.
  public mutating func answer(_ challenge: [UInt8]) throws(SegueError) -> [UInt8] {
    guard challenge.count == Knock.nonceSize, self.challenge == nil, challenge != nonce else { throw Knock.wrong }
    self.challenge = challenge
    return nonce + (try Knock.proof(.client, of: keys.knock, challenge, nonce))
  }

  /// Takes the 32 bytes of the server's proof. Throws if it has not the key.
  public func check(_ proof: [UInt8]) throws(SegueError) {
    guard let challenge else { throw Knock.wrong }
    let expected = try Knock.proof(.server, of: keys.knock, challenge, nonce)
    guard KeyedHash.isSame(proof[...], expected[...]) else { throw Knock.wrong }
  }
}
