// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CertificateMaker
import Foundation
@testable import SegueAgentCore
import SegueModel
import Testing

@testable import SegueOpenSSL

/// Attacks on links between devices that must fail (SECURITY.md), each beside what works without the attack.
@Suite struct LinkAttackTests {
  let account = TestAccount()
  /// Bytes of the knock.
  private static let knockBytes = 96

  private func link(
    _ client: TLSContext, _ server: TLSContext, under epoch: EpochKeys = keys(1), answering: [EpochKeys] = [keys(1)]
  ) -> TestLink {
    let link = TestLink(from: client, to: server, under: epoch, answering: answering)
    link.run()
    return link
  }

  /// All bits of the knock, and one of each byte of TLS; SEGUE_FLIPS=8: all.
  @Test func `A10: any bit of the handshake that is turned over, in either direction, leaves no link`() throws {
    let (client, server) = (try account.device().context(), try account.device().context())
    let clean = link(client, server)
    #expect(clean.isUp)
    let isThorough = ProcessInfo.processInfo.environment["SEGUE_FLIPS"] == "8"
    for bit in 0..<clean.moved * 8 {
      let byte = bit / 8
      guard byte < Self.knockBytes || bit % 8 == byte % 8 || isThorough else { continue }
      let link = TestLink(from: client, to: server)
      link.flip = bit
      link.run()
      #expect(!link.isUp, "bit \(bit % 8) of byte \(bit / 8) of \(clean.moved)")
    }
  }

  @Test func `A12: a connection that leads back to its device is refused`() throws {
    let (one, other) = (try account.device().context(), try account.device().context())
    #expect(link(one, other).isUp)
    #expect(link(one, one).error?.message == "the connection leads back to this device")
  }

  @Test(arguments: [certificates_misnamed, certificates_of_account, certificates_unnamed])
  func `A13: a certificate that says another identity than its key is refused`(flaw: certificates_flaw) throws {
    let (good, bad) = (account.device(), account.device(flaw))
    // The bad one has no check of its own name.
    let context = try TLSContext(good.credentials())
    #expect(link(try account.device().context(), context).isUp)
    let forged = try unchecked(bad)
    #expect(!link(forged, context).isUp)
    #expect(!link(context, forged).isUp)
  }

  /// A context that shows a certificate which its own device would refuse.
  private func unchecked(_ device: TestDevice) throws -> TLSContext {
    let context = try account.device().context()
    var certificate = device.certificate
    var key = try device.key.withBytes { Array($0) }
    certificate.withUnsafeMutableBufferPointer { certificate in
      key.withUnsafeMutableBufferPointer { key in
        certificates_use(
          UnsafeMutableRawPointer(context.context),
          certificates_bytes(start: certificate.baseAddress, count: certificate.count),
          certificates_bytes(start: key.baseAddress, count: key.count))
      }
    }
    return context
  }

  @Test func `A14: another application protocol is refused`() throws {
    let (one, other) = (account.device(), account.device())
    #expect(link(try one.context(), try other.context()).isUp)
    #expect(!link(try one.context(speaking: "segue/0"), try other.context()).isUp)
    #expect(!link(try one.context(), try other.context(speaking: "segue/0")).isUp)
    let silent = try account.device().context()
    certificates_say_no_protocol(UnsafeMutableRawPointer(silent.context))
    #expect(!link(silent, try other.context()).isUp)
  }

  @Test func `A14: TLS 1.2 is refused`() throws {
    let (one, other) = (try account.device().context(), try account.device().context())
    let old = try account.device().context()
    certificates_speak_1_2(UnsafeMutableRawPointer(old.context))
    #expect(link(one, other).isUp)
    #expect(link(old, other).error != nil && link(other, old).error != nil)
  }

  @Test func `A15: a revoked device is refused at a full handshake, whichever side dials`() throws {
    let (lost, other) = (account.device(), account.device())
    #expect(link(try lost.context(), try other.context()).isUp)
    let warned = try other.context(revoking: lost.serial)
    let dialled = link(try lost.context(), warned)
    #expect(!dialled.isUp && dialled.error?.message == "the other device's certificate: certificate revoked")
    #expect(!link(warned, try lost.context()).isUp)
    #expect(link(try account.device().context(), warned).isUp)
  }

  @Test func `A15: revocations that the account has not signed are taken from nobody`() throws {
    let device = account.device()
    _ = try device.context(with: account.revocations())
    var changed = account.revocations()
    changed[changed.count - 1] ^= 1
    // All accounts of this test have the same name.
    for list in [changed, TestAccount().revocations()] {
      let error = #expect(throws: SegueError.self) { _ = try device.context(with: list) }
      #expect(error?.message.contains("revocations") == true)
    }
  }

  @Test func `A15: revocations that begin in the future leave no link, as it is not known what held before`() throws {
    let (one, other) = (account.device(), account.device())
    #expect(link(try one.context(with: account.revocations()), try other.context()).isUp)
    let early = try one.context(with: account.revocations(begin: 86_400))
    let refused = link(early, try other.context())
    #expect(!refused.isUp && refused.error?.message == "the other device's certificate: CRL is not yet valid")
    #expect(!link(try other.context(), early).isUp)
  }

  @Test func `A15: an open connection is known to be a revoked device's as soon as it was revoked`() throws {
    let (lost, other) = (account.device(), account.device())
    let link = link(try lost.context(), try other.context())
    #expect(link.isUp)
    #expect(link.server.isRevoked(by: try other.context(revoking: lost.serial)))
    #expect(!link.server.isRevoked(by: try other.context(revoking: other.serial)))
  }

  @Test func `A15: a device that was removed is refused, though none of its certificates is known to be revoked`()
    throws
  {
    let (lost, other) = (account.device(), account.device())
    let lostID = try #require(try lost.context().identity?.device)
    let otherID = try #require(try other.context().identity?.device)
    let link = link(try lost.context(), try other.context())
    #expect(link.isUp)
    account.members = AccountMembers(listed: [otherID], removed: [lostID])
    let removing = try other.context()
    #expect(link.server.isRevoked(by: removing))
    let refused = self.link(try lost.context(), removing)
    #expect(!refused.isUp && refused.error?.message.contains("was removed from the account") == true)
    #expect(!self.link(removing, try lost.context()).isUp)
    account.members = AccountMembers(listed: [lostID, otherID])
    let control = try other.context()
    #expect(try !link.server.isRevoked(by: control) && self.link(lost.context(), control).isUp)
    // One that is not listed is authenticated, so that it may bring a list; it gets no session.
    account.members = AccountMembers(listed: [otherID])
    let unlisting = try other.context()
    #expect(control.lists(lostID) && !unlisting.lists(lostID) && !removing.lists(lostID))
    #expect(try !link.server.isRevoked(by: unlisting) && self.link(lost.context(), unlisting).isUp)
  }

  @Test func `one bad record ends one link, and no other that has nothing to read`() throws {
    let (one, other) = (try account.device().context(), try account.device().context())
    let (bad, good) = (link(one, other), link(other, one))
    let junk = [0x17, 3, 3, 0, 32] + [UInt8](repeating: 7, count: 32)
    #expect(bad.isUp && good.isUp && feed(junk, to: bad.server) != nil)
    bad.server.close()
    // Half of a record: nothing can be read yet.
    good.write([1, 2, 3], to: good.client)
    let record = output(of: good.client)
    certificates_leave_error()
    #expect(feed(Array(record[..<4]), to: good.server) == nil)
    bad.server.close()
    var read: [UInt8] = []
    #expect(feed(Array(record[4...]), to: good.server) { read += $0 } == nil && read == [1, 2, 3])
  }

  /// - Parameter say: has OpenSSL say something of the handshake, which is over.
  private func lateMessages(
    from sender: (TestLink) -> SecureChannel, to receiver: (TestLink) -> SecureChannel, atOnce: Bool,
    _ say: (UnsafeMutableRawPointer) -> Int32
  ) throws -> (taken: Int, error: SegueError?) {
    let link = link(try account.device().context(), try account.device().context())
    #expect(link.isUp)
    let (sender, receiver) = (sender(link), receiver(link))
    let session = UnsafeMutableRawPointer(try #require((sender.session as? TLSSession)?.session))
    for count in 0..<200 {
      let said = (0..<(atOnce ? 200 : 1)).reduce(true) { $1 >= 0 && say(session) == 1 && $0 }
      #expect(said)
      var heard: [UInt8] = []
      link.write([7], to: sender)
      if let error = feed(output(of: sender), to: receiver, { heard += $0 }) { return (count, error) }
      #expect(heard == [7])
    }
    return (200, nil)
  }

  @Test(arguments: [false, true])
  func `A8: who changes keys without end loses the link, and costs no more than a few of them`(atOnce: Bool) throws {
    for asks: Int32 in [0, 1] {
      let toServer = try lateMessages(from: { $0.client }, to: { $0.server }, atOnce: atOnce) {
        certificates_update_key($0, asks)
      }
      let toClient = try lateMessages(from: { $0.server }, to: { $0.client }, atOnce: atOnce) {
        certificates_update_key($0, asks)
      }
      for result in [toServer, toClient] {
        #expect(result.taken == (atOnce ? 0 : TLSSession.lateMessageLimit))
        #expect(result.error?.status == .limitExceeded)
      }
    }
  }

  @Test func `A8: each record counts, however little is in it`() throws {
    let link = link(try account.device().context(), try account.device().context())
    #expect(link.isUp)
    _ = (link.client.takeRecordCount(), link.server.takeRecordCount())
    for (sender, receiver) in [(link.client, link.server), (link.server, link.client)] {
      var (sent, heard): ([UInt8], [UInt8]) = ([], [])
      for byte in 0..<UInt8(100) {
        link.write([byte], to: sender)
        sent += output(of: sender)
      }
      #expect(feed(sent, to: receiver, { heard += $0 }) == nil && heard == Array(0..<100))
      #expect(receiver.takeRecordCount() == 100 && receiver.takeRecordCount() == 0)
    }
    link.write([UInt8](repeating: 7, count: 2 * SecureChannel.recordSize), to: link.client)
    #expect(feed(output(of: link.client), to: link.server, { _ in }) == nil && link.server.takeRecordCount() == 2)
  }

  @Test func `A8: records without content count as well`() throws {
    let client = try account.device().context()
    certificates_note_secret(UnsafeMutableRawPointer(client.context))
    let link = link(client, try account.device().context())
    #expect(link.isUp)
    _ = link.server.takeRecordCount()
    let session = UnsafeMutableRawPointer(try #require((link.client.session as? TLSSession)?.session))
    let records = certificates_empty_records(session, 1, 31)
    defer { certificates_free(records) }
    var heard: [UInt8] = []
    let sent = Array(UnsafeBufferPointer(start: records.start, count: records.count))
    #expect(feed(sent, to: link.server, { heard += $0 }) == nil && heard == [7])
    #expect(link.server.takeRecordCount() == 32)
  }

  @Test func `A8: tickets that nobody uses do not come without end`() throws {
    let result = try lateMessages(from: { $0.server }, to: { $0.client }, atOnce: false) {
      certificates_send_ticket($0)
    }
    #expect(result.taken == TLSSession.lateMessageLimit && result.error?.status == .limitExceeded)
  }

  @Test func `A15: there is nothing to resume`() throws {
    let (one, other) = (try account.device().context(), try account.device().context())
    let link = link(one, other)
    #expect(link.isUp)
    for end in [link.client, link.server] {
      let session = try #require((end.session as? TLSSession)?.session)
      #expect(certificates_is_resumable(UnsafeMutableRawPointer(session)) == 0)
    }
  }

  @Test func `A15: an old epoch opens the knock alone`() throws {
    let (lost, other) = (account.device(), account.device())
    let warned = try other.context(revoking: lost.serial)
    let old = link(try lost.context(), warned, under: keys(1), answering: [keys(2), keys(1)])
    #expect(old.server.hasKnocked && !old.isUp)
    #expect(link(try account.device().context(), warned, under: keys(1), answering: [keys(2), keys(1)]).isUp)
  }

  @Test(arguments: [certificates_expired, certificates_early])
  func `a certificate of another time is refused, with a word about clocks`(flaw: certificates_flaw) throws {
    let link = link(try account.device(flaw).context(), try account.device().context())
    #expect(!link.isUp && link.error?.message.hasSuffix("are the clocks of both devices right?") ?? false)
  }

  @Test func `a certificate for one role is refused in the other`() throws {
    let good = try account.device().context()
    #expect(!link(try account.device(certificates_no_client).context(), good).isUp)
    #expect(!link(good, try account.device(certificates_no_server).context()).isUp)
  }

  @Test func `a device of another account is refused, though it knows the knock key`() throws {
    let (good, foreign) = (try account.device().context(), try TestAccount().device().context())
    #expect(!link(foreign, good).isUp && !link(good, foreign).isUp)
  }

  @Test func `A19: more than 64 KiB before the handshake is over end it`() throws {
    let server = try account.device().context()
    let channel = SecureChannel(answering: [keys(1)], nonce: nonce(), server)
    var knock = KnockClient(keys(1), nonce: nonce())
    #expect(feed(try knock.answer(output(of: channel)), to: channel) == nil)
    // A handshake record that says it is long, again and again.
    var error: SegueError?
    var fed = 0
    while error == nil, fed < 1 << 20 {
      let record = [0x16, 3, fed == 0 ? 1 : 3, 0x40, 0] + (fed == 0 ? [1, 1, 0xFF, 0xFF] : []) as [UInt8]
      let bytes = record + [UInt8](repeating: 0, count: 0x4000 - (fed == 0 ? 4 : 0))
      error = feed(bytes, to: channel)
      fed += bytes.count
    }
    #expect(error != nil && fed <= 5 * 0x4005)
  }

  @Test func `A21: a thousand probes without the account learn nothing stable`() throws {
    let server = try account.device().context()
    var challenges = Set<[UInt8]>()
    for round in 0..<1_000 {
      let channel = SecureChannel(answering: [keys(1)], nonce: nonce(), server)
      challenges.insert(output(of: channel))
      // Silence, noise, TLS, HTTP: the listener closes without a byte.
      let probes: [[UInt8]] = [
        (0..<48).map { _ in UInt8.random(in: 0...255) }, [0x16, 3, 1, 2, 0] + [UInt8](repeating: 1, count: 512),
        Array("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8),
      ]
      #expect(feed(probes[round % 3], to: channel) != nil)
      #expect(output(of: channel).isEmpty && !channel.hasKnocked)
    }
    #expect(challenges.count == 1_000 && challenges.allSatisfy { $0.count == 16 })
    #expect(link(try account.device().context(), server).isUp)
  }
}
