// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel
import SegueOpenSSL
import SegueSystem
import Testing

@testable import SegueFleet
@testable import SegueAgentCore

/// The verdicts of OpenSSL's own program on keys, certificates, requests and lists that are made here.
@Suite struct OracleTests {
  /// A folder of one test, removed with the object.
  private final class Folder {
    let path: String

    init() {
      var template = Array("\(NSTemporaryDirectory())/segue-trust-XXXXXX".utf8CString)
      path = String(cString: mkdtemp(&template)!)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ bytes: [UInt8], _ name: String) throws -> String {
      try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
      return "\(path)/\(name)"
    }
  }

  /// Runs `openssl` with arguments. Returns its status, and all that it prints.
  private func openssl(_ arguments: [String]) throws -> (status: Int32, text: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  private func pem(_ der: [UInt8], _ label: String) -> [UInt8] {
    let text = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
    return Array("-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n".utf8)
  }

  @Test func `openssl verifies a device strictly, with its whole chain, and refuses a revoked one`() throws {
    let world = World(.openSSL)
    let devices = try world.account("laptop", "phone", "lost")
    let lost = try devices[2].certificate
    _ = try devices[0].service.revoke(try devices[2].id, at: world.now)
    let credentials = try devices[0].service.credentials(at: world.now)
    let folder = Folder()
    let root = try folder.write(pem(credentials.root, "CERTIFICATE"), "root.pem")
    let list = try folder.write(pem(credentials.revocations, "X509 CRL"), "list.pem")
    let own = try folder.write(pem(credentials.certificate, "CERTIFICATE"), "own.pem")
    let gone = try folder.write(pem(lost, "CERTIFICATE"), "lost.pem")
    func verify(_ certificate: String, _ purpose: String) throws -> (status: Int32, text: String) {
      try openssl([
        "verify", "-x509_strict", "-crl_check_all", "-attime", "\(world.now.seconds)", "-purpose", purpose, "-CAfile",
        root, "-CRLfile", list, certificate,
      ])
    }
    for purpose in ["sslclient", "sslserver"] {
      let good = try verify(own, purpose)
      #expect(good.status == 0, "\(good.text)")
    }
    let refused = try verify(gone, "sslclient")
    #expect(refused.status != 0 && refused.text.contains("certificate revoked"))
    let shown = try openssl(["x509", "-noout", "-text", "-in", own]).text
    for part in [
      "ED25519", "URI:\(try devices[0].member.identity.uri)", "CA:FALSE", "TLS Web Client Authentication",
      "TLS Web Server Authentication", "X509v3 Authority Key Identifier", "X509v3 Subject Key Identifier",
    ] { #expect(shown.contains(part), "\(part)") }
    let lists = try openssl(["crl", "-noout", "-text", "-in", list]).text
    let number = String(try devices[0].number, radix: 16, uppercase: true)
    let decimal = String(try devices[0].number)
    #expect(lists.contains("Next Update: NONE") && lists.contains("X509v3 Authority Key Identifier"))
    #expect(lists.contains("0x\(number)") || lists.contains(decimal))
    #expect(lists.contains(HexText.text(try devices[0].cryptography.readCertificate(lost).serial).uppercased()))
  }

  @Test func `openssl reads a request, and our key and recovery file with its passphrase`() throws {
    let world = World(.openSSL)
    let manager = try world.account("laptop")[0]
    let record = try manager.member.record
    let folder = Folder()
    let request = try folder.write(try manager.cryptography.makeRequest(key: record.key), "request.der")
    #expect(try openssl(["req", "-inform", "DER", "-in", request, "-verify", "-noout"]).status == 0)
    let file = try folder.write(try manager.service.recoveryFile(passphrase: "correct horse battery"), "key.pem")
    let plain = folder.path + "/plain.der"
    let converted = try openssl([
      "pkey", "-in", file, "-passin", "pass:correct horse battery", "-outform", "DER", "-out", plain,
    ])
    #expect(converted.status == 0, "\(converted.text)")
    let key = Array(try Data(contentsOf: URL(fileURLWithPath: plain)))
    #expect(try manager.cryptography.publicKey(of: Secret.copy(of: key)) == manager.member.rootPublicKey)
    #expect(try openssl(["pkey", "-in", file, "-passin", "pass:wrong", "-noout"]).status != 0)
    let parsed = try openssl(["asn1parse", "-in", file]).text
    for part in ["PBES2", "scrypt", "aes-256-cbc", ":4000", ":08", ":05"] { #expect(parsed.contains(part), "\(part)") }
  }

  @Test func `a recovery file that would cost more than ours to open is refused at once`() throws {
    let world = World(.openSSL)
    let manager = try world.account("laptop")[0]
    let folder = Folder()
    let key = try folder.write(try manager.rootKey.bytes, "key.der")
    for (name, options) in [
      ("pbkdf2", ["-v2", "aes-256-cbc", "-iter", "1000000"]),
      ("scrypt", ["-v2", "aes-256-cbc", "-scrypt", "-scrypt_N", "1024", "-scrypt_r", "8", "-scrypt_p", "64"]),
    ] {
      let path = folder.path + "/\(name).pem"
      let made = try openssl(
        ["pkcs8", "-topk8", "-inform", "DER", "-in", key, "-passout", "pass:correct horse battery", "-out", path]
          + options)
      #expect(made.status == 0, "\(made.text)")
      let file = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
      let error = thrown { try manager.service.recover(file, passphrase: "correct horse battery", at: world.now) }
      #expect(error?.message.contains("not made by Segue") == true, "\(name)")
    }
  }

  @Test func `a list that another root of the same name has signed is refused, by us and by openssl`() throws {
    let world = World(.openSSL)
    let manager = try world.account("laptop")[0]
    let other = try world.account("laptop")[0]
    let (own, foreign) = (try manager.member.record, try other.member.record)
    #expect(try manager.cryptography.readRoot(own.root).name == other.cryptography.readRoot(foreign.root).name)
    let list = foreign.roster.roster.revocations
    #expect(thrown { try manager.cryptography.readRevocations(list, root: own.root) }?.status == .notAllowed)
    let problem = try manager.cryptography.problem(
      of: own.certificate, root: own.root, revocations: list, at: world.now.seconds)
    #expect(problem == .notTrusted)
    let stranger = try manager.cryptography.problem(
      of: foreign.certificate, root: own.root, revocations: own.roster.roster.revocations, at: world.now.seconds)
    #expect(stranger == .notTrusted)
    let folder = Folder()
    let result = try openssl([
      "verify", "-x509_strict", "-crl_check_all", "-attime", "\(world.now.seconds)", "-CAfile",
      try folder.write(pem(own.root, "CERTIFICATE"), "root.pem"), "-CRLfile",
      try folder.write(pem(list, "X509 CRL"), "list.pem"),
      try folder.write(pem(own.certificate, "CERTIFICATE"), "own.pem"),
    ])
    #expect(result.status != 0)
  }
}
