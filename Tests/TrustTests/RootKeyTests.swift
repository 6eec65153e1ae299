// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import SegueSystem
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// Private keys in memory (docs/trust.md, "Keys in memory").
@Suite(.serialized) struct RootKeyTests {
  /// The flags of the mapping that an address is in.
  private func flags(of address: UInt) throws -> Set<Substring> {
    let text = try #require(FileHandle(forReadingAtPath: "/proc/self/smaps")).readDataToEndOfFile()
    var isInside = false
    for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      let ends = words.first?.split(separator: "-").compactMap { UInt($0, radix: 16) } ?? []
      if ends.count == 2 { isInside = ends[0] <= address && address < ends[1] }
      if isInside, words.first == "VmFlags:" { return Set(words.dropFirst()) }
    }
    return []
  }

  private func address(of secret: Secret) throws -> UInt {
    try secret.withBytes { UInt(bitPattern: $0.baseAddress) }
  }

  @Test func `a secret has pages of its own, locked, in no core dump, and gone with its last release`() throws {
    let address: UInt
    do {
      let secret = try Secret.copy(of: [UInt8]("key".utf8))
      #expect(secret.count == 3 && secret.bytes == [UInt8]("key".utf8))
      address = try self.address(of: secret)
      let flags = try flags(of: address)
      #expect(address % 4_096 == 0 && flags.contains("dd"), "\(flags)")
      // The system may lock no memory; then it is said.
      #expect(flags.contains("lo") || Secret.isLockingRefused, "\(flags)")
    }
    // Another thread may have mapped something there since; then it is no key.
    let next = try flags(of: address)
    #expect(next.isEmpty || !next.contains("lo") || next.contains("dd"))
  }

  @Test func `a secret that cannot be made leaves its error, and an empty one is no trap`() throws {
    let error = SegueError(.system, "a test")
    #expect(throws: error) { try Secret.make(count: 4) { _ throws(SegueError) in throw error } }
    #expect(try Secret.copy(of: []).bytes.isEmpty)
  }

  @Test(arguments: Primitives.allCases)
  func `the key of the account is read for each signature, and in no record`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let manager = try world.account("laptop", "phone")[0]
    guard case .stored = try manager.member.record.rootKey else { return #expect(Bool(false), "it is in memory") }
    let loads = manager.storage.loads
    _ = try manager.service.rename(nil, "desk", at: world.now)
    guard case .stored = try manager.member.record.rootKey else { return #expect(Bool(false), "it is in memory") }
    #expect(manager.storage.loads > loads)
    // Calls that need no signature read nothing.
    let before = manager.storage.loads
    _ = try manager.service.invite(addresses: ["::1"], port: 1, at: world.now)
    _ = manager.service.snapshot(at: world.now)
    #expect(manager.storage.loads == before)
  }

  @Test(arguments: Primitives.allCases)
  func `a device that becomes the manager keeps the key on its disk alone`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let devices = try world.account("laptop", "phone")
    let file = try devices[0].service.recoveryFile(passphrase: "correct horse battery")
    let key = try devices[0].rootKey.bytes
    _ = try devices[1].service.recover(file, passphrase: "correct horse battery", at: world.now)
    guard case .stored = try devices[1].member.record.rootKey else { return #expect(Bool(false), "it is in memory") }
    #expect(try devices[1].rootKey.bytes == key)
    devices[1].restart()
    _ = try devices[1].service.rename(nil, "new manager", at: world.now)
    devices[1].link(devices[0])
    #expect(try !devices[0].member.record.isManager)
    // The former manager's file has it no longer.
    let former = try AccountRecord.rootKey(
      in: try Secret.copy(of: try #require(devices[0].storage.file)), devices[0].cryptography)
    #expect(former == nil)
  }

  @Test func `a file that was lost or replaced while the agent runs signs nothing, and nothing changes`() throws {
    let world = World(.openSSL)
    let manager = try world.account("laptop", "phone")[0]
    let (file, number) = (manager.storage.file, try manager.number)
    let other = try world.account("other")[0].storage.file
    for replaced in [nil, other, Array(file!.dropLast())] {
      manager.storage.file = replaced
      let error = thrown { try manager.service.rename(nil, "desk", at: world.now) }
      #expect(error != nil && manager.storage.file == replaced)
      #expect(try manager.number == number)
    }
    manager.storage.file = file
    _ = try manager.service.rename(nil, "desk", at: world.now)
    #expect(try manager.number > number)
  }

  @Test(arguments: Primitives.allCases)
  func `the file has the form that it had: an array whose keys are where they were`(_ primitives: Primitives) throws {
    let world = World(primitives)
    let manager = try world.account("laptop", "phone")[0]
    let record = try manager.member.record
    let file = try #require(manager.storage.file)
    let body = Array(file.dropFirst("segue account\n".utf8.count + 32))
    var fields = try Fields(body, "file", atMost: Limits.accountFile)
    #expect(try fields.unsigned("version") == AccountRecord.version)
    #expect(try fields.data("key", atMost: 64) == record.key.bytes)
    #expect(try fields.data("certificate", atMost: Limits.certificateBytes) == record.certificate)
    #expect(try fields.data("root", atMost: Limits.certificateBytes) == record.root)
    #expect(try fields.data("root key", atMost: 64) == manager.rootKey.bytes)
    #expect(Array(file.dropFirst("segue account\n".utf8.count).prefix(32)) == SecureHash.sha256(body))
    #expect(try record.encoding(try manager.rootKey, manager.cryptography).bytes == file)
  }

  @Test func `a key in another form than Ed25519 in PKCS 8 is refused`() throws {
    let cryptography = try World(.openSSL).cryptography()
    let key = try cryptography.makeKey().bytes
    #expect(key.count == 48)
    for index in 0..<16 {
      var changed = key
      changed[index] ^= 1
      #expect(thrown { try cryptography.publicKey(of: try Secret.copy(of: changed)) }?.status == .malformed)
    }
    #expect(thrown { try cryptography.publicKey(of: try Secret.copy(of: Array(key.dropLast()))) }?.status == .malformed)
  }
}
