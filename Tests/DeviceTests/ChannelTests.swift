// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CertificateMaker
import SegueModel
import Testing

@testable import SegueAgentCore
@testable import SegueOpenSSL

/// The knock and TLS together, on bytes in memory (docs/device-links.md).
@Suite struct ChannelTests {
  let account = TestAccount()
  private let now = Instant(uptime: 0, date: 0)

  private func link(_ client: TestDevice, _ server: TestDevice, revoking serial: Int = 0) throws -> TestLink {
    let link = TestLink(from: try client.context(), to: try server.context(revoking: serial))
    link.run()
    return link
  }

  @Test func `two devices of an account link, and each knows the other by its certificate`() throws {
    let (one, other) = (try account.device().context(), try account.device().context())
    let link = TestLink(from: one, to: other)
    link.run()
    #expect(link.isUp, "\(link.error?.message ?? "")")
    #expect(link.client.peer == other.identity && link.server.peer == one.identity)
    #expect(one.identity?.account == other.identity?.account && one.identity?.device != other.identity?.device)
  }

  @Test func `both ends know the listener's nonce, by which a device recognises its own listener`() throws {
    let (one, other) = (try link(account.device(), account.device()), try link(account.device(), account.device()))
    #expect(one.client.challenge?.count == 16 && one.client.challenge == one.server.challenge)
    #expect(one.client.challenge != other.client.challenge)
  }

  @Test func `bytes of any number arrive in order, whatever the pieces`() throws {
    let link = try link(account.device(), account.device())
    link.toServer = []
    let sent = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var rest = sent[...]
    while !rest.isEmpty {
      let taken = try Array(rest).withUnsafeBytes { try link.client.write($0) }
      #expect(taken > 0)
      rest = rest.dropFirst(taken)
      var wire = output(of: link.client)[...]
      while !wire.isEmpty {
        let piece = wire.prefix(Int.random(in: 1...40_000))
        #expect(feed(Array(piece), to: link.server) { link.toServer += $0 } == nil)
        wire = wire.dropFirst(piece.count)
      }
    }
    #expect(link.toServer == sent)
  }

  @Test func `what is not read as it arrives is kept, and comes before what follows`() throws {
    let link = try link(account.device(), account.device())
    let server = try #require(link.server.session as? TLSSession)
    for text in ["one ", "two "] {
      link.write(Array(text.utf8), to: link.client)
      try output(of: link.client).withUnsafeBytes { try server.receive($0) {} }
    }
    link.write(Array("three".utf8), to: link.client)
    var read = [UInt8](repeating: 0, count: 100)
    try output(of: link.client).withUnsafeBytes { bytes in
      try server.receive(bytes) { () throws(SegueError) in
        var (count, failure): (Int, SegueError?) = (0, nil)
        read.withUnsafeMutableBytes { buffer in
          do throws(SegueError) { count = try server.read(into: buffer) } catch { failure = error }
        }
        if let failure { throw failure }
        read.removeLast(read.count - count)
      }
    }
    #expect(read == Array("one two three".utf8))
  }

  @Test func `each end shows its certificate alone: the other has the root`() throws {
    let (one, other) = (account.device(), account.device())
    let link = try link(one, other)
    #expect(link.isUp && link.moved < one.certificate.count + other.certificate.count + 3_400, "\(link.moved)")
  }

  @Test func `what TLS has verified of a certificate is known, if that is all that an account asks for`() throws {
    let (one, other) = (account.device(), account.device())
    let link = try link(one, other)
    let shown = try #require(link.server.shown(at: now))
    #expect(shown.encoding == one.certificate && shown.verification != nil)
    #expect(link.client.shown(at: now)?.encoding == other.certificate)
    // Good for the end at which TLS has seen it, and for that one alone.
    let half = try self.link(account.device(certificates_no_server), other)
    #expect(
      half.isUp && half.server.shown(at: now)?.verification == nil && half.client.shown(at: now)?.verification != nil)
  }

  @Test func `a client is not up before the server has accepted it`() throws {
    let (client, server) = (account.device(), account.device())
    let link = TestLink(from: try client.context(), to: try server.context(revoking: client.serial))
    link.run()
    #expect(!link.client.isUp && !link.server.isUp && link.server.peer == nil)
  }

  @Test func `what a dialler says arrives with its certificate, two round trips after its knock`() throws {
    let link = TestLink(from: try account.device().context(), to: try account.device().context())
    var heard: [UInt8] = []
    #expect(link.move(from: link.server, to: link.client) { _ in }, "the challenge")
    #expect(link.move(from: link.client, to: link.server) { _ in }, "the knock, and TLS behind it")
    #expect(!link.client.isAuthenticated && link.server.hasKnocked)
    #expect(link.move(from: link.server, to: link.client) { _ in }, "the proof, and the server's certificate")
    #expect(link.client.isAuthenticated && !link.client.isUp && !link.server.isUp)
    link.write([7], to: link.client)
    #expect(link.move(from: link.client, to: link.server) { heard += $0 })
    #expect(link.server.isUp && heard == [7] && !link.client.isUp)
  }

  @Test func `A21: what follows a wrong knock is not read, and nothing is said`() throws {
    let context = try account.device().context()
    let link = TestLink(from: context, to: try account.device().context(), under: keys(2), answering: [keys(1)])
    link.run()
    #expect(link.error?.status == .connectionUnavailable && !link.server.hasKnocked && !link.server.hasOutput)
    link.write([7], to: link.client)
    #expect(output(of: link.client).isEmpty, "nothing is said to who has proved nothing")
  }

  @Test func `A26: the length of a record tells none of what is in it`() throws {
    let link = try link(account.device(), account.device())
    func sizes(_ count: Int) throws -> [Int] {
      link.write([UInt8](repeating: 7, count: count), to: link.client)
      let wire = output(of: link.client)
      #expect(feed(wire, to: link.server) { link.toServer += $0 } == nil)
      var (place, sizes): (Int, [Int]) = (0, [])
      while place + 5 <= wire.count {
        sizes.append(Int(wire[place + 3]) << 8 | Int(wire[place + 4]))
        place += 5 + (sizes.last ?? 0)
      }
      return sizes
    }
    link.toServer = []
    // An AES-GCM or ChaCha20-Poly1305 record has a tag of 16 bytes. One byte of its contents is its type.
    for count in [1, 2, 80, 500, 512, 1_000, 1_023] { #expect(try sizes(count) == [1_024 + 16], "\(count)") }
    for count in [1_024, 2_000, 4_095] { #expect(try sizes(count) == [4_096 + 16], "\(count)") }
    for count in [4_096, 8_000] { #expect(try sizes(count) == [8_192 + 16], "\(count)") }
    // Bulk is not made longer.
    #expect(try sizes(SecureChannel.recordSize) == [SecureChannel.recordSize + 1 + 16])
    #expect(link.toServer.count == 1 + 2 + 80 + 500 + 512 + 1_000 + 1_023 + 1_024 + 2_000 + 4_095 + 12_096 + 16_384)
    #expect(link.toServer.allSatisfy { $0 == 7 } && link.error == nil)
  }

  @Test func `little is encrypted while nothing is sent`() throws {
    let link = try link(account.device(), account.device())
    let bytes = [UInt8](repeating: 1, count: 1 << 20)
    let taken = try bytes.withUnsafeBytes { try link.client.write($0) }
    #expect(taken < 128 * 1024 && taken > 0)
    #expect(try bytes.withUnsafeBytes { try link.client.write($0) } == 0)
  }

  @Test func `the end is told`() throws {
    let link = try link(account.device(), account.device())
    link.client.close()
    _ = link.move(from: link.client, to: link.server) { _ in }
    #expect(link.server.isClosed)
  }

  @Test func `credentials that do not fit together are refused`() throws {
    let (one, other) = (account.device(), account.device())
    let mixed = DeviceCredentials(
      key: other.key, certificate: one.certificate, root: account.root, revocations: account.revocations(),
      members: account.members)
    #expect { try TLSContext(mixed) } throws: { ($0 as? SegueError)?.message.hasPrefix("the device's key") ?? false }
    let empty = DeviceCredentials(
      key: one.key, certificate: [], root: account.root, revocations: [], members: account.members)
    #expect { try TLSContext(empty) } throws: {
      ($0 as? SegueError)?.message.hasPrefix("the device's certificate") ?? false
    }
    #expect(throws: SegueError.self) { try account.device(certificates_misnamed).context() }
  }

  @Test func `handshake bytes name no host, and the certificate is encrypted`() throws {
    let (client, server) = (account.device(), account.device())
    let link = TestLink(from: try client.context(), to: try server.context())
    var seen: [UInt8] = []
    while !link.client.isUp {
      let (down, up) = (output(of: link.server), output(of: link.client))
      guard !down.isEmpty || !up.isEmpty else { break }
      seen += down + up
      _ = feed(down, to: link.client)
      _ = feed(up, to: link.server)
      if link.server.isUp { link.write([1], to: link.server) }
    }
    let text = String(decoding: seen, as: UTF8.self)
    #expect(link.client.isUp && !text.contains("account") && !text.contains("segue:acct"))
  }
}
