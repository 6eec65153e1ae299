// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel

/// The inviting end of one connection on which a device joins. TLS with the key of the invite is up before it begins.
///
/// It gets bytes, the user's decision and the time, and gives back what to send and to ask. Any error ends it, and the
/// invite is void then.
struct JoinServer: JoinSide, Sendable {
  private enum Stage: Sendable {
    case hello
    case opening(Hello)
    case approval(Hello, JoinQuestion)
    case confirmation(Hello, device: Identifier)
    case ended
  }

  /// The statements of the joining device about itself.
  struct Hello: Sendable {
    let commitment: [UInt8]
    /// Read from its request, which proves that it has the private key.
    let publicKey: [UInt8]
    let name: String
    let platform: String
    /// The dates of both clocks if they differ.
    let clocks: (here: Int64, there: Int64)?
  }

  let invite: Invite
  private var stage = Stage.hello
  var framing = JoinFraming()
  private var transcript: JoinTranscript
  private let nonce: [UInt8]
  private let accountName: String
  private let deviceName: String
  /// Uptime at which it ends by itself, in milliseconds.
  private(set) var deadline: Int64

  /// - Parameter exporter: 32 bytes of TLS (`Invite.exporterLabel`).
  /// - Parameter deviceName: of this device.
  init(
    invite: Invite, exporter: [UInt8], deviceName: String, at now: Instant, _ cryptography: any Cryptography
  ) throws(SegueError) {
    self.invite = invite
    self.deviceName = deviceName
    accountName = invite.accountName
    transcript = JoinTranscript(exporter: exporter)
    nonce = try cryptography.random(32)
    deadline = now.uptime + Limits.joinStep
  }

  var hasEnded: Bool { if case .ended = stage { true } else { false } }
  mutating func setEnded() { stage = .ended }

  mutating func receive(
    message: [UInt8], at now: Instant, _ cryptography: any Cryptography
  ) throws(SegueError) -> [JoinOutput] {
    switch (stage, try JoinMessage(message)) {
    case (.hello, .hello(let commitment, let request, let name, let platform, let date)):
      let publicKey = try cryptography.readRequest(request)
      _ = try DeviceIdentity.id(ofKey: publicKey)
      let answer = try JoinMessage.nonce(nonce: nonce, account: accountName, name: deviceName, date: now.seconds)
        .encoding()
      transcript.add(message)
      transcript.add(answer)
      stage = .opening(
        Hello(
          commitment: commitment, publicKey: publicKey, name: name, platform: RosterDevice.clean(platform),
          clocks: ClockAdvice.compared(here: now.seconds, there: date)))
      deadline = now.uptime + Limits.joinStep
      return [.send(JoinFraming.frame(answer))]
    case (.opening(let hello), .opening(let opened)):
      guard isSameSecret(JoinTranscript.commitment(to: opened), hello.commitment) else {
        throw SegueError(.notAllowed, "join: the other device has changed its nonce: somebody may be in between")
      }
      let question = JoinQuestion(
        digits: transcript.digits(joining: opened, inviting: nonce), accountName: accountName, deviceName: hello.name,
        platform: hello.platform, device: try DeviceIdentity.id(ofKey: hello.publicKey), clocks: hello.clocks)
      transcript.add(message)
      stage = .approval(hello, question)
      deadline = now.uptime + Limits.joinApproval
      return [.ask(question)]
    case (.confirmation(let hello, let device), .confirmation(let signature)):
      guard cryptography.isSignature(signature, of: transcript.confirmed, by: hello.publicKey) else {
        throw SegueError(.notAllowed, "join: the confirmation is not signed with the new device's key")
      }
      stage = .ended
      return [.confirmed(device), .ended(nil)]
    case (let stage, .refusal(_, let reason)):
      self.stage = .ended
      let error = SegueError(.declined, "join: the other device ended it: \(JoinMessage.said(reason))")
      let ended = JoinOutput.ended(error)
      return if case .confirmation(_, let device) = stage { [.rejected(device), ended] } else { [ended] }
    default: throw SegueError(.malformed, "join: a message came that is not due")
    }
  }

  /// The device that the user's approval admits. Nil if it does not wait for that.
  var approved: Hello? { if case .approval(let hello, _) = stage { hello } else { nil } }

  /// Answers, once the roster with the device is stored, and the invite void.
  mutating func answer(
    device: Identifier, root: [UInt8], certificate: [UInt8], roster: SignedRoster, at now: Instant
  ) throws(SegueError) -> [JoinOutput] {
    guard case .approval(let hello, _) = stage else { throw SegueError(.invalidState, "join: nothing to approve") }
    let answer = try JoinMessage.answer(
      root: root, chain: [], certificate: certificate, roster: roster.encoding, signature: roster.signature,
      managerSignature: roster.managerSignature
    ).encoding()
    transcript.add(answer)
    stage = .confirmation(hello, device: device)
    deadline = now.uptime + Limits.joinStep
    return [.send(JoinFraming.frame(answer))]
  }

  /// The connection has closed.
  mutating func closed() -> [JoinOutput] {
    guard !hasEnded else { return [] }
    let isAdmitted = if case .confirmation = stage { true } else { false }
    stage = .ended
    guard !isAdmitted else {
      return [
        .ended(
          SegueError(
            .connectionUnavailable,
            "join: the device was admitted, and has not confirmed; if it does not appear, revoke it"))
      ]
    }
    return [.ended(SegueError(.connectionUnavailable, "join: the connection closed before the device was admitted"))]
  }

  mutating func tick(at now: Instant) -> [JoinOutput] {
    guard !hasEnded, now.uptime >= deadline else { return [] }
    return end(SegueError(.remoteApplicationTimedOut, "join: it took too long"))
  }
}
