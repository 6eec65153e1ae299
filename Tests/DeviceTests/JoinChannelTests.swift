// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CertificateMaker
import SegueModel
import Testing

@testable import SegueOpenSSL
@testable import SegueAgentCore

/// Connections on which a device joins with an invite: the knock with its key, then TLS with its pre-shared key.
@Suite struct JoinChannelTests {
  let account = TestAccount()

  private func invite(_ digit: String = "7") throws -> Invite {
    let link = "segue:join?v=1&a=\(digits("1", 32))&f=\(digits("2", 64))&t=\(digits(digit, 64))&p=4711&h=::1&n=Home"
    return try Invite(link + String(decoding: Invite.end(of: Array(link.utf8)), as: UTF8.self))
  }

  private func digits(_ digit: String, _ count: Int) -> String { String(repeating: digit, count: count) }

  /// A device of the account at which invites are open, and the client of a connection to it.
  private func link(_ client: SecureChannel, _ invites: [Invite]) throws -> TestLink {
    let server = SecureChannel(
      answering: [keys(1)], invites: invites, nonce: nonce(), try account.device().context())
    let link = TestLink(client, server)
    link.run()
    return link
  }

  @Test func `both ends know the invite, and have the same secret, and no device has shown itself`() throws {
    let (invite, another) = (try invite(), try invite("8"))
    let link = try link(SecureChannel(joiningWith: invite, nonce: nonce()), [another, invite])
    #expect(link.isUp, "\(link.error?.message ?? "")")
    #expect(link.server.invite?.text == invite.text && link.client.invite?.text == invite.text)
    #expect(
      link.server.peer == nil && link.client.peer == nil && link.client.shown(at: Instant(uptime: 0, date: 0)) == nil)
    let exporter = try link.client.exporter(Invite.exporterLabel)
    #expect(try exporter.count == 32 && link.server.exporter(Invite.exporterLabel) == exporter)
    #expect(try link.client.exporter("EXPORTER-segue-join-2") != exporter)
    let second = try self.link(SecureChannel(joiningWith: invite, nonce: nonce()), [invite])
    #expect(try second.client.exporter(Invite.exporterLabel) != exporter, "each connection has another one")
  }

  @Test func `A21: who has an invite that is over, or another, hears a nonce and nothing else`() throws {
    for open in [[], [try invite("8")]] {
      let client = try SecureChannel(joiningWith: try invite(), nonce: nonce())
      let link = try link(client, open)
      #expect(!link.isUp && link.error != nil && link.moved == 64 && !link.server.hasOutput)
    }
  }

  @Test func `links go on while invites are open`() throws {
    let client = SecureChannel(knockingUnder: keys(1), nonce: nonce(), try account.device().context())
    let link = try link(client, [try invite()])
    #expect(link.isUp && link.server.invite == nil && link.server.peer != nil)
  }

  @Test func `A16: who has the key of the knock alone, or a certificate besides, does not get in`() throws {
    let invite = try invite()
    let client = SecureChannel(knockingUnder: invite.knockKeys, nonce: nonce(), try account.device().context())
    let link = try link(client, [invite])
    #expect(!link.isUp && link.error != nil && !link.server.isUp && link.server.peer == nil)
  }

  @Test func `A11: the pre-shared key of another invite is refused by both ends`() throws {
    let client = try TLSSession(.client, try TLSContext(joiningWith: try invite()))
    let server = try TLSSession(.server, try TLSContext(joiningWith: try invite("8")))
    try client.advance()
    let hello = client.takeOutput()
    #expect(throws: SegueError.self) {
      try hello.withUnsafeBytes { bytes in try server.receive(bytes) {} }
      try server.advance()
    }
    #expect(!server.isAuthenticated && !client.isAuthenticated)
  }

  @Test func `A11: who shows a certificate instead of the key is no inviting device`() throws {
    let client = try TLSSession(.client, try TLSContext(joiningWith: try invite()))
    let server = try TLSSession(.server, try account.device().context(speaking: "segue-join/1"))
    #expect(throws: SegueError.self) {
      for _ in 0..<4 {
        try client.advance()
        try move(client, server)
        try? server.advance()
        try move(server, client)
      }
    }
    #expect(!client.isAuthenticated)
  }

  private func move(_ from: TLSSession, _ to: TLSSession) throws {
    try from.takeOutput().withUnsafeBytes { bytes in try to.receive(bytes) {} }
  }

  @Test func `A10: no bit of joining can be turned over unnoticed`() throws {
    let invite = try invite()
    let whole = try link(SecureChannel(joiningWith: invite, nonce: nonce()), [invite])
    // The first two application records are after the handshake; a flip in them ends the connection as well.
    for flip in stride(from: 0, to: whole.moved * 8, by: 29) {
      let server = SecureChannel(
        answering: [keys(1)], invites: [invite], nonce: nonce(), try account.device().context())
      let link = TestLink(try SecureChannel(joiningWith: invite, nonce: nonce()), server)
      link.flip = flip
      link.run()
      #expect(!link.isUp, "bit \(flip)")
    }
  }
}
