// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueModel
import Testing

@testable import SegueAgentCore

/// Invites as text, which anybody may have made (A16), and names that are made to deceive.
@Suite struct InviteTests {
  private func sample(name: String = "Ada’s & Bob’s 100 %") throws -> Invite {
    try Invite(
      account: Identifier(high: 1, low: 2), fingerprint: [UInt8](repeating: 3, count: 32), accountName: name,
      token: (0..<32).map { UInt8($0) }, addresses: ["192.0.2.1", "2001:db8::1"], port: 4711)
  }

  /// The link with another part before its end, which says that all of it is there.
  private func adding(_ part: String, to text: String) -> String { checked(text.dropLast(11) + part) }

  private func checked(_ text: some StringProtocol) -> String {
    text + String(decoding: Invite.end(of: Array(text.utf8)), as: UTF8.self)
  }

  @Test func `a link says all of an invite, and nothing else`() throws {
    let invite = try sample()
    let text = invite.text
    #expect(
      text == "segue:join?v=1&a=00000000000000010000000000000002&f=" + String(repeating: "03", count: 32)
        + "&t=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f&p=4711&h=192.0.2.1&h=2001:db8::1"
        + "&n=Ada%e2%80%99s%20%26%20Bob%e2%80%99s%20100%20%25&c=15b5ea87")
    let read = try Invite(text)
    #expect(read.text == text && read.accountName == invite.accountName && read.addresses == invite.addresses)
    #expect(read.keyIdentity == invite.keyIdentity && read.sharedKey == invite.sharedKey)
    // The identity of the key says nothing about the key, or the token.
    #expect(invite.keyIdentity.count == 16 && invite.sharedKey.count == 32)
    #expect(Array(invite.sharedKey.prefix(16)) != invite.keyIdentity)
    // Keys of later versions are skipped.
    #expect(try Invite(adding("&zz=1&x=2&later", to: text)).text == text)
    // So are blanks and line breaks of mail programs, and the case of what begins each link.
    let broken = "  SEGUE:Join?" + text.dropFirst("segue:join?".count).split(separator: "&").joined(separator: "\r\n &")
    #expect(try Invite(broken + "\n").text == text)
  }

  @Test func `a link that was cut or mistyped anywhere is refused before anything is dialled`() throws {
    let text = try sample(name: "Home").text
    for length in 0..<text.utf8.count {
      let error = try #require(thrown { try Invite(String(text.utf8.prefix(length))!) })
      #expect(error.status == .invalidURL)
    }
    let inShell = String(text.prefix { $0 != "&" })
    #expect(thrown { try Invite(inShell) }?.message.contains("between quotes") == true)
    let start = "segue:join?v=1&".utf8.count
    for place in start..<text.utf8.count {
      var bytes = Array(text.utf8)
      bytes[place] = bytes[place] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
      #expect(thrown { try Invite(String(decoding: bytes, as: UTF8.self)) }?.status == .invalidURL, "\(place)")
    }
    let mistyped = text.replacing("t=000102", with: "t=000103")
    #expect(thrown { try Invite(mistyped) }?.message.contains("copy it again") == true)
  }

  @Test(arguments: [
    ("", "segue:join"), ("segue:join", "segue:join"), ("https://example.com/", "segue:join"), ("&v=2", "twice"),
    ("&p=1", "twice"), ("&n=x", "twice"), ("&h=evil.example", "neither IPv4 nor IPv6"), ("&h=", "neither"),
    ("&h=fe80::1%25eth0", "neither"), ("&h=127.0.0.1/../x", "neither"),
  ])
  func `what is no invite says what is wrong`(_ text: String, _ expected: String) throws {
    let whole = text.hasPrefix("&") ? adding(text, to: try sample().text) : text
    let error = try #require(thrown { try Invite(whole) })
    #expect(error.status == .invalidURL && error.message.contains(expected))
  }

  @Test func `an invite has addresses of one machine only, written in one way (A16)`() throws {
    let text = try sample().text
    for host in [
      "0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "ff02::1", "....", "1.2", "a:b", ":::::", "010.0.0.1",
      "1.2.3.256",
      "::ffff:224.0.0.1", "1::2::3", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8:9", "12345::", ":1", "1:", "1.2.3.4::",
    ] {
      #expect(thrown { try Invite(adding("&h=" + host, to: text)) }?.message.contains("one machine") == true, "\(host)")
    }
    for host in [
      "10.0.0.1", "fe80::1", "2001:db8::", "::1", "1:2:3:4:5:6:7:8", "::ffff:192.0.2.1", "64:ff9b::192.0.2.33",
    ] {
      #expect(try Invite(adding("&h=" + host, to: text)).addresses.last == host)
    }
  }

  @Test func `a part of an invite that is wrong is not replaced by another one`() throws {
    let text = try sample().text
    for key in ["v", "a", "f", "t", "p", "n"] {
      let broken = text.replacing("segue:join?", with: "segue:join?\(key)=%zz&")
      #expect(thrown { try Invite(broken) }?.message.contains("twice") == true)
    }
  }

  @Test(arguments: [
    ("Home", "\u{41d}\u{43e}\u{43c}\u{435}"), ("caf\u{e9}", "cafe\u{301}"), ("ÉCOLE", "éCOLE"),
    ("Phone", "Ph\u{3bf}ne"),
    ("AI", "Al"), ("Phone 1", "Phone I"), ("desk", "\u{ff24}esk"), ("Łaptop", "laptop"), ("\u{420}C", "PC"),
  ])
  func `letters that look the same make names look the same (R10.4)`(_ one: String, _ other: String) {
    #expect(DisplayName.isAlike(one, other) && !DisplayName.isAlike(one, other + "x"))
    #expect(!DisplayName.isAlike("日本", "中国") && !DisplayName.isAlike("Ж", "Щ"))
  }

  @Test(arguments: ["v", "a", "f", "t", "p", "h", "n"])
  func `each part of an invite is needed, and checked`(_ key: String) throws {
    let parts = try sample().text.split(separator: "?")[1].split(separator: "&").map { String($0) }
    let others = parts.filter { !$0.hasPrefix(key + "=") && !$0.hasPrefix("c=") }
    #expect(others.count < parts.count - 1)
    let missing = try #require(thrown { try Invite(checked("segue:join?" + others.joined(separator: "&"))) })
    #expect(missing.status == .invalidURL && !missing.message.contains("its end"))
    let wrong = key == "n" ? "%ff" : key == "p" ? "65536" : "zz"
    #expect(
      thrown { try Invite(checked("segue:join?" + (others + ["\(key)=\(wrong)"]).joined(separator: "&"))) }?.status
        == .invalidURL)
  }

  @Test func `an invite of a later version asks for an update, and a long one is not read`() throws {
    let text = try sample().text
    let later = "segue:join?v=2" + text.dropFirst("segue:join?v=1".count)
    #expect(thrown { try Invite(later) }?.status == .unsupportedVersion)
    #expect(thrown { try Invite(text + "&x=" + String(repeating: "y", count: 2_048)) }?.status == .invalidURL)
    let many = adding(String(repeating: "&h=192.0.2.1", count: 8), to: text)
    #expect(thrown { try Invite(many) }?.message.contains("1 to 8") == true)
  }

  @Test func `random damage of a link never traps, and gives another token at most`() throws {
    let bytes = Array(try sample().text.utf8.dropLast(11))
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
      if let invite = try? Invite(checked(String(decoding: changed, as: UTF8.self))) {
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
    ("laptop\u{1d159}", "laptop"), ("a\u{16fe4}b", "a b"),
  ])
  func `names that are made to deceive are shown as what they are (R10.4)`(_ name: String, _ shown: String) {
    #expect(Array(DisplayName.clean(name).utf8) == Array(shown.utf8))
    #expect(Array(DisplayName.clean(shown).utf8) == Array(shown.utf8))
  }

  @Test(arguments: ["", " ", "\t\u{a0}\u{3000}", "\u{200b}\u{feff}", "\u{301}", "\u{202e}", "\u{1b}"])
  func `a blank name is refused wherever one comes in (R10.4)`(_ blank: String) throws {
    let world = World()
    let devices = try world.account("laptop", "phone")
    let (manager, phone, fresh) = (devices[0], devices[1], try world.device("fresh"))
    func refused<Result>(_ what: String, _ body: () throws -> Result) {
      let error = thrown(body)
      #expect(error?.status == .invalidArgument && error?.message.hasPrefix(what) == true, "\(what)")
    }
    refused("name: ") {
      try fresh.service.create(name: blank, deviceName: "fresh", platform: "linux", at: world.now)
    }
    refused("device_name: ") {
      try fresh.service.create(name: "Home", deviceName: blank, platform: "linux", at: world.now)
    }
    for device in devices { refused("name: ") { try device.service.rename(nil, blank, at: world.now) } }
    refused("name: ") { try manager.service.rename(try phone.id, blank, at: world.now) }
    let invite = try manager.service.invite(addresses: ["192.0.2.1"], port: 4711, at: world.now)
    refused("device_name: ") {
      try fresh.service.beginJoining(
        invite, exporter: [UInt8](repeating: 7, count: 32), deviceName: blank, platform: "linux", at: world.now)
    }
    #expect(fresh.service.identity == nil)
    // From other devices.
    refused("account message: name ") { try TrustMessage.known(try TrustMessage.rename(blank).encoding()) }
    let nonce = [UInt8](repeating: 1, count: 32)
    for message in [
      JoinMessage.hello(commitment: nonce, request: [1], name: blank, platform: "linux", date: 1),
      .nonce(nonce: nonce, account: "Home", name: blank, date: 1),
    ] {
      refused("join message: name ") { try JoinMessage(try message.encoding()) }
    }
    refused("join message: account ") {
      try JoinMessage(try JoinMessage.nonce(nonce: nonce, account: blank, name: "laptop", date: 1).encoding())
    }
    // A blank name that the account has signed is shown all the same.
    #expect(try manager.names() == ["laptop", "phone"] && DisplayName.clean(blank) == "unnamed")
  }

  @Test func `long names are cut at 64 characters`() {
    #expect(DisplayName.clean(String(repeating: "é", count: 500)).unicodeScalars.count == 64)
    #expect(DisplayName.clean(String(repeating: "a ", count: 500)).unicodeScalars.count <= 64)
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
