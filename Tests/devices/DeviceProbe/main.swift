// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An agent of which nothing is left but the hub and its links with other devices: the tests beside it tell it what to
// do, a line each.
//
//   DeviceProbe issue FOLDER NUMBER    an account of so many devices, a folder each, and in N/revoking-M the device N's
//                                      credentials once M is revoked
//   DeviceProbe run FOLDER EPOCH...    the device of that folder, which carries the hub in SEGUE_RUNTIME_DIR
//
//   dial ADDRESS... | known DEVICE... | renew FOLDER EPOCH... | devices
//
// It says "ready DEVICE PORT" first, and "linked DEVICE" and "unlinked DEVICE" when that happens.
import CLinux
import CertificateMaker
import SegueAgent
import SegueApp
import SegueOpenSSL
import SegueAgentCore
import SegueModel
import SegueRuntime
import SegueSystem
import SegueTransport

func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
}

func fail(_ error: SegueError) -> Never {
  say("error \(error.status) \(error.message)")
  exit(1)
}

// MARK: Files

func store(_ bytes: certificates_bytes, _ path: String) {
  let file = fopen(path, "w")!
  fwrite(bytes.start, 1, bytes.count, file)
  fclose(file)
}

func load(_ path: String) -> [UInt8] {
  guard let file = fopen(path, "r") else { fail(.system("\(path)")) }
  defer { fclose(file) }
  return [UInt8](unsafeUninitializedCapacity: 8192) { buffer, count in count = fread(buffer.baseAddress, 1, 8192, file)
  }
}

func issue(_ folder: String, _ count: Int) {
  let account = certificates_create()
  for device in 1...count {
    var key = certificates_bytes()
    let certificate = certificates_issue(account, device + 1, certificates_good, &key)
    for (name, revoked) in [("\(device)", 0)] + (1...count).map({ ("\(device)/revoking-\($0)", $0 + 1) }) {
      let own = "\(folder)/\(name)"
      mkdir(own, 0o700)
      store(key, own + "/key")
      store(certificate, own + "/certificate")
      store(certificates_root(account), own + "/root")
      store(certificates_revoke(account, 1 + revoked, revoked, -300), own + "/revocations")
    }
  }
}

/// All devices of the account are listed.
func credentials(_ folder: String) throws(SegueError) -> DeviceCredentials {
  let cryptography = try OpenSSLCryptography()
  // In N, or in N/revoking-M.
  let parts = folder.split(separator: "/", omittingEmptySubsequences: false)
  let isRevoking = parts.last?.hasPrefix("revoking-") ?? false
  let account = parts.dropLast(isRevoking ? 2 : 1).joined(separator: "/")
  var listed: [Identifier] = []
  while access("\(account)/\(listed.count + 1)/certificate", R_OK) == 0 {
    let certificate = try cryptography.readCertificate(load("\(account)/\(listed.count + 1)/certificate"))
    listed.append(try DeviceIdentity.id(ofKey: certificate.publicKey))
  }
  let key = load(folder + "/key").withUnsafeBytes { bytes -> Secret? in try? Secret.copy(of: bytes) }
  guard let key else { throw SegueError(.system, "no memory") }
  return DeviceCredentials(
    key: key, certificate: load(folder + "/certificate"), root: load(folder + "/root"),
    revocations: load(folder + "/revocations"), members: AccountMembers(listed: listed))
}

/// Newest first.
func epochs(_ words: some Sequence<String>) -> [EpochKeys] {
  words.compactMap { UInt64($0) }.map { epoch in
    EpochKeys(
      epoch: epoch, knock: [UInt8](repeating: UInt8(epoch), count: 32),
      beacon: [UInt8](repeating: 0x80 | UInt8(epoch), count: 32))
  }
}

func digits(_ device: Identifier) -> String {
  device.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func device(_ digits: String) -> Identifier? {
  let text = Array(digits)
  return Identifier(
    bytes: stride(from: 0, to: text.count - 1, by: 2).compactMap { UInt8(String(text[$0...$0 + 1]), radix: 16) })
}

// MARK: Running

/// The owner of the links, which says when one comes or goes.
final class Owner: DeviceLinksOwner {
  func linkHasChanged(with device: Identifier, _ isLinked: Bool, heardAt: Int64) {
    say("\(isLinked ? "linked" : "unlinked") \(digits(device))")
  }
  func linkHasMoved(with device: Identifier, hasEnded: Bool) {}
  func networkHasChanged() {}
  func linkWasDialled(to device: Identifier, at address: NetworkAddress) {}
  func linksFoundCopy(of device: Identifier, _ path: LinkPath) {}
  func linksHeardOtherTime(_ date: Double) {}
  func linkWasRefused(by device: Identifier?) {}
  var linkInvites: [Invite] { [] }
  func linkIsJoin(_ connection: DeviceConnection) { connection.terminate() }
  var greeting: [UInt8]? { nil }
  func heardUnlisted(_ message: [UInt8], from shown: PeerCertificate, _ judged: @escaping () -> Void) {}
  func unlistedWasTurnedAway(_ shown: PeerCertificate) {}
}

func run(_ folder: String, _ words: [String]) throws(SegueError) {
  Log.readEnvironment(default: .info)
  let loop = try Loop()
  let hub = try Device(
    try RuntimeFolder(nil), on: loop, agent: AgentDescription(version: "0", capabilities: 0), tookPlace: { _ in },
    lostFolder: { say("the folder is lost") })
  let owner = Owner()
  let links = try DeviceLinks(
    in: LoopEnvironment(loop), over: TCPTransport(on: loop), TLSSecurity(), hub, try credentials(folder), epochs(words),
    for: owner)
  loop.perform {
    do throws(SegueError) {
      try hub.carryHub()
      let port = try links.open(port: 0)
      say("ready \(digits(links.identity.device)) \(port)")
    } catch {
      fail(error)
    }
  }
  while let line = readLine() {
    let words = line.split(separator: " ").map { String($0) }
    loop.perform {
      do throws(SegueError) {
        switch words.first {
        case "dial":
          var addresses: [NetworkAddress] = []
          for word in words.dropFirst() { addresses.append(try NetworkAddress.read(word)) }
          links.setAddresses(addresses)
        case "known": links.setDevices(words.dropFirst().compactMap { device($0) })
        case "renew": try links.renew(try credentials(words[1]), epochs(words.dropFirst(2)))
        case "devices": say(links.devices.map { digits($0) }.reduce("devices") { $0 + " " + $1 })
        default: say("error: no such command")
        }
      } catch {
        say("error \(error.status) \(error.message)")
      }
    }
  }
  loop.perform {
    links.close()
    hub.endCarriedHub()
  }
  loop.stop()
  // It outlives the links.
  withExtendedLifetime(owner) {}
}

let words = CommandLine.arguments
do throws(SegueError) {
  switch words.dropFirst().first {
  case "issue" where words.count == 4: issue(words[2], Int(words[3]) ?? 1)
  case "run" where words.count >= 4: try run(words[2], Array(words[3...]))
  default: say("usage: DeviceProbe issue FOLDER NUMBER | run FOLDER EPOCH...")
  }
} catch {
  fail(error)
}
