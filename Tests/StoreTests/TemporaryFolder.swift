// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueModel

@testable import SegueStore

/// A folder of one test, removed with the object.
final class TemporaryFolder {
  let path: String

  /// In memory, where there is such a place: many of these tests wait for the disk otherwise.
  init() {
    let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    var template = Array("\(parent)/segue-store-XXXXXX".utf8CString)
    path = String(cString: mkdtemp(&template)!)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of the state folder, which the store creates.
  var state: String { path + "/state" }

  static let machine = MachineIdentity(ofMachine: "0123456789abcdef0123456789abcdef")

  func open(on machine: MachineIdentity? = TemporaryFolder.machine) throws -> StateFolder {
    try StateFolder.open(state, on: machine)
  }

  func names() -> [String] { ((try? FileManager.default.contentsOfDirectory(atPath: state)) ?? []).sorted() }

  func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: "\(state)/\(name)")) }

  func write(_ data: Data, _ name: String) throws {
    try data.write(to: URL(fileURLWithPath: "\(state)/\(name)"))
  }
}

extension Identifier {
  init(_ number: Int) { self.init(high: 0x5e, low: UInt64(number)) }
}

extension Offer {
  static func sample(_ number: Int, title: String? = "A title", expires: Double? = nil) -> Offer {
    Offer(
      description: OfferDescription(
        id: Identifier(number), type: "com.example.edit", title: title, payloadVersion: UInt32(number % 7),
        sizeHint: UInt64(number), expirationDate: expires, supportsContinuationStreams: number % 2 == 0),
      origin: Identifier(1_000_000 + number), appName: "Editor", bundleIdentifier: "com.example.editor\(number % 3)",
      deviceName: "Désk", rank: 0, activatedAt: 0)
  }
}

extension IncomingEntry {
  static func sample(
    _ number: Int, to app: String = "com.example.a", expires: Double? = nil, document: [UInt8]? = nil,
    attachments: [AttachmentContent] = [], account: Int? = nil
  ) -> IncomingEntry {
    IncomingEntry(
      continuation: Identifier(number), app: app, offer: .sample(number, expires: expires), isStale: number % 2 == 1,
      document: document ?? Array("document \(number)".utf8), attachments: attachments,
      principal: account.map { Identifier(1_000_000 + $0) })
  }
}

/// Whether a call throws this status, and its message.
func thrown<Result>(_ body: () throws -> Result) -> SegueError? {
  do { _ = try body() } catch { return error as? SegueError }
  return nil
}

/// The seeds that a test of random calls tries: a few, or `SEGUE_STORE_SEEDS` in a long run.
func seeds(_ few: Int) -> ClosedRange<Int> {
  1...max(1, ProcessInfo.processInfo.environment["SEGUE_STORE_SEEDS"].flatMap { Int($0) } ?? few)
}
