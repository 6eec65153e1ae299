// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// A certificate is verified when it is shown, not with each message.
@Suite struct VerifiedCertificateTests {
  private func count(_ device: Device) throws -> Int {
    try #require(device.cryptography as? StandInCryptography).verifications
  }

  @Test func `messages of a link verify a certificate once`() throws {
    let world = World()
    let (manager, phone) = try { ($0[0], $0[1]) }(world.account("laptop", "phone"))
    let greeting = try phone.service.greeting(at: world.now)
    _ = manager.service.receive(greeting, from: try phone.certificate, at: world.now)
    _ = try manager.service.credentials(at: world.now)
    let before = try count(manager)
    for _ in 0..<10 {
      world.wait(seconds: 60)
      _ = manager.service.receive(greeting, from: try phone.certificate, at: world.now)
      _ = try manager.service.credentials(at: world.now)
    }
    #expect(try count(manager) == before)
    // Restarted, it knows nothing.
    manager.restart()
    _ = manager.service.receive(greeting, from: try phone.certificate, at: world.now)
    #expect(try count(manager) == before + 1)
  }

  /// The certificate of a device, as TLS at the other end hands it over after it has verified it.
  private func shown(
    by device: Device, to other: Device, revocations: [UInt8]? = nil, at now: Instant
  ) throws -> PeerCertificate {
    let certificate = try device.certificate
    return PeerCertificate(
      certificate,
      PeerCertificate.Verification(
        fields: try other.cryptography.readCertificate(certificate), root: try other.member.record.root,
        revocations: try revocations ?? other.member.roster.revocations, at: now))
  }

  @Test func `a certificate that TLS has verified is not verified again`() throws {
    let world = World()
    let (manager, phone) = try { ($0[0], $0[1]) }(world.account("laptop", "phone"))
    manager.restart()
    let greeting = try phone.service.greeting(at: world.now)
    _ = try manager.service.credentials(at: world.now)
    let before = try count(manager)
    manager.service.take(try shown(by: phone, to: manager, at: world.now))
    #expect(manager.service.receive(greeting, from: try phone.certificate, at: world.now).isEmpty)
    #expect(try count(manager) == before)
  }

  @Test func `what TLS has verified against other revocations is verified again`() throws {
    let world = World()
    let (manager, phone) = try { ($0[0], $0[1]) }(world.account("laptop", "phone"))
    manager.restart()
    let former = try shown(by: phone, to: manager, revocations: [7], at: world.now)
    let before = try count(manager)
    manager.service.take(former)
    _ = try manager.service.accepted(try phone.certificate, at: world.now)
    #expect(try count(manager) == before + 1)
  }

  @Test func `what TLS has verified ends on its day, and counts from when it was verified`() throws {
    let world = World()
    let (manager, phone) = try { ($0[0], $0[1]) }(world.account("laptop", "phone"))
    manager.restart()
    manager.service.take(try shown(by: phone, to: manager, at: world.now))
    world.wait(days: -30)
    #expect(throws: SegueError.self) { _ = try manager.service.accepted(try phone.certificate, at: world.now) }
    world.wait(days: 30 + 366)
    #expect(throws: SegueError.self) { _ = try manager.service.accepted(try phone.certificate, at: world.now) }
  }

  @Test(arguments: Primitives.allCases)
  func `a certificate that was verified ends on its day`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let (manager, phone) = try { ($0[0], $0[1]) }(world.account("laptop", "phone"))
    let certificate = try phone.certificate
    let end = try phone.member.certificate.until
    _ = try manager.service.accepted(certificate, at: world.now)
    world.wait(seconds: Double(end - world.now.seconds - 1))
    #expect(try manager.service.accepted(certificate, at: world.now) == phone.member.identity)
    world.wait(seconds: 2)
    let error = thrown { try manager.service.accepted(certificate, at: world.now) }
    #expect(error?.message.contains("ended at") == true, "\(error?.message ?? "accepted")")
  }

  @Test(arguments: Primitives.allCases)
  func `a certificate that was verified has not begun by a clock that goes back`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let (manager, phone) = try { ($0[0], $0[1]) }(world.account("laptop", "phone"))
    let certificate = try phone.certificate
    _ = try manager.service.accepted(certificate, at: world.now)
    world.wait(days: -30)
    let error = thrown { try manager.service.accepted(certificate, at: world.now) }
    #expect(error?.message.contains("begins at") == true, "\(error?.message ?? "accepted")")
    world.wait(days: 30)
    #expect(try manager.service.accepted(certificate, at: world.now) == phone.member.identity)
  }
}
