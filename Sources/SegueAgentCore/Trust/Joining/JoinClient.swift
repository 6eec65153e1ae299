// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import SegueSystem

/// The joining end of one connection. TLS with the key of the invite is up before it begins.
struct JoinClient: JoinSide, Sendable {
  private enum Stage: Sendable {
    case nonce
    case answer
    case storing
    case ended
  }

  let invite: Invite
  private var stage = Stage.nonce
  var framing = JoinFraming()
  private var transcript: JoinTranscript
  private let nonce: [UInt8]
  /// The key of the new device; in memory only, until all is stored at once.
  private let key: Secret
  private let hello: [UInt8]
  /// Uptime at which it ends by itself, in milliseconds.
  private(set) var deadline: Int64

  /// - Parameter exporter: 32 bytes of TLS (`Invite.exporterLabel`).
  init(
    invite: Invite, exporter: [UInt8], deviceName: String, platform: String, at now: Instant,
    _ cryptography: any Cryptography
  ) throws(SegueError) {
    self.invite = invite
    nonce = try cryptography.random(32)
    key = try cryptography.makeKey()
    hello = try JoinMessage.hello(
      commitment: JoinTranscript.commitment(to: nonce), request: try cryptography.makeRequest(key: key),
      name: DisplayName.clean(deviceName), platform: RosterDevice.clean(platform), date: now.seconds
    ).encoding()
    transcript = JoinTranscript(exporter: exporter)
    transcript.add(hello)
    deadline = now.uptime + Limits.joinStep
  }

  var hasEnded: Bool { if case .ended = stage { true } else { false } }
  mutating func setEnded() { stage = .ended }

  /// The first message, to be sent at once.
  var start: [JoinOutput] { [.send(JoinFraming.frame(hello))] }

  mutating func receive(
    message: [UInt8], at now: Instant, _ cryptography: any Cryptography
  ) throws(SegueError) -> [JoinOutput] {
    switch (stage, try JoinMessage(message)) {
    case (.nonce, .nonce(let theirs, let account, let name, let date)):
      guard Text.isSame(account, invite.accountName) else {
        throw SegueError(
          .notAllowed,
          """
          join: the other device calls its account "\(account)", the invite "\(invite.accountName)": it is another one
          """)
      }
      let opening = try JoinMessage.opening(nonce: nonce).encoding()
      transcript.add(message)
      let question = JoinQuestion(
        digits: transcript.digits(joining: nonce, inviting: theirs), accountName: account, deviceName: name,
        platform: "", device: try DeviceIdentity.id(ofKey: try cryptography.publicKey(of: key)),
        clocks: ClockAdvice.compared(here: now.seconds, there: date))
      transcript.add(opening)
      stage = .answer
      deadline = now.uptime + Limits.joinApproval + Limits.joinStep
      return [.show(question), .send(JoinFraming.frame(opening))]
    case (.answer, .answer(let root, let chain, let certificate, let roster, let signature, let managerSignature)):
      // Nothing may follow: what ends the joining must not come after it is stored.
      guard framing.isEmpty else { throw SegueError(.malformed, "join: bytes came that are not due") }
      let record = try check(root, chain, certificate, roster, signature, managerSignature, at: now, cryptography)
      transcript.add(message)
      stage = .storing
      return [.store(record)]
    case (_, .refusal(let status, let reason)):
      stage = .ended
      return [.ended(SegueError(status, "join: the inviting device refused: \(JoinMessage.said(reason))"))]
    default: throw SegueError(.malformed, "join: a message came that is not due")
    }
  }

  /// Checks all of the answer before any of it is stored.
  private func check(
    _ root: [UInt8], _ chain: [[UInt8]], _ certificate: [UInt8], _ roster: [UInt8], _ signature: [UInt8],
    _ managerSignature: [UInt8], at now: Instant, _ cryptography: any Cryptography
  ) throws(SegueError) -> AccountRecord {
    guard SecureHash.sha256(root).elementsEqual(invite.fingerprint) else {
      throw SegueError(.notAllowed, "join: the account is not that of the invite: its certificate differs")
    }
    let rootFields = try cryptography.readRoot(root)
    guard try DeviceIdentity.id(ofKey: rootFields.publicKey) == invite.account,
      Text.isSame(DisplayName.clean(rootFields.name), invite.accountName)
    else {
      throw SegueError(.notAllowed, "join: the account is not that of the invite: its key or its name differs")
    }
    guard chain.isEmpty else {
      throw SegueError(.unsupportedVersion, "join: the account has certificates in between; update Segue")
    }
    let fields = try cryptography.readCertificate(certificate)
    guard fields.publicKey.elementsEqual(try cryptography.publicKey(of: key)),
      try DeviceIdentity(of: fields).account == invite.account
    else {
      throw SegueError(.notAllowed, "join: the certificate that came is for another device or account")
    }
    guard !managerSignature.isEmpty else {
      throw SegueError(.unsupportedVersion, "join: the inviting device runs an older Segue; update it")
    }
    let signed = try SignedRoster.check(
      roster, signature, managerSignature, root: root, rootPublicKey: rootFields.publicKey, cryptography)
    let problem = try cryptography.problem(
      of: certificate, root: root, revocations: signed.roster.revocations, at: now.seconds)
    if let problem { throw ClockAdvice.problem(problem, of: fields, at: now.seconds, isManager: false) }
    guard signed.roster[try DeviceIdentity.id(ofKey: fields.publicKey)] != nil else {
      throw SegueError(.notAllowed, "join: the list of the account does not have this device")
    }
    return AccountRecord(key: key, certificate: certificate, root: root, rootKey: .elsewhere, roster: signed)
  }

  /// The record of `.store` is on the disk: this device is in the account, and says so.
  mutating func stored(_ cryptography: any Cryptography) throws(SegueError) -> [JoinOutput] {
    guard case .storing = stage else { throw SegueError(.invalidState, "join: nothing was to be stored") }
    stage = .ended
    let signature = try cryptography.sign(transcript.confirmed, with: key)
    let message = try JoinMessage.confirmation(signature: signature).encoding()
    return [.send(JoinFraming.frame(message)), .ended(nil)]
  }

  mutating func closed() -> [JoinOutput] {
    guard !hasEnded else { return [] }
    stage = .ended
    return [
      .ended(
        SegueError(
          .connectionUnavailable, "join: the connection closed before this device was admitted; ask for a new invite"))
    ]
  }

  mutating func tick(at now: Instant) -> [JoinOutput] {
    guard !hasEnded, now.uptime >= deadline else { return [] }
    return end(SegueError(.remoteApplicationTimedOut, "join: it took too long; ask for a new invite"))
  }
}
