// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import CertificateMaker
import SegueAgentCore
import SegueModel
import SegueOpenSSL
import SegueSystem

/// An account, and devices of it.
final class TestAccount {
  private let account: OpaquePointer
  let root: [UInt8]
  private var serial = 1

  init() {
    account = certificates_create()
    root = Self.taken(certificates_root(account))
  }

  private static func taken(_ bytes: certificates_bytes) -> [UInt8] {
    defer { certificates_free(bytes) }
    return Array(UnsafeBufferPointer(start: bytes.start, count: bytes.count))
  }

  /// The list of revoked certificates.
  /// - Parameter begin: seconds from now.
  func revocations(number: Int = 1, of serial: Int = 0, begin: Int = -300) -> [UInt8] {
    Self.taken(certificates_revoke(account, number, serial, begin))
  }

  /// TLS lets each device in that is not removed: whether it gets a session, the owner of the link decides.
  var members = AccountMembers(listed: [])

  func device(_ flaw: certificates_flaw = certificates_good) -> TestDevice {
    serial += 1
    var key = certificates_bytes()
    let certificate = Self.taken(certificates_issue(account, serial, flaw, &key))
    return TestDevice(serial: serial, key: secret(Self.taken(key)), certificate: certificate, account: self)
  }
}

struct TestDevice {
  let serial: Int
  let key: Secret
  let certificate: [UInt8]
  let account: TestAccount

  func credentials(revoking serial: Int = 0) -> DeviceCredentials {
    DeviceCredentials(
      key: key, certificate: certificate, root: account.root, revocations: account.revocations(of: serial),
      members: account.members)
  }

  /// The context of a device that has this list of revocations.
  func context(with revocations: [UInt8]) throws -> TLSContext {
    try TLSContext(
      DeviceCredentials(
        key: key, certificate: certificate, root: account.root, revocations: revocations, members: account.members))
  }

  func context(revoking serial: Int = 0, speaking name: String = "segue/1") throws -> TLSContext {
    try TLSContext(credentials(revoking: serial), applicationProtocol: name)
  }
}

/// A copy that is not erased elsewhere.
func secret(_ bytes: [UInt8]) -> Secret {
  bytes.withUnsafeBytes { bytes in
    guard let secret = try? Secret.copy(of: bytes) else { fatalError("no memory") }
    return secret
  }
}

func keys(_ epoch: UInt64) -> EpochKeys {
  EpochKeys(
    epoch: epoch, knock: [UInt8](repeating: UInt8(epoch), count: 32),
    beacon: [UInt8](repeating: 0x80 | UInt8(epoch), count: 32))
}

/// Two ends of a connection in memory.
final class TestLink {
  let client: SecureChannel
  let server: SecureChannel
  /// The bytes that arrived at each end under TLS.
  var (toClient, toServer): ([UInt8], [UInt8]) = ([], [])
  private(set) var error: SegueError?
  /// All bytes that were moved so far.
  private(set) var moved = 0
  /// The bit that is turned over on its way, counted over both directions.
  var flip: Int?

  init(_ client: SecureChannel, _ server: SecureChannel) {
    self.client = client
    self.server = server
  }

  convenience init(
    from client: TLSContext, to server: TLSContext, under epoch: EpochKeys = keys(1),
    answering epochs: [EpochKeys] = [keys(1)]
  ) {
    self.init(
      SecureChannel(knockingUnder: epoch, nonce: nonce(), client),
      SecureChannel(answering: epochs, nonce: nonce(), server))
  }

  /// Whether the two have greeted each other: the server speaks first, as hubs do.
  var isUp: Bool { toClient == Array("server".utf8) && toServer == Array("client".utf8) }

  /// Moves bytes until nothing does.
  func run() {
    var greeted = (false, false)
    while true {
      var progress = move(from: server, to: client) { toClient += $0 }
      progress = move(from: client, to: server) { toServer += $0 } || progress
      if server.isUp, !greeted.0 {
        greeted.0 = true
        write(Array("server".utf8), to: server)
        progress = true
      }
      if client.isUp, !greeted.1 {
        greeted.1 = true
        write(Array("client".utf8), to: client)
        progress = true
      }
      guard progress, error == nil else { return }
    }
  }

  func write(_ bytes: [UInt8], to end: SecureChannel) {
    do throws(SegueError) {
      var failure: SegueError?
      _ = bytes.withUnsafeBytes { bytes in
        do throws(SegueError) { return try end.write(bytes) } catch { failure = error }
        return 0
      }
      if let failure { throw failure }
    } catch {
      self.error = self.error ?? error
    }
  }

  func move(from: SecureChannel, to: SecureChannel, _ body: (consuming [UInt8]) -> Void) -> Bool {
    var bytes = output(of: from)
    guard !bytes.isEmpty else { return false }
    if let flip, flip / 8 >= moved, flip / 8 < moved + bytes.count { bytes[flip / 8 - moved] ^= 1 << UInt8(flip % 8) }
    moved += bytes.count
    if let error = feed(bytes, to: to, body) { self.error = self.error ?? error }
    return true
  }
}

func output(of channel: SecureChannel) -> [UInt8] { channel.takeOutput() }

func feed(_ bytes: [UInt8], to channel: SecureChannel, _ body: (consuming [UInt8]) -> Void = { _ in }) -> SegueError? {
  bytes.withUnsafeBytes { bytes in
    do throws(SegueError) {
      try channel.receive(bytes, body)
      return nil
    } catch {
      return error
    }
  }
}

func nonce() -> [UInt8] { (0..<16).map { _ in UInt8.random(in: 0...255) } }
