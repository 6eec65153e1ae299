// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import Foundation
import SegueEngine
import SegueModel
import SegueWire
import Testing

@testable import SegueAgentCore

/// The messages and frames about relays that wait for a turn of the agent (R14.3).
@Suite struct DeviceRelaysTests {
  /// A hub to which a test passes what devices say.
  private final class TestHub: LinkHub {
    var heard: ((_ device: Identifier, _ frame: RelayFrame) -> Void)?

    func setRelayHandler(_ handler: ((_ device: Identifier, _ frame: RelayFrame) -> Void)?) { heard = handler }
    func addLink(
      of device: Identifier,
      _ make: (_ number: UInt64, _ ready: @escaping (_ isReadable: Bool) -> Void) -> any ByteConnection
    ) {}
    func hub(at number: UInt64) -> Identifier? { nil }
    func networkChanged() {}
    func setAccountHandler(_ handler: ((_ device: Identifier, _ message: [UInt8]?) -> [UInt8]?)?) {}
    func sendAccount(_ message: [UInt8], to device: Identifier) {}
    func sendRelay(_ frames: [(frame: RelayFrame, device: Identifier)]) {}
    func unsent(to device: Identifier) -> Int { 0 }
    func endLinks(of device: Identifier?, _ error: SegueError) {}
    func setPrivacy(_ isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?) {}
    func setRetention(_ retention: (any OfferRetention)?) {}
    func setDevices(_ devices: AccountDevices?) {}
  }

  private let hub = TestHub()
  private let environment = TestEnvironment()
  private let device = Identifier(high: 0, low: 1)
  private let other = Identifier(high: 0, low: 2)

  private func open() throws -> DeviceRelays {
    let relays = DeviceRelays(hub, in: environment, after: 0)
    try relays.open()
    return relays
  }

  /// Nanoseconds of this thread.
  private var used: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// The least time that so many frames of one device cost in one turn.
  private func cost(of count: Int) throws -> UInt64 {
    var least = UInt64.max
    for _ in 0..<3 {
      let relays = try open()
      let before = used
      for _ in 0..<count { hub.heard?(device, .end(channel: 1, reason: 0)) }
      least = min(least, used - before)
      environment.runPosted()
      relays.close()
    }
    return least
  }

  @Test func `A23 a frame costs as much however many wait`() throws {
    let (half, all) = (try cost(of: 4_000), try cost(of: 8_000))
    #expect(all < 3 * half, "\(half) ns, then \(all) ns")
  }

  @Test func `A23 of one device as many wait as its share, whatever they hold, and those of others besides`() throws {
    let relays = try open()
    let most = 2 * Int(RelayWindow.largest) / RelayFrame.leastCost
    for _ in 0..<2 {
      for _ in 0..<20_000 { relays.heard([0x83, 0x18, 25], from: device) }
      #expect(relays.waitingCount == most)
      for _ in 0..<20_000 { hub.heard?(other, .end(channel: 1, reason: 0)) }
      #expect(relays.waitingCount == 2 * most)
      environment.runPosted()
      #expect(relays.waitingCount == 0)
    }
    relays.close()
  }
}
