import SegueModel
import Testing

@testable import SegueTrust

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
