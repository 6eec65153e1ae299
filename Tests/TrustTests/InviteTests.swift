import SegueModel
import Testing

@testable import SegueTrust

/// Invites as text, which anybody may have made (A16), and names that are made to deceive.
@Suite struct InviteTests {
  private func sample(name: String = "Ada’s & Bob’s 100 %") throws -> Invite {
    try Invite(
      account: Identifier(high: 1, low: 2), fingerprint: [UInt8](repeating: 3, count: 32), accountName: name,
      token: (0..<32).map { UInt8($0) }, addresses: ["192.0.2.1", "2001:db8::1"], port: 4711)
  }

  @Test func `a link says all of an invite, and nothing else`() throws {
    let invite = try sample()
    let text = invite.text
    #expect(
      text == "segue:join?v=1&a=00000000000000010000000000000002&f=" + String(repeating: "03", count: 32)
        + "&t=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f&p=4711&h=192.0.2.1&h=2001:db8::1"
        + "&n=Ada%e2%80%99s%20%26%20Bob%e2%80%99s%20100%20%25")
    let read = try Invite(text)
    #expect(read.text == text && read.accountName == invite.accountName && read.addresses == invite.addresses)
    #expect(read.keyIdentity == invite.keyIdentity && read.sharedKey == invite.sharedKey)
    // The identity of the key says nothing about the key, or the token.
    #expect(invite.keyIdentity.count == 16 && invite.sharedKey.count == 32)
    #expect(Array(invite.sharedKey.prefix(16)) != invite.keyIdentity)
    // Keys of later versions are skipped.
    #expect(try Invite(text + "&zz=1&x=2&later").text == text)
  }

  @Test(arguments: [
    ("", "segue:join"), ("segue:join", "segue:join"), ("https://example.com/", "segue:join"), ("&v=2", "twice"),
    ("&p=1", "twice"), ("&n=x", "twice"), ("&h=evil.example", "neither IPv4 nor IPv6"), ("&h=", "neither"),
    ("&h=fe80::1%25eth0", "neither"), ("&h=127.0.0.1/../x", "neither"),
  ])
  func `what is no invite says what is wrong`(_ text: String, _ expected: String) throws {
    let whole = text.hasPrefix("&") ? try sample().text + text : text
    let error = try #require(thrown { try Invite(whole) })
    #expect(error.status == .invalidURL && error.message.contains(expected))
  }

  @Test(arguments: ["v", "a", "f", "t", "p", "h", "n"])
  func `each part of an invite is needed, and checked`(_ key: String) throws {
    let parts = try sample().text.split(separator: "?")[1].split(separator: "&").map { String($0) }
    let others = parts.filter { !$0.hasPrefix(key + "=") }
    #expect(others.count < parts.count)
    #expect(thrown { try Invite("segue:join?" + others.joined(separator: "&")) }?.status == .invalidURL)
    let wrong = key == "n" ? "%ff" : key == "p" ? "65536" : "zz"
    #expect(
      thrown { try Invite("segue:join?" + (others + ["\(key)=\(wrong)"]).joined(separator: "&")) }?.status
        == .invalidURL)
  }

  @Test func `an invite of a later version asks for an update, and a long one is not read`() throws {
    let text = try sample().text
    let later = "segue:join?v=2" + text.dropFirst("segue:join?v=1".count)
    #expect(thrown { try Invite(later) }?.status == .unsupportedVersion)
    #expect(thrown { try Invite(text + "&x=" + String(repeating: "y", count: 2_048)) }?.status == .invalidURL)
    #expect(thrown { try Invite(text + String(repeating: "&h=192.0.2.1", count: 8)) }?.status == .invalidURL)
  }

  @Test func `random damage of a link never traps, and gives another token at most`() throws {
    let bytes = Array(try sample().text.utf8)
    var draws = Draws(state: 7)
    for _ in 0..<2_000 {
      var changed = bytes
      for _ in 0...draws.next(below: 4) {
        let place = draws.next(below: changed.count)
        switch draws.next(below: 3) {
        case 0: changed[place] = UInt8(draws.next(below: 256))
        case 1: changed.remove(at: place)
        default: changed.insert(UInt8(draws.next(below: 256)), at: place)
        }
      }
      if let invite = try? Invite(String(decoding: changed, as: UTF8.self)) {
        #expect(invite.addresses.count <= Limits.inviteAddresses && invite.port > 0)
        #expect(invite.accountName.unicodeScalars.count <= Limits.deviceName)
        _ = try Invite(invite.text)
      }
    }
  }

  @Test(arguments: [
    ("  Ada's\tlaptop \n", "Ada's laptop"), ("phone\u{202e}gpj.exe", "phone gpj.exe"), ("a\u{200b}d\u{200d}a", "ada"),
    ("\u{1b}[2Jphone", "[2Jphone"), ("\u{feff}", "unnamed"), ("", "unnamed"), ("\u{3000}\u{2800} x", "x"),
    ("a\u{300}\u{301}\u{302}\u{303}b", "a\u{300}\u{301}b"), ("\u{301}x", "x"), ("a  \u{a0} b", "a b"),
    ("tag\u{e0041}\u{e0042}", "tag"), ("日本語のノート", "日本語のノート"), ("line\u{2028}break", "line break"),
  ])
  func `names that are made to deceive are shown as what they are (R10.4)`(_ name: String, _ shown: String) {
    #expect(Array(ShownName.clean(name).utf8) == Array(shown.utf8))
    #expect(Array(ShownName.clean(shown).utf8) == Array(shown.utf8))
  }

  @Test func `long names are cut at 64 characters`() {
    #expect(ShownName.clean(String(repeating: "é", count: 500)).unicodeScalars.count == 64)
    #expect(ShownName.clean(String(repeating: "a ", count: 500)).unicodeScalars.count <= 64)
  }

  @Test func `devices whose names look the same show fingerprints, and others none (R10.4)`() throws {
    let world = World()
    let manager = try world.account("laptop", "Phone", "desk", "phone ", "LAP-TOP")[0]
    let devices = try manager.service.devices()
    #expect(devices.map { $0.fingerprint != nil } == [true, true, false, true, true])
    #expect(Set(devices.compactMap { $0.fingerprint }).count == 4)
    #expect(devices.compactMap { $0.fingerprint }.allSatisfy { $0.utf8.count == 9 })
  }
}
