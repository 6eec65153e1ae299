// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import SegueAgentCore
import SegueEngine
import SegueModel
import SegueWire

@testable import SegueFleet

/// The hub of an agent on a machine, as it ships: no app connects to it, and its links are those of `DeviceLinks`.
final class SimulatedHub: HubEnvironment, LinkHub, AgentTimerOwner {
  private let process: SimulatedProcess
  private let engine: HubEngine
  private lazy var driver = HubDriver(engine, in: self)
  private lazy var timer = process.makeTimer(for: self)

  init(in process: SimulatedProcess) {
    self.process = process
    engine = HubEngine(
      HubIdentity(id: process.drawIdentifier(), deviceName: process.machine.name), generation: 1,
      offersFrontmostOnly: false, agent: nil, process.now)
  }

  // MARK: LinkHub

  func addLink(
    of device: Identifier,
    _ make: (_ number: UInt64, _ ready: @escaping (_ isReadable: Bool) -> Void) -> any ByteConnection
  ) {
    let number = driver.takeNumber()
    let connection = make(number) { [unowned self] isReadable in
      if isReadable { self.driver.readable(number) } else { self.driver.writable(number) }
    }
    driver.addLink(connection, as: number, for: nil, device: device, secret: process.drawIdentifier())
    driver.flush()
  }

  func hub(at number: UInt64) -> Identifier? { engine.hub(at: number) }

  func networkChanged() {
    engine.networkChanged(now)
    driver.flush()
  }

  func setAccountHandler(_ handler: ((_ device: Identifier, _ message: [UInt8]?) -> [UInt8]?)?) {
    guard let handler else { return engine.trustHandler = nil }
    engine.trustHandler = { [machine = process.machine] device, message in
      if let message { machine.heardAccount?(message) }
      return handler(device, message)
    }
  }

  func sendAccount(_ message: [UInt8], to device: Identifier) {
    let machine = process.machine
    engine.sendAccount(machine.tamperer.pass(message, machine.tampering), to: device, now)
    driver.flush()
  }

  func setRelayHandler(_ handler: ((_ device: Identifier, _ frame: RelayFrame) -> Void)?) {
    guard let handler else { return engine.relayHandler = nil }
    engine.relayHandler = { [machine = process.machine] device, frame in
      machine.heardFrame?(frame)
      handler(device, frame)
    }
  }

  func sendRelay(_ frames: [(frame: RelayFrame, device: Identifier)]) {
    let machine = process.machine
    engine.sendRelay(
      frames.flatMap { frame, device in
        machine.tamperer.pass(frame, machine.tampering).map { (frame: $0, device: device) }
      }, now)
    driver.flush()
  }

  func unsent(to device: Identifier) -> Int { engine.unsent(to: device) }

  func endLinks(of device: Identifier?, _ error: SegueError) {
    engine.endLinks(of: device, error, now)
    driver.flush()
  }

  func setPrivacy(_ isPrivate: ((_ type: String, _ bundleIdentifier: String) -> Bool)?) {
    engine.setPrivacy(isPrivate, now)
    driver.flush()
  }

  func setRetention(_ retention: (any OfferRetention)?) { engine.setRetention(retention) }

  func setDevices(_ devices: AccountDevices?) {
    engine.setDevices(devices, now)
    driver.flush()
  }

  func timerIsDue(_ timer: any AgentTimer) { driver.tick() }

  // MARK: HubEnvironment

  var now: Instant { process.now }
  var descriptorLimit: Int { 1_024 }
  func accept(as number: HubEngine.PeerNumber) -> AcceptResult { .none }
  func listen(_ isListening: Bool) {}
  func setTimer(_ deadline: Int64?) { timer.set(deadline) }
  func touchHeartbeat(_ uptime: Int64) {}
  func openLink(_ descriptor: PassedDescriptor, for request: LinkRequest) throws(SegueError) { throw Self.noApp }
  func openStream(_ descriptor: PassedDescriptor, as number: UInt64) throws(SegueError) -> any StreamEndpoint {
    throw Self.noApp
  }
  func makeStream(as number: UInt64) throws(SegueError) -> (near: any StreamEndpoint, far: PassedDescriptor) {
    throw Self.noApp
  }
  private static var noApp: SegueError { SegueError(.invalidState, "no app is here") }
}
