// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueFleet
import Testing

/// The library that ships does as the tested build does: the same sources, built in two modes, do the same.
@Suite struct TraceTests {
  @Test func `1,000 seeds hash alike in this build and in the library that ships (R11.1)`() throws {
    let shipped = try ShippedFleet()
    for seed in 0..<UInt64(1_000) {
      let fleet = Fleet(seed: seed)
      try Workload.play(in: fleet, devices: 3, apps: 4, events: 12)
      let hash = shipped.hash(seed: seed, devices: 3, apps: 4, events: 12)
      #expect(hash == fleet.log.hash, "seed \(seed)")
      if hash != fleet.log.hash { return }
    }
  }
}

/// The fleet of libsegue-fleet.so.0, by way of its C interface.
private struct ShippedFleet {
  typealias Create = @convention(c) (UInt64, UnsafeMutablePointer<OpaquePointer?>) -> Int32
  typealias Play = @convention(c) (OpaquePointer?, Int, Int, Int) -> Int32
  typealias Hash = @convention(c) (OpaquePointer?, UnsafeMutablePointer<UInt64>) -> Int32
  typealias Release = @convention(c) (OpaquePointer?) -> Int32

  private let create: Create
  private let play: Play
  private let hash: Hash
  private let release: Release

  private struct Missing: Error { let what: String }

  init() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path = root.appending(path: "lib/libsegue-fleet.so.0").path
    guard let library = dlopen(path, RTLD_NOW | RTLD_LOCAL) else { throw Missing(what: "\(path): make lib") }
    func find<Function>(_ name: String) throws -> Function {
      guard let symbol = dlsym(library, name) else { throw Missing(what: name) }
      return unsafeBitCast(symbol, to: Function.self)
    }
    create = try find("segue_fleet_create")
    play = try find("segue_fleet_play")
    hash = try find("segue_fleet_get_trace_hash")
    release = try find("segue_release")
  }

  /// Nil: a call failed.
  func hash(seed: UInt64, devices: Int, apps: Int, events: Int) -> UInt64? {
    var fleet: OpaquePointer?
    var result: UInt64 = 0
    guard create(seed, &fleet) == 0 else { return nil }
    defer { _ = release(fleet) }
    guard play(fleet, devices, apps, events) == 0, hash(fleet, &result) == 0 else { return nil }
    return result
  }
}
